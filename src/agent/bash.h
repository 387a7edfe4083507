/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An agent's bash command, what nsrun_bash() (nsrun.h) and `nsrun bash` (nsrun-bash(1)) share.  The
 * texts are in bash_text.c. */
#pragma once

#include "command.h"
#include "confirmer.h"

struct bash_params {
        const struct nsrun_bash_options *options; /* NULL: the defaults */
        struct run_params start;
        struct confirmer *confirmer; /* the program that options->confirm asks, judged before; NULL: none */
        int cancel_fd;               /* once it is readable the command is ended; -1: none */
};

int bash_run(const struct nsrun_policy *policy, const char *command, const struct bash_params *params,
             struct nsrun_bash_result *ret, struct nsrun_error *err);

/* -EINVAL: the policy's --chdir would make commands begin elsewhere than at the project's root. */
int bash_refuse_chdir(const struct nsrun_policy *policy, struct nsrun_error *err);

/* Fills in the reasons of a command that has run in the policy's session, by its output and how it ended. */
int bash_explain(const struct nsrun_policy *policy, struct nsrun_bash_result *result,
                 struct nsrun_error *err);

/* detach.c: refusals of a command that is to run in the background, and the command. */
int bash_check_detached(const struct nsrun_policy *policy, const struct nsrun_bash_options *options,
                        const struct bash_params *params, struct nsrun_error *err);
int bash_run_detached(const struct policy_request *request, const char *command,
                      const struct bash_params *params, const struct nsrun_bash_options *options,
                      struct nsrun_bash_result *ret, struct nsrun_error *err);

/* The question that a person is asked before a command runs; NULL if memory runs out. */
char *bash_prompt(const char *command, const char *description, long timeout);
