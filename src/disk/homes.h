/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Homes of commands by name (--home name:NAME): folders of $XDG_DATA_HOME/nsrun/homes, which last. */
#pragma once

#include "base/macro.h"

/* Their folder, in $XDG_DATA_HOME. */
#define NAMED_HOMES "nsrun/homes"

/* Whether a home can have that name: 1 to 64 letters, digits, '.', '_' and '-', not beginning with a
 * '.' or '-'. */
bool home_is_name(const char *name);
/* While a sandbox has it as its home: the folder's descriptor, by which it is locked where it can be, or
 * -errno; -EWOULDBLOCK: it is being renamed or removed, or a command locked
 * it. */
int home_hold(const char *path);
/* Locks it for who removes or renames it, until `fd` is closed.  0; -EWOULDBLOCK: a sandbox has it; another
 * -errno: it can't be locked. */
int home_lock(int fd);
/* The path of the home, or with NULL of the folder of all, for the caller to free; NULL: no memory.
 * `user_home` is absolute, `data` what XDG_DATA_HOME says, or NULL. */
char *named_home_path(const char *user_home, const char *data, const char *name);
