/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folders whose owner holds a lock for life: run directories, sessions' records, and cgroups.  A folder
 * gets its name only when its lock is held, and loses the lock last.  So the owner of a folder whose lock
 * nobody holds is dead, and the next process that looks removes it. */
#pragma once

#include <time.h>

#include "base/macro.h"

/* `n` letters and digits that need to be new, not secret; the first is a letter, so that none can be
 * taken for a process id.  With a NUL. */
int locked_random(char *to, size_t n);

/* Makes a folder with mode 0700 beneath base_fd, with a file "lock" in it that is locked (flock(2),
 * LOCK_EX): as a draft, "PREFIXLETTERS" with a `prefix` that begins with a dot, and when that is complete
 * it gets its name.  That is `name`, from which a dead owner's folder is removed first; or, if `name` is
 * "", the draft's without the dot, which is then copied to it.  -EEXIST: a living owner has the name. */
int locked_make(int base_fd, const char *prefix, char *name, int *ret_dir, int *ret_lock);

/* Removes the folder with everything in it, if `name` still is that of the one open as dir_fd.  The caller
 * holds its lock. */
void locked_remove(int base_fd, const char *name, int dir_fd);

/* Empties a run directory but for its lock and names it LOCKED_SPARE and a number, for the next to take;
 * where there are four of them already, it is removed.  The caller holds its lock. */
#define LOCKED_SPARE ".workspace-spare-"
void locked_leave_spare(int base_fd, const char *name, int dir_fd);

/* Takes one of them, if it can't be told from a new one, and gives it a new name, which is copied to `name`.
 * -EAGAIN: another process has it; -EPERM: it is another user's, or not as new. */
int locked_take_spare(int base_fd, const char *spare, char *name, int *ret_dir, int *ret_lock);

/* Opens a folder of this user's whose owner is dead, and takes its lock: who has it may read what is inside,
 * and removes it.  -EAGAIN: the owner lives; -ENOENT: it is gone, or has no lock. */
int locked_take_over(int base_fd, const char *name, int *ret_dir, int *ret_lock);

/* Whether another process holds the lock of a folder of this user's.  If nobody does the folder is removed;
 * if it has no lock at all, only when it is more than `grace` seconds old. */
bool locked_is_held(int base_fd, const char *name, time_t grace);

/* Whether one at a path has a living owner, whoever's it is: 1; 0; -EACCES: this user can't tell. */
int locked_has_owner(const char *path);

/* The same for cgroups, in which no file can be made and which can't be renamed: the lock is the folder's
 * own, and an empty one that nobody holds is a dead owner's.  Removes those whose names begin with
 * `prefix`, then makes another one and locks it.  `name` has room for the prefix and eight letters; it is
 * "" after a failure. */
int locked_make_bare(int base_fd, const char *prefix, char *name, int *ret_fd);
