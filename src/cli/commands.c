/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of subcommands. */
#include "option.h"

const struct command commands[] = {
        {"run",
         "[OPTIONS] [--] COMMAND [ARG...]",
         "run COMMAND in a sandbox",
         NULL,
         true,
         {{policy_options, &n_policy_options},
          {run_options, &n_run_options},
          {common_options, &n_common_options}},
         run_main},
        {"plan",
         "[OPTIONS] [--] COMMAND [ARG...]",
         "print what run would do, and do nothing",
         NULL,
         true,
         {{policy_options, &n_policy_options},
          {plan_options, &n_plan_options},
          {common_options, &n_common_options}},
         plan_main},
        {"resolve",
         "[OPTIONS] --read|--write PATH...",
         "print where the sandbox's PATHs are on the host, if the sandbox has them",
         "PATH",
         false,
         {{policy_options, &n_policy_options},
          {resolve_options, &n_resolve_options},
          {common_options, &n_common_options}},
         resolve_main},
        {"toolchains",
         "[OPTIONS]",
         "list the toolchain folders that a sandbox sees",
         NULL,
         false,
         {{toolchains_options, &n_toolchains_options}, {common_options, &n_common_options}},
         toolchains_main},
        {"seccomp",
         "[OPTIONS] list|show|check|compile [POLICY [CALL [ARG...]]]",
         "list seccomp policies, show one, or ask what it says of a call",
         "list|show|check|compile",
         false,
         {{seccomp_options, &n_seccomp_options}, {common_options, &n_common_options}},
         seccomp_main},
        {"completion",
         "bash|zsh|fish",
         "print a completion script for a shell",
         "bash|zsh|fish",
         false,
         {{common_options, &n_common_options}},
         completion_main},
        {"help",
         "[SUBCOMMAND]",
         "show help",
         "run|plan|resolve|toolchains|seccomp|completion",
         false,
         {{common_options, &n_common_options}},
         help_main},
};
const size_t n_commands = ARRAY_SIZE(commands);

const struct command *command_find(const char *name) {
        for (size_t i = 0; i < n_commands; i++)
                if (streq(commands[i].name, name))
                        return &commands[i];
        return NULL;
}
