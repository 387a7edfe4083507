/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds programs of the host that nsrun starts by name.  No program is taken that a command of an
 * earlier run can have put into a folder of PATH. */
#pragma once

/* Finds the first executable `name` in a folder of PATH that root alone may write to, as it may be
 * alone to write to all folders above; for root itself, only in a folder of the system's.  *ret is
 * its canonical path.  -ENOENT; -ENOMEM. */
int program_find(const char *name, char **ret);

/* The folder with which the program at `canonical` was installed and without which it doesn't start: the
 * node_modules around it, or the virtual environment of which it is.  *ret is NULL: it is of none; the
 * caller frees it.  -ENOMEM. */
int program_package(const char *canonical, char **ret);
