/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of errors and their numbers, for policies and messages. */
#pragma once

/* The number of "EPERM" and the like; -1 if Linux has no error of that name. */
int errno_by_name(const char *name);
/* The name of an error's number, "EPERM"; NULL if Linux has no such error. */
const char *errno_name(int number);
