/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command has left in the git dirs outside its project (a worktree's, a submodule's) that git on the
 * host would obey though git never made it.  Names that exist are read-only there; those that don't can't be
 * kept from being made, as git needs the folders writable, so they are looked for when the sandbox is gone.
 */
#pragma once

#include <time.h>

#include "plan/plan.h"

struct gitdirs {
        char *git_dir; /* for messages; NULL: none */
        char *common_dir;
        int git_fd, common_fd; /* O_PATH: what the names lead to may be another folder by the end */
        struct timespec since; /* what is older was there before the run */
};

#define GITDIRS_INIT                                  \
        (struct gitdirs) {                            \
                .git_fd = -EBADF, .common_fd = -EBADF \
        }

/* -ENOMEM, or open(2)'s. */
int gitdirs_begin(const struct nsrun_plan *plan, struct gitdirs *ret);
/* Takes new symlinks away, through which git would write elsewhere (a reflog, a message), and the
 * "commondir" of a submodule; finds commands that `git rebase --continue` would run.  Calls `found` for
 * each: 0 or -errno.  Once; a GITDIRS_INIT has nothing to look at. */
int gitdirs_end(struct gitdirs *g, int (*found)(void *data, const struct nsrun_error *note), void *data);
void gitdirs_clear(struct gitdirs *g);
