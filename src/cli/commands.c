/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of subcommands. */
#include "base/nearest.h"
#include "option.h"

#define TABLE(name) \
        { name##_options, &n_##name##_options }
#define POLICY_AND(name) \
        { TABLE(policy), TABLE(name), TABLE(common) }
#define OWN(name) \
        { TABLE(name), TABLE(common) }
#define COMMON \
        { TABLE(common) }

const struct command commands[] = {
        {"run", "[OPTIONS] [--] COMMAND [ARG...]", "run COMMAND in a sandbox", .takes_command = true,
         .tables = POLICY_AND(run), .run = run_main},
        {"shell", "[OPTIONS]", "start your shell in a sandbox, with a terminal of its own",
         .tables = POLICY_AND(run), .run = shell_main},
        {"plan", "[OPTIONS] [--] [COMMAND [ARG...]]", "print what run would do, and do nothing",
         .takes_command = true, .tables = POLICY_AND(plan), .run = plan_main},
        {"learn", "[OPTIONS] [--] COMMAND [ARG...]",
         "run COMMAND in a wider view, and write a configuration of what it used", .takes_command = true,
         .tables = POLICY_AND(learn), .run = learn_main},
        {"bash", "[OPTIONS] [--] COMMAND-STRING",
         "run an agent's bash command, with a deadline, and print its result", .tables = POLICY_AND(bash),
         .run = bash_main},
        {"resolve", "[OPTIONS] --read|--write PATH...",
         "print where the sandbox's PATHs are on the host, if the sandbox has them", .words = "PATH",
         .tables = POLICY_AND(resolve), .run = resolve_main},
        {"toolchains", "[OPTIONS]", "list the toolchain folders that a sandbox sees",
         .tables = OWN(toolchains), .run = toolchains_main},
        {"agents", "[OPTIONS] [NAME]",
         "list the agents that --agent knows: what each is given, how it logs in", .words = "NAME",
         .tables = OWN(agents), .run = agents_main},
        {"net", "list", "print the lists of hosts that --allow @NAME stands for", .words = "list",
         .tables = COMMON, .run = net_main},
        {"seccomp",
         "list\n"
         "show [--format=json|pfc|bpf] POLICY\n"
         "check [--arch ARCH] POLICY CALL [ARG...]\n"
         "compile [--strict-policy] POLICY",
         "list seccomp policies, show one, or ask what it says of a call",
         .words = "list|show|check|compile", .tables = OWN(seccomp), .run = seccomp_main},
        {"ps", "[OPTIONS]",
         "list your sandboxes that run: of nsrun, nsrun-bwrap, sessions and programs with the library",
         .tables = OWN(ps), .run = ps_main},
        {"inspect", "[OPTIONS] ID",
         "print the plan in force of a sandbox of ps's list, and what is degraded", .tables = OWN(ps),
         .run = inspect_main},
        {"stop", "ID",
         "end a sandbox of ps's list: SIGTERM for its command, and five seconds later the rest",
         .tables = COMMON, .run = stop_main},
        {"grant", "[OPTIONS] ID",
         "give a sandbox of ps's list one more path, host or port, as the option does at its start",
         .tables = OWN(grant), .run = grant_main},
        {"revoke", "[OPTIONS] ID [PATH...]", "take back what was granted: that, or all",
         .tables = OWN(revoke), .run = revoke_main},
        {"home",
         "list [--json]\n"
         "diff [--json] NAME [PATH...]\n"
         "commit NAME PATH...\n"
         "rename NAME NEW\n"
         "remove NAME",
         "look after the homes of --home name:NAME: what each has otherwise than yours, put in yours when you have seen it",
         .words = "list|diff|commit|rename|remove", .tables = OWN(home), .run = home_main},
        {"session",
         "start [OPTIONS]\n"
         "enter ID\n"
         "list [--json]\n"
         "show|ps [--json] ID\n"
         "stop|kill ID\n"
         "kill [--signal SIGNAL] ID PID|NAME\n"
         "publish ID [[ADDRESS:]PORT[:INSIDE]...]\n"
         "ask ID\n"
         "logs|review [--json] ID\n"
         "logs [--follow] ID NAME\n"
         "diff [OPTIONS] ID [PATH...]\n"
         "commit [OPTIONS] ID [PATH...]\n"
         "discard ID [PATH...]",
         "keep a sandbox for many commands: start, enter, list, show, ps, stop, kill, publish, ask, logs, review, diff, "
         "commit, discard",
         .words = "start|enter|list|show|ps|stop|kill|publish|ask|logs|review|diff|commit|discard",
         .tables = POLICY_AND(session), .run = session_main},
        {"mcp", "[OPTIONS]",
         "serve a session's commands and files to an agent, by the Model Context Protocol",
         .tables = POLICY_AND(mcp), .run = mcp_main},
        {"config",
         "show [OPTIONS] [--json]\n"
         "check|edit [FILE]\n"
         "schema\n"
         "proposal [--project DIR]",
         "show what the configuration and options come to, check or edit it, print its JSON schema",
         .words = "show|check|edit|schema|proposal", .tables = POLICY_AND(config), .run = config_main},
        {"review", "[OPTIONS] [KEY...]",
         "show what is kept aside of commands' writing; take it over, or discard it", .tables = OWN(review),
         .run = review_main},
        {"log", "[OPTIONS]", "print what --log wrote down of runs, and whether somebody changed it",
         .tables = OWN(log), .run = log_main},
        {"doctor", "[OPTIONS]",
         "try what nsrun needs of this host, and say what is missing and what mends it",
         .tables = POLICY_AND(doctor), .run = doctor_main},
        {"completion", "bash|zsh|fish", "print a completion script for a shell", .words = "bash|zsh|fish",
         .tables = COMMON, .run = completion_main},
        {"help", "[SUBCOMMAND|TOPIC]", "show help: a subcommand's, or some of the sandbox's options",
         .words =
                 "run|shell|plan|learn|bash|resolve|toolchains|agents|net|seccomp|ps|inspect|stop|grant|revoke|home|session|mcp|config|review|log|doctor|completion|project|filesystem|protection|"
                 "environment|network|desktop|limits|isolation|sessions|options",
         .tables = COMMON, .run = help_main},
};
const size_t n_commands = ARRAY_SIZE(commands);

const struct command *command_find(const char *name) {
        for (size_t i = 0; i < n_commands; i++)
                if (streq(commands[i].name, name))
                        return &commands[i];
        return NULL;
}

int command_refuse(const char *word, const char *what, const char *otherwise, struct nsrun_error *err) {
        struct nearest near = {.word = word, .length = strlen(word)};
        char said[NEAREST_SAID];
        const char *hint;

        for (size_t i = 0; i < n_commands; i++)
                nearest_try(&near, commands[i].name);
        hint = nearest_say(&near, "", said);
        return option_usage_hint(NULL, word, what, hint ? hint : otherwise, err);
}
