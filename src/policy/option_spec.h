/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One option: its help, its completion, and the function that reads its value. */
#pragma once

#include "base/error.h"
#include "base/str.h"

enum option_completes {
        OPTION_COMPLETES_NOTHING,
        OPTION_COMPLETES_PATH,
        OPTION_COMPLETES_FOLDER,
        OPTION_COMPLETES_CHOICE, /* `argument` is "one|two|THREE": choices, and a word in capitals for any
                                    path */
        OPTION_COMPLETES_VARIABLE,
        OPTION_COMPLETES_SESSION,
        OPTION_COMPLETES_AGENT,
};

struct option_spec {
        const char *name;     /* the option without its dashes */
        char letter;          /* the option's short form; 0: it has none */
        const char *argument; /* the argument as help shows it; NULL: the option takes none */
        enum option_completes completes;
        const char *group; /* the heading of --help under which the option stands */
        const char *help;
        /* Applies the option to `target`: a struct nsrun_policy for policy_options, a subcommand's
         * own struct for that subcommand's options.  `value` is NULL if the option takes no
         * argument. */
        int (*apply)(void *target, const struct option_spec *spec, const char *value,
                     struct nsrun_error *err);
};

/* The index of `value` among spec->argument's choices, or -EINVAL with *err filled. */
int option_choice(const struct option_spec *spec, const char *value, struct nsrun_error *err);

/* Refuses a glob with braces, which other programs' globs have and which would match nothing here, without a
 * word; else 0. */
int option_refuse_braces(const struct option_spec *spec, const char *value, struct nsrun_error *err);

/* Refuses an option's value: -EINVAL with *err filled, "--tmpfs-size: what: value; hint". */
int option_refuse(const struct option_spec *spec, const char *value, const char *what, const char *hint,
                  struct nsrun_error *err);
