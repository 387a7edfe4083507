/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of errors, for policies and messages. */
#pragma once

/* -1: none of Linux's. */
int errno_by_name(const char *name);
/* "EPERM"; NULL: none of Linux's. */
const char *errno_name(int number);
