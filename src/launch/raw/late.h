/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Resolution of a raw plan's targets, when their turn comes: beneath the new root as
 * if that were "/", symlinks followed there, so that nothing planted in a bound folder leads out.
 * All functions are safe between clone and exec. */
#pragma once

#include <sys/types.h>

#include "base/sys.h"

/* Opens `path`.  `flags` may make a file (mode).  -ENOENT, -ELOOP, …: what open(2) says. */
int late_open(int root, const char *path, int flags, mode_t mode);
/* Makes what is missing of the folders above `path`, 0755, and opens the last of them, O_PATH;
 * *ret_name is what comes after it: "" where `path` ends in "..", or is the root. */
int late_parent(int root, const char *path, char ret_name[256]);
/* A folder or a file to mount on, opened O_PATH; made with `mode` where it is missing, which
 * *ret_is_new tells. */
int late_mount_point(int root, const char *path, bool is_folder, mode_t mode, bool *ret_is_new);
