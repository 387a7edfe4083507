/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capabilities by name. */
#pragma once

/* The number of "kill" (CAP_KILL), in any case; -1: there is none of that name. */
int capability_find(const char *name);
