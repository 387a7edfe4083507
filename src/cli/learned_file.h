/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration that `nsrun learn` writes. */
#pragma once

#include "explain/learned.h"

struct learned_file {
        const struct nsrun_policy *policy; /* what was in force */
        const struct nsrun_plan *plan;     /* and its plan */
        const struct nsrun_plan *wide;     /* the plan that the command ran by */
        const char *update;                /* the configuration that is to be widened; NULL: a new one */
        struct learned learned;
        char **hosts, **refused; /* of the network */
        char **denied;           /* reasons why calls were denied */
        bool wants_nested;       /* the command failed, and one of these is allowed by "nested" */
        bool has_failed;         /* the command */
};

void learned_file_clear(struct learned_file *f);
/* The text, for the caller to free. */
int learned_file_text(const struct learned_file *f, char **ret, struct nsrun_error *err);
/* Refuses a new file that is there already, or that lies where the plan's command may write.  *ret is its
 * canonical path, for the caller to free: the command may change a link on the way that was named. */
int learned_file_check(const struct nsrun_plan *plan, const char *file, bool is_new, char **ret,
                       struct nsrun_error *err);
