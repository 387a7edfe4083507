/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Resolution of a raw plan's targets, each when its operation's turn comes: beneath the new root as
 * if that were "/", with symlinks followed there, so that none that was planted in a bound folder
 * leads out.  All functions are safe between clone and exec. */
#pragma once

#include "base/sys.h"

/* Opens `path` beneath `root`.  `flags` may make a file, with `mode`.  Errors are open(2)'s. */
int late_open(int root, const char *path, int flags, mode_t mode);
/* Opens (O_PATH) the folder above `path`, after making those above it that are missing.
 * *ret_name is the path's last component: "" if `path` ends in "..", or is the root. */
int late_parent(int root, const char *path, mode_t parent_mode, char ret_name[256]);
/* Opens (O_PATH) a folder or a file to mount on.  If it is missing it is made with `mode`, and
 * *ret_is_new says so.  Of a symlink that leads nowhere the place that it names is made, if both are on the
 * file system of the folder `own`, where no command has been. */
int late_mount_point(int root, int own, const char *path, bool is_folder, mode_t mode, mode_t parent_mode,
                     bool *ret_is_new);
