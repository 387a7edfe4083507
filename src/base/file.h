/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing whole files; also a small one that somebody hostile may have made. */
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include "macro.h"

/* Of an open file's flags those that say whether it is read or written: musl's O_ACCMODE has O_PATH among
 * them. */
#define FILE_ACCESS (O_RDONLY | O_WRONLY | O_RDWR)

/* Gives a descriptor a number above 2: where the host's 0, 1 or 2 is closed a new one may
 * get that, and be taken for a standard stream.  -errno leaves *fd as it was. */
int fd_lift(int *fd);

/* `size` bytes, or what there is: *ret.  And all of `n` bytes.  Signals don't cut them short. */
int read_full(int fd, char *to, size_t size, size_t *ret);
int write_full(int fd, const void *from, size_t n);
/* The same; where the descriptor doesn't block, after a wait for room, of so many milliseconds at most each
 * time (-1: any).  -EAGAIN: there was none. */
int write_waiting(int fd, const void *from, size_t n, int ms);

/* The whole of a small plain file, beneath the folder `dir` (or AT_FDCWD).  Never
 * waits for a fifo and never reads more than `limit` bytes.  `flags`: O_NOFOLLOW or 0.
 * -EINVAL: no plain file; -EFBIG; -EBADMSG: there is a NUL in it; -ENOMEM; open(2)'s. */
int read_small_file(int dir, const char *path, int flags, size_t limit, char **ret);
/* The same of an open file, from where it stands. */
int read_small_fd(int fd, size_t limit, char **ret);

/* Calls `each` for every entry of a folder but "." and "..", until it returns another value than 0,
 * which is then returned; else 0, or -errno.  `folder` itself is not read from. */
int folder_each(int folder, int (*each)(void *data, int folder, const struct dirent *entry), void *data);
/* The same of a folder that is open for reading, from where it stands. */
int folder_read(int fd, int (*each)(void *data, int folder, const struct dirent *entry), void *data);
