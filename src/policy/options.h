/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one table of options, from which the parser, --help, the completions and nsrun_policy_set()
 * are made. */
#pragma once

#include "option_spec.h"
#include "policy.h"

extern const struct option_spec policy_options[];
extern const size_t n_policy_options;
/* When an option is applied, wherever it stands on a command line. */
enum option_turn {
        OPTION_TURN_FIRST,  /* what decides which parts of a configuration hold: the project, the profile */
        OPTION_TURN_CONFIG, /* --config and its like */
        OPTION_TURN_LAST    /* all others, which win over what the configuration says */
};
enum option_turn option_turn(const struct option_spec *spec);

/* Applies one of policy_options, and notes in p->given that it was. */
int policy_apply_option(struct nsrun_policy *p, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err);
