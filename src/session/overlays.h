/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The overlays of a session that somebody asks about, and the folders that changes/ works on. */
#pragma once

#include "changes/changes.h"
#include "plan/record.h"

/* An overlay that the caller asks about.  Without paths all of it is meant. */
struct chosen {
        const struct plan_op *op;
        char **paths; /* relative to the overlay; or globs, as changes_selects() has them */
        bool is_whole;
};

struct asking {
        struct record_folder folder;
        struct plan_record record;
        int init; /* pidfd of the session's pid 1 */
        int root; /* the root folder that pid 1 sees */
        int rundir;
        struct chosen *chosen;
        size_t n;
        struct nsrun_error *err;
};

#define ASKING_INIT(error) \
        { .folder = RECORD_FOLDER_INIT, .init = -EBADF, .root = -EBADF, .rundir = -EBADF, .err = (error) }
void asking_clear(struct asking *a);
#define _cleanup_asking_ _cleanup_(asking_clear)

/* Finds the session, what `paths` choose, and opens what all overlays need. */
int asking_begin(struct asking *a, const char *id, const char *const *paths);

struct layer_fds {
        int layer, upper, base, merged;
};

#define LAYER_FDS_INIT \
        { -EBADF, -EBADF, -EBADF, -EBADF }
void layer_close(struct layer_fds *f);
/* Opens an overlay's folders, whose descriptors stay *f's.  -ESTALE: another folder is at the place of one.
 */
int layer_open(const struct asking *a, const struct plan_op *op, struct layer_fds *f,
               struct changes_layer *ret);
/* Makes a path with wildcards a glob, unless something of just that name is there, on the host or in the
 * session.  -ENOMEM. */
int layer_find_globs(struct chosen *chosen, const struct changes_layer *layer);
/* After a commit or a discard: the session's processes see in these overlays what is there now.  overlayfs
 * remembers a name that it looked up, and one that wasn't there, and doesn't notice what is changed below
 * it: a file that a command removed while it was committed would be listed and not be found.  On a kernel
 * that can't be told (before 5.8) they see it once the kernel has forgotten the name. */
void layers_look_anew(const struct asking *a, const int *merged, size_t n);
