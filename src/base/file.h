/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing whole files; also a small one that somebody hostile may have made. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <time.h>

#include "macro.h"

/* Of an open file's flags those that say whether it is read or written: musl's O_ACCMODE has O_PATH among
 * them. */
#define FILE_ACCESS (O_RDONLY | O_WRONLY | O_RDWR)

/* Gives a descriptor a number above 2: where the host's 0, 1 or 2 is closed a new one may
 * get that, and be taken for a standard stream.  -errno leaves *fd as it was. */
int fd_lift(int *fd);
/* Opens /proc/PID/NAME, to be read.  A descriptor above 2, or -errno. */
int file_open_of_process(pid_t pid, const char *name);

/* The path by which the kernel reaches an open file, one that is open with O_PATH, too, for functions that
 * take a path; and the name that it gives the file, for the caller to free.  NULL: it can't be told. */
struct fd_link {
        char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
};
struct fd_link fd_link(int fd);
char *fd_name(int fd);
/* Gives the owner of a folder, a descriptor that may be O_PATH, all rights in it; nobody else's change. */
int folder_open_to_owner(int folder);

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
/* Whether somebody has the file open for writing; `fd` is open for reading alone.  False also where the file
 * system can't tell. */
bool file_has_writer(int fd);
/* The same of any bytes, *ret_n of them with a NUL behind. */
int read_bytes_fd(int fd, size_t limit, char **ret, size_t *ret_n);

/* The beginning of a file of the kernel's, which has no size, with a NUL behind it: its length, or
 * -errno and "". */
ssize_t read_kernel_file(int dir, const char *path, char *to, size_t size);
/* The same of /proc/PID/NAME. */
ssize_t read_process_file(pid_t pid, const char *name, char *to, size_t size);
/* The name that a process has, any bytes; "": it is gone. */
void read_process_name(pid_t pid, char *to, size_t size);
/* The process that started it, or has it now; 0: it has none, or is gone. */
pid_t read_process_parent(pid_t pid);

/* Calls `each` for every entry of a folder but "." and "..", until it returns another value than 0,
 * which is then returned; else 0, or -errno.  `folder` itself is not read from. */
int folder_each(int folder, int (*each)(void *data, int folder, const struct dirent *entry), void *data);
/* The same of a folder that is open for reading, from where it stands. */
int folder_read(int fd, int (*each)(void *data, int folder, const struct dirent *entry), void *data);
/* Whether it can be read, and has no entry. */
bool folder_is_empty(int folder);
/* What the entry is, DT_*, also where the file system doesn't tell that with the name.  DT_UNKNOWN: it is
 * gone. */
unsigned char folder_type(int folder, const struct dirent *entry);

/* Whether a moment was before another. */
static inline bool time_is_before(const struct timespec *a, const struct timespec *b) {
        return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}
