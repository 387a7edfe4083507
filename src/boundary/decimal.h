/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decimal text, and folders whose entries have numbers for names, for the child of a clone: stdio is not
 * safe there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* to[24]; returns it. */
char *number_format(char to[24], uint64_t n);
/* The number that the mounted /proc has for the process of a pidfd; -ENOENT: there is no /proc; -ESRCH. */
pid_t number_of_pidfd(int pidfd);
/* Every entry of `folder`, but "." and "..", until `take` answers false.  0, or getdents64(2)'s -errno. */
int names_each(int folder, bool (*take)(void *data, int folder, const char *name), void *data);
/* Every entry of `folder` (an open /proc or /proc/self/fd) that has a number for its name.  0, or
 * getdents64(2)'s -errno. */
int number_each(int folder, void (*take)(void *data, int number), void *data);
