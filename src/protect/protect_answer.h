/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names, path by path: for what is put into a folder of the host's by no command, but from a
 * session's overlay. */
#pragma once

#include "rules/resolved.h"

struct protect_answer {
        char *top;    /* the folder that the table's names are in, at any depth; absolute */
        char **paths; /* of all else that is protected, absolute; sorted, without regard to case */
        size_t n;
        char **globs; /* and of --protect's, "FOLDER//GLOB" */
};

/* Says what protect_add_rules() protects in the writable folders of *s, the first of which is the answer's
 * top.  -errno, as there. */
int protect_answer(struct resolved *s, struct protect_answer *ret, struct nsrun_error *err);
void protect_answer_clear(struct protect_answer *a);

/* Whether programs on the host would obey what is put at `path`, absolute; a symlink also for what it has
 * them find below it.  Case doesn't count: on a file system that folds it, it doesn't to them. */
bool protect_answers(const struct protect_answer *a, const char *path, bool is_link);
