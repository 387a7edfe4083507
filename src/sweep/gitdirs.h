/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command has left in git dirs (the project's, wherever it lies, those in it, and those of
 * repositories in its sub-folders) that git on the host would obey though git never made it.  Names that
 * exist are read-only in the sandbox.  Names that don't can't be kept from being made, since git needs the
 * folders writable: they are looked for when the sandbox is gone. */
#pragma once

#include "plan/plan.h"

struct swept_dir;

struct gitdirs {
        struct swept_dir *items;
        size_t n;
        char **links; /* "PATH -> TEXT", sorted: the symlinks that were there but references */
        size_t n_links;
        char **left_out;       /* folders in git dirs that aren't git's */
        bool is_cut;           /* that list is not complete */
        struct timespec since; /* when the run began: older files are not the command's */
};

/* Opens the plan's git dirs.  Errors: -ENOMEM, or open(2)'s. */
int gitdirs_begin(const struct nsrun_plan *plan, struct gitdirs *ret);
/* Removes symlinks that weren't there when the plan was made, in a session when that began: through them
 * git would write elsewhere (a reflog, a message).  Moves a new "commondir" of a submodule aside, and finds
 * commands that `git rebase --continue` would run, and merge strategies of what is to be continued that
 * aren't git's own.  Calls `found` (0 or -errno) for each.  To be called once; of a struct that is zero
 * nothing is looked at. */
int gitdirs_end(struct gitdirs *g, int (*found)(void *data, const struct nsrun_error *note), void *data);
void gitdirs_clear(struct gitdirs *g);
