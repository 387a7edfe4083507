/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is to be kept aside when a run has ended, written down while it lasts: whoever comes after a kill
 * keeps it.  And a folder in the run directory for it, which no command has. */
#pragma once

#include "disk/rundir.h"
#include "kept_by.h"

struct killed {
        int fd;   /* of what is written down */
        int away; /* the folder */
        bool has_taken;
};

#define KILLED_INIT                           \
        (struct killed) {                     \
                .fd = -EBADF, .away = -EBADF, \
        }

/* Begins it in the run directory at `rundir`, or in a session that runs opens it. */
int killed_begin(const char *rundir, const struct kept_by *kept_by, struct killed *ret);
void killed_close(struct killed *k);
/* A name of its own in that folder for what is taken from `path`, written down before there is anything;
 * *ret is for the caller to free.  -EXDEV: it could be followed; -errno. */
int killed_name(const struct killed *k, const char *path, char **ret);
/* Moves an entry of a folder, which is `path` on the host, to that folder; *ret, for the caller to free, is
 * its name there.  -EXDEV: it lies on another file system, or where it could be followed; -errno. */
int killed_take(struct killed *k, int parent, const char *name, const char *path, char **ret);
/* Copies it there, a plain file to which nobody writes.  -errno. */
int killed_copy(const struct killed *k, int parent, const char *name, const char *path, char **ret);
/* Moves what was taken from `below` in the folder `root`, which is `path`, to another name there, or in the
 * nearest folder above that is there still.  *ret, for the caller to free: where it lies now, which may be
 * where it was taken to.  -ENOMEM. */
int killed_put_back(int away_fd, const char *away, int root, const char *path, const char *below,
                    char **ret);
/* Adds a protected folder, whose layer's name in the run directory `what` is; or what was renamed from
 * `path` to the name `what` in its folder; or KILLED_PLACEHOLDER: one that stands, or is to stand, at
 * `path`.
 */
#define KILLED_PLACEHOLDER "placeholder/"
/* The run directory, for the caller to free; NULL: there is no folder in it, or no memory. */
char *killed_rundir(const struct killed *k);
/* Makes a placeholder of that run directory's.  -EXDEV: the file system can't have one. */
int killed_make_placeholder(const char *rundir, int folder, const char *name, mode_t mode);
/* Whether the entry is a placeholder with nothing in it, which is removed if it is that run directory's (may
 * be NULL) or one's without an owner.  With a run directory a folder that the command has closed is opened
 * to its owner for it, and stays so. */
bool killed_end_placeholder(const char *rundir, int parent, const char *name);
/* Whether it is a placeholder of a sandbox that lives, or may, and is not this one's (k may be NULL),
 * whatever is in it. */
bool killed_is_anothers(const struct killed *k, int folder, const char *name);
/* Of a canonical path, through no symlink: whether it is that run directory's; and killed_end_placeholder().
 * -ENOMEM. */
int killed_has_placeholder(const char *rundir, const char *path);
int killed_remove_placeholder(const char *rundir, const char *path);
void killed_add(const struct killed *k, const char *what, const char *path);
/* Keeps all of it aside, of a run directory whose owner is dead; or of a session that ends, what its killed
 * commands have left.  -ENOMEM. */
int killed_keep(const struct rundir *u, bool is_alive,
                int (*found)(void *data, const struct nsrun_error *note), void *data);
