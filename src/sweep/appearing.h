/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What comes to be in folders in which globs may name something, as it comes to be (inotify(7)); where of
 * that no more can be had every tenth of a second is a time to look. */
#pragma once

#include "base/macro.h"

struct appearing;

/* Nothing is watched in the first tenth of a second: before Linux 6.9 appearing_free() waits some
 * milliseconds for the watches' end, of which a short command shall know nothing.  NULL: for want of
 * descriptors or memory. */
struct appearing *appearing_new(void);
struct appearing *appearing_free(struct appearing *a);

/* For poll(2); -EBADF for NULL. */
int appearing_fd(const struct appearing *a);

/* When that is readable: whether the watch begins only now, so that all folders are to be watched and looked
 * at. */
bool appearing_begins(struct appearing *a);
/* Has it be readable in a tenth of a second. */
void appearing_again(const struct appearing *a);
/* Whether nothing is known of what has gone and come since the start, or between two looks. */
bool appearing_polls(const struct appearing *a);
/* Has it be readable by another descriptor, too, by epoll's events. */
void appearing_also(struct appearing *a, int fd, uint32_t events);

/* Watches the folder of that number, and in it those in which the globs name something, as far as they are
 * there.  To be called again when one of them may have come to be, or be another. */
void appearing_watch(struct appearing *a, size_t folder, int fd, char *const *globs);

/* Whether the entry in the folder `fd` is an empty file or folder, and watched for what is written to it, or
 * comes to be in it.  One on which a sandbox inside mounts something is obeyed by nobody: it stays until
 * then. */
bool appearing_while_empty(struct appearing *a, size_t folder, int fd, const char *name);

/* Calls `found` for each name that has come to be, was written to or has gone (`is_gone`), since, in the
 * order in which that was: the folder's number, and the name's path in it.  Where the kernel has lost count
 * once with SIZE_MAX and "". */
void appearing_read(struct appearing *a,
                    void (*found)(void *data, size_t folder, const char *path, bool is_gone), void *data);
