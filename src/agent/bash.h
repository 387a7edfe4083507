/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An agent's bash command, as nsrun.h and nsrun(1) have it: what both share.  The texts are in
 * bash_text.c. */
#pragma once

#include "confirmer.h"
#include "contained.h"

struct bash_params {
        const struct nsrun_bash_options *options; /* NULL: all as it is without */
        struct run_params start;
        struct confirmer *confirmer; /* whom options->confirm asks, judged before; NULL: no program */
        bool without_sandbox;        /* not for the library: see plain.h */
        int cancel_fd;               /* -1: none */
};

int bash_run(const struct nsrun_policy *policy, const char *command, const struct bash_params *params,
             struct nsrun_bash_result *ret, struct nsrun_error *err);

/* -EINVAL: a policy whose commands begin elsewhere than at the project's root. */
int bash_refuse_chdir(const struct nsrun_policy *policy, struct nsrun_error *err);

/* nsrun_bash_describe() of options that are complete; with no sandbox there is no policy to look at. */
int bash_describe(const struct nsrun_policy *policy, const struct nsrun_bash_options *options,
                  bool without_sandbox, enum nsrun_format format, char **ret, struct nsrun_error *err);

/* What a person is asked; NULL for want of memory. */
char *bash_prompt(const char *command, const char *description, long timeout);
