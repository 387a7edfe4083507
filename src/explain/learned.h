/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command that was watched in a wide view needs of it: paths gathered into few rules, and what it
 * asked for and must not have. */
#pragma once

#include "access_list.h"

/* A path that the command used and that the plan in force doesn't give it. */
struct learned_rule {
        char *path;
        bool is_folder;
        bool is_written; /* something in it was changed, or made */
        size_t n_files;  /* how many paths of it were used */
        char **programs; /* by which programs, at most LEARNED_PROGRAMS */
};
#define LEARNED_PROGRAMS 4

struct learned {
        struct learned_rule *rules; /* sorted by path_compare(); none of two of one kind lies in the other */
        size_t n_rules;
        char **hidden;    /* the host's paths in folders of the rules that weren't shown while learning */
        char **not_given; /* lines: what was asked for and is secret, or isn't shown while learning */
};

/* Makes rules of what is in the list; the list's own plan is the one in force.  `wide` is the plan that the
 * command ran by: of what that doesn't show of the host no rule is made, whatever the command has made
 * inside at the same path.  -ENOMEM. */
int learned_make(const struct asked_list *list, const struct nsrun_plan *wide, struct learned *ret);
void learned_clear(struct learned *l);
