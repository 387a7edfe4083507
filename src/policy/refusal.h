/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a refusal is told: what, where, why, and what to do. */
#pragma once

#include <sys/stat.h>

#include "base/error.h"
#include "base/str.h"

/* Fills *err and returns -EPERM.  The message has no errno: "Operation not permitted" would add
 * nothing. */
int policy_refuse(struct nsrun_error *err, const char *path, const char *hint, const char *what, ...)
        nsrun_printf(4, 5);

/* Refuses an open file that somebody else may write to, since who can decides what the next command may do.
 * `what`: "the configuration".  -EPERM; -ENOMEM. */
int policy_refuse_writers(int fd, const struct stat *st, const char *file, const char *what,
                          struct nsrun_error *err);

/* What mends that a file or folder can't be opened with EACCES, if a folder on the way is closed or the file
 * is the user's own and its mode says so.  NULL: it isn't that, or no memory. */
char *refuse_closed_fix(int r, const char *file);
