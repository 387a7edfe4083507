/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What comes to be in folders in which globs may name something, as it comes to be (inotify(7)). */
#pragma once

#include "base/macro.h"

struct appearing;

/* Nothing is watched in the first tenth of a second: the kernel takes some milliseconds to end a watch, of
 * which a short command shall know nothing.  NULL: for want of descriptors or memory. */
struct appearing *appearing_new(void);
struct appearing *appearing_free(struct appearing *a);

/* For poll(2); -EBADF for NULL, and where the user's inotify instances are used up. */
int appearing_fd(const struct appearing *a);

/* When that is readable: whether the watch begins only now, so that all folders are to be watched and looked
 * at.  -EMFILE, say: it can't be had. */
int appearing_begins(struct appearing *a);

/* Watches the folder of that number, and in it those in which the globs name something, as far as they are
 * there.  To be called again when one of them may have come to be, or be another. */
void appearing_watch(struct appearing *a, size_t folder, int fd, char *const *globs);

/* Watches an entry, a descriptor that may be O_PATH, for what is written to it, or comes to be in it. False:
 * it can't be. */
bool appearing_watch_entry(struct appearing *a, size_t folder, const char *name, int fd);

/* Calls `found` for each name that has come to be, or was written to, since: the folder's number, and the
 * name's path in it. Where the kernel has lost count once with SIZE_MAX and "". */
void appearing_read(struct appearing *a, void (*found)(void *data, size_t folder, const char *path),
                    void *data);
