/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command has left in its project's git dirs (a worktree's and a submodule's lie outside) that
 * git on the host would obey though git never made it.  Names that exist are read-only in the
 * sandbox.  Names that don't can't be kept from being made, since git needs the folders writable:
 * they are looked for when the sandbox is gone. */
#pragma once

#include <time.h>

#include "plan/plan.h"

struct gitdirs {
        char *git_dir; /* its path, for messages; NULL: the plan has none */
        char *common_dir;
        int git_fd, common_fd; /* O_PATH, opened before the run: the command may replace the folders at these
                                  paths */
        char **links;          /* "PATH -> TEXT": the symlinks that were there */
        bool is_cut;           /* that list is not complete */
        struct timespec since; /* when the run began: older files are not the command's */
};

#define GITDIRS_INIT                                  \
        (struct gitdirs) {                            \
                .git_fd = -EBADF, .common_fd = -EBADF \
        }

/* Opens the plan's git dirs.  Errors: -ENOMEM, or open(2)'s. */
int gitdirs_begin(const struct nsrun_plan *plan, struct gitdirs *ret);
/* Removes new symlinks, through which git would write elsewhere (a reflog, a message), moves a new
 * "commondir" of a submodule aside, and finds commands that `git rebase --continue` would run.
 * Calls `found` (0 or -errno) for each.  To be called once; for a GITDIRS_INIT it does nothing. */
int gitdirs_end(struct gitdirs *g, int (*found)(void *data, const struct nsrun_error *note), void *data);
void gitdirs_clear(struct gitdirs *g);
