/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether this host carries a policy, found out by making its sandbox; and why bash doesn't run in one. */
#pragma once

#include "plan/plan.h"

/* How an agent's command is started: by bash, which reads no file before it. */
struct bash_command {
        char *argv[6];
        char *program; /* NULL: bash is found in the sandbox's PATH */
};
int bash_command_make(const struct nsrun_policy *policy, const char *command, struct bash_command *ret,
                      struct nsrun_error *err);
static inline void bash_command_clear(struct bash_command *c) {
        free(c->program);
}
#define _cleanup_bash_command_ _cleanup_(bash_command_clear)
/* Variables that name files which bash would read before the command; NULL at the end. */
extern const char *const bash_unset[];
/* What they get in place of inherited variables, so that nothing waits for a person. */
extern const char *const bash_usual[];

/* Makes the request's sandbox, runs its command in it with nothing to read or write, and removes it.
 * *ret_status is the command's exit status, or 128 and its signal's number. */
int probe_run(const struct nsrun_plan *plan, int *ret_status, struct nsrun_error *err);
