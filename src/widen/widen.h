/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A running sandbox that is shown more, or less again.  All of it fails with -errno and *err. */
#pragma once

#include "running/granted.h"

struct widened {
        int pidfd; /* init's */
        pid_t waiter, init;
        int file; /* the plan's (plan_shown.h), locked: one grant at a time */
        struct inside inside;
        struct nsrun_plan *plan;
        struct granted_list granted; /* what it has of that now */
};

#define WIDENED_INIT \
        { .pidfd = -EBADF, .file = -EBADF, .inside = INSIDE_INIT, }

/* Opens the sandbox with that pid 1, which `pidfd` (taken over) is for sure, for whose end `waiter` waits.
 * `waits`: until nobody else has it. */
int widen_open(pid_t waiter, pid_t init, int pidfd, bool waits, struct widened *ret,
               struct nsrun_error *err);
void widen_close(struct widened *w);
#define _cleanup_widened_ _cleanup_(widen_close)

/* What the option shows at a start, "ro", "overlay" or, of a file, "rw", is shown.  `is` may be NULL: else
 * the path is canonical, and what stat(2) says this of lies there, or it is refused.  *notes gets lines. */
/* *ret_path (may be NULL) is what is shown, for free(3). */
int widen_grant(struct widened *w, const char *option, const char *path, const struct stat *is,
                char ***notes, char **ret_path, struct nsrun_error *err);
/* What that would refuse is refused, and nothing is done. */
int widen_judge(struct widened *w, const char *option, const char *path, const struct stat *is,
                struct nsrun_error *err);
/* Fills w->granted. */
int widen_find_live(struct widened *w);
/* Takes back what was granted at the path, or with NULL all, of the network too; also where that can't be
 * written down, of which *notes gets a line.  -ENOENT: nothing was. */
int widen_revoke_path(struct widened *w, const char *path, char ***notes, struct nsrun_error *err);
