/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removing a tree that somebody hostile wrote: by descriptors alone, never through a symlink, never
 * onto another mount, with a fixed number of descriptors however deep it is. */
#pragma once

#include <sys/types.h>

/* Sets a file's mode through an O_PATH descriptor.  Without fchmodat2(2) chmod(2) takes the descriptor's own
 * link in /proc/self/fd: no name in the tree is looked up again. */
int chmod_path_fd(int fd, mode_t mode);

/* Removes everything in the folder dir_fd (open for reading) but its entry `keep` (NULL: nothing is
 * kept).  Unreadable and read-only folders get mode 0700 first.  Entries that others remove
 * meanwhile are no error.  Goes on after a failure and returns the first one: -EBUSY for a mount
 * point, else the kernel's error. */
int remove_contents(int dir_fd, const char *keep);

/* Removes the entry `name` of parent_fd, whatever it is, and all beneath it.  0 also if there is no
 * such entry.  `name` has no slash. */
int remove_tree(int parent_fd, const char *name);

/* Opens the folder `name` of parent_fd for reading, and gives its owner rwx if that isn't so.
 * Returns the descriptor; -EBUSY: something is mounted there; -ENOTDIR or -ELOOP: it is no folder. */
int open_for_removal(int parent_fd, const char *name);
