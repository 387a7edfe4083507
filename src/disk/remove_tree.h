/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removing a tree whose contents were written by somebody hostile: by fds alone,
 * never through a symlink, never onto another mount, with a fixed number of fds
 * however deep it is. */
#pragma once

#include "base/macro.h"

/* Removes everything in the folder dir_fd (open for reading) but its entry `keep`
 * (NULL: nothing is kept).  Unreadable and read-only folders are opened up first.
 * Entries that vanish meanwhile are fine.  Goes on after a failure and returns
 * the first: -EBUSY for a mount point, else what the kernel said. */
int remove_contents(int dir_fd, const char *keep);

/* Removes the entry `name` of parent_fd, whatever it is, and all beneath it.  0
 * too where there is none.  `name` holds no slash. */
int remove_tree(int parent_fd, const char *name);

/* Opens the folder `name` of parent_fd for reading and makes it rwx for its owner
 * where it isn't.  Returns the fd; -EBUSY: something is mounted there; -ENOTDIR or
 * -ELOOP: no folder. */
int open_for_removal(int parent_fd, const char *name);
