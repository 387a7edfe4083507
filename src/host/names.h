/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names below a folder, by globs.  A command may own all that lies there: no symlink is followed. */
#pragma once

#include <sys/stat.h>

#include "base/macro.h"

/* Whether `glob` can be expanded: relative, no empty component, none that is "." or "..". */
bool names_is_glob(const char *glob);

/* A glob that names just `name`, for the caller to free; NULL for want of memory. */
char *names_escape(const char *name);

/* Calls `found` for each entry below `folder` (a descriptor, which may be O_PATH) that `glob` names, with
 * its path relative to the folder.  The wildcards are fnmatch(3)'s, component by component; a name that
 * begins with a dot is no exception.  Of a path with a symlink in it the link is what is found.  Ends with
 * the first result of `found` that is not 0, and returns that; -E2BIG: there is more than can be looked
 * through; -EACCES, -ENOMEM and what else openat2(2) has. */
int names_expand(int folder, const char *glob,
                 int (*found)(void *data, const char *name, const struct stat *st), void *data);
