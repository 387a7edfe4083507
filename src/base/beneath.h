/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One resolution, beneath a root, as a descriptor.  Mounts are crossed (the
 * plan's own lie on the way); symlinks, magic links and ".." are not. */
#pragma once

#include <sys/types.h>

#include "macro.h"

/* Opens `path` (relative, normalised; "" is the root itself) beneath the folder
 * `root` with `flags` (O_CLOEXEC is added).  -ELOOP: a symlink stands in the
 * way (so never pass O_NOFOLLOW: with O_PATH that opens the link itself).
 * -EXDEV: the path would leave the root.  One openat2(2); where that is
 * missing or refused by a filter, a walk of O_PATH|O_NOFOLLOW steps that holds
 * the same promise.  Safe between clone and exec. */
int beneath_open(int root, const char *path, int flags, mode_t mode);

/* The same of a canonical path; and the folder (O_PATH) that is around one. */
int beneath_open_canonical(const char *path, int flags);
int beneath_open_parent(const char *path);

/* beneath_open(), for whom `crosses` is asked before a mount on the way is entered: what it returns below 0
 * is returned.  Else 0, and *ret is the descriptor or -errno.  `crosses` may be NULL. */
int beneath_cross(int root, const char *path, int flags, int (*crosses)(void *data, const char *path),
                  void *data, int *ret);

/* beneath_open() without openat2, for kernels and filters that lack it. */
int beneath_walk(int root, const char *path, int flags, mode_t mode);
