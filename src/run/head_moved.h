/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a command moved HEAD to where protected files are others than it could write: a checkout or merge
 * goes on without them, and the next commit would take them back. */
#pragma once

#include "plan/plan.h"

struct head_moved {
        char *project, *git_dir, *common_dir; /* common_dir: NULL where it lies in git_dir's place */
        char **names;                         /* protected names at the project's top */
        off_t size;                           /* of HEAD's reflog when the command began */
};

/* -ENOMEM. */
int head_begin(const struct nsrun_plan *plan, struct head_moved *ret);
/* Where the reflog has grown: has git say, in a sandbox of its own, which of these files the way from the
 * old HEAD changed and the project has otherwise; calls `found` with the command that brings them. */
int head_end(struct head_moved *h, int (*found)(void *data, const struct nsrun_error *note), void *data);
void head_clear(struct head_moved *h);
