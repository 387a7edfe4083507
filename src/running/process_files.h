/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of /proc that tell of a process.  `path` is of the file ("stat", "12/stat"), beneath `folder`.
 */
#pragma once

#include <sys/types.h>

#include "base/macro.h"

struct process_stat {
        char name[64]; /* as the process calls itself: any bytes */
        char state;
        pid_t parent;
        uint64_t n_threads;
        uint64_t start; /* in ticks since the boot */
        uint64_t ticks; /* of processors: its own, and of those that it has waited for */
};

/* Reads a file whose size nobody knows before, of `most` bytes at most, and ends it with a NUL; the caller
 * frees *ret.  `ret_n` may be NULL. */
int process_file_read(int folder, const char *path, size_t most, char **ret, size_t *ret_n);
/* proc_pid_stat(5). */
int process_stat_read(int folder, const char *path, struct process_stat *ret);
/* Bytes in memory, of proc_pid_statm(5): since 6.17 the kernel adds up there what its processors count,
 * while in "stat" a small process may have no memory at all.  A process that has ended has none. */
uint64_t process_memory_read(int folder, const char *path);
/* How many seconds ago a process with this start began. */
uint64_t process_age(uint64_t start);
