/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one table of options: the parser, --help, the completions and
 * nsrun_policy_set() are all made of it. */
#pragma once

#include "base/error.h"
#include "policy.h"

enum option_completes {
        OPTION_COMPLETES_NOTHING,
        OPTION_COMPLETES_PATH,
        OPTION_COMPLETES_FOLDER,
        OPTION_COMPLETES_CHOICE, /* `argument` is "one|two|three"; a word in capitals among them is a path */
        OPTION_COMPLETES_VARIABLE,
        OPTION_COMPLETES_SESSION,
};

struct option_spec {
        const char *name;     /* without the dashes */
        char letter;          /* 0: none */
        const char *argument; /* how help shows it; NULL: takes none */
        enum option_completes completes;
        const char *group; /* the heading that --help puts it under */
        const char *help;
        /* `target` is what the table is about: a struct nsrun_policy here, the
         * subcommand's own struct for its own options. `value` is NULL where the option takes none. */
        int (*apply)(void *target, const struct option_spec *spec, const char *value,
                     struct nsrun_error *err);
};

extern const struct option_spec policy_options[];
extern const size_t n_policy_options;
/* Whether it is applied before the others, wherever it stands on a command line: they go before
 * what the configuration says. */
bool option_is_early(const struct option_spec *spec);

/* Applies one of policy_options, and remembers that it was given. */
int policy_apply_option(struct nsrun_policy *p, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err);

/* The index of `value` among spec->argument's choices, or -EINVAL with *err filled. */
int option_choice(const struct option_spec *spec, const char *value, struct nsrun_error *err);

/* -EINVAL with *err filled: "--tmpfs-size: what: value; hint". */
int option_refuse(const struct option_spec *spec, const char *value, const char *what, const char *hint,
                  struct nsrun_error *err);
