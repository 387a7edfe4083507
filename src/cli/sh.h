/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-sh(1). */
#pragma once

#include <stdbool.h>

/* Whether the program is called as the shell: argv[0] is its name, or that with a dash before it. */
bool sh_is_called(const char *name);
/* Runs the shell in a sandbox.  The exit status. */
int sh_main(char **argv);
