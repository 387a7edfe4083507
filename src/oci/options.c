/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-oci's command line. */
#include "command.h"
#include "spec.h"

enum option_kind {
        OPTION_FLAG,    /* a bool */
        OPTION_TEXT,    /* a const char * */
        OPTION_LIST,    /* a char ** */
        OPTION_IGNORED, /* what it asks for is always so */
        OPTION_REFUSED,
        OPTION_MANAGER, /* --cgroup-manager: disabled, or refused */
        OPTION_HELP,
        OPTION_VERSION,
};

struct oci_option {
        const char *commands; /* " a b ": those that have it; NULL: global, before the command */
        const char *name;
        char letter; /* 0: it has none */
        enum option_kind kind;
        size_t offset;
        const char *argument; /* its name; NULL: it has none */
        const char *summary;
};

#define AT(member) offsetof(struct oci_options, member)

static const struct oci_option table[] = {
        {NULL, "root", 0, OPTION_TEXT, AT(root), "DIR", "where containers' states are"},
        {NULL, "log", 0, OPTION_TEXT, AT(log), "FILE", "errors go there, too"},
        {NULL, "log-format", 0, OPTION_TEXT, AT(log_format), "text|json", "of that file"},
        {NULL, "debug", 0, OPTION_IGNORED, 0, NULL, "accepted: errors are told in full always"},
        {NULL, "cgroup-manager", 0, OPTION_MANAGER, 0, "disabled", "no other: no cgroups are made"},
        {NULL, "systemd-cgroup", 0, OPTION_REFUSED, 0, NULL, "refused: no cgroups are made"},
        {NULL, "help", 'h', OPTION_HELP, 0, NULL, "this text"},
        {NULL, "version", 'v', OPTION_VERSION, 0, NULL, "nsrun-oci's version"},
        {" create run ", "bundle", 'b', OPTION_TEXT, AT(bundle), "DIR", "the folder of config.json (.)"},
        {" create run exec ", "pid-file", 0, OPTION_TEXT, AT(pid_file), "FILE", "gets the process's pid"},
        {" create run exec ", "console-socket", 0, OPTION_TEXT, AT(console_socket), "SOCKET",
         "gets the terminal's master"},
        {" create run exec ", "preserve-fds", 0, OPTION_TEXT, AT(preserve_fds), "N",
         "descriptors 3 to 2+N are the command's, too"},
        {" create run ", "no-new-keyring", 0, OPTION_FLAG, AT(keeps_keyring), NULL,
         "the caller's session keyring stays"},
        {" create run ", "no-pivot", 0, OPTION_REFUSED, 0, NULL, "refused: a root is always changed so"},
        {" run exec ", "detach", 'd', OPTION_FLAG, AT(is_detached), NULL, "not waited for"},
        {" exec ", "process", 'p', OPTION_TEXT, AT(process), "FILE", "the process, as in config.json"},
        {" exec ", "cwd", 0, OPTION_TEXT, AT(cwd), "DIR", "its working directory"},
        {" exec ", "env", 'e', OPTION_LIST, AT(env), "NAME=VALUE", "a variable"},
        {" exec ", "user", 'u', OPTION_TEXT, AT(user), "UID[:GID]", "its ids"},
        {" exec ", "tty", 't', OPTION_FLAG, AT(has_tty), NULL, "it has a terminal"},
        {" delete ", "force", 'f', OPTION_FLAG, AT(is_forced), NULL, "kills what runs"},
        {" kill ", "all", 'a', OPTION_FLAG, AT(kills_all), NULL, "all its processes (SIGKILL alone)"},
        {" list ", "quiet", 'q', OPTION_FLAG, AT(is_quiet), NULL, "names alone"},
        {" list ", "format", 'f', OPTION_TEXT, AT(format), "table|json", "how"},
};

static const struct oci_command oci_commands[] = {
        {"create", "make a container, whose command waits", "ID", 1, 1, oci_create},
        {"start", "let its command begin", "ID", 1, 1, oci_start},
        {"run", "both, and wait for the end", "ID", 1, 1, oci_run},
        {"exec", "a further process in it", "ID [COMMAND [ARGUMENT…]]", 1, -1, oci_exec},
        {"state", "what it does, as JSON", "ID", 1, 1, oci_state},
        {"kill", "send it a signal (TERM)", "ID [SIGNAL]", 1, 2, oci_kill},
        {"delete", "forget it when it has ended", "ID", 1, 1, oci_delete},
        {"list", "the containers", "", 0, 0, oci_list},
        {"features", "what is carried, as JSON", "", 0, 0, oci_features},
};

static int usage(struct nsrun_error *err, const char *what, const char *which) {
        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), which, what, "see nsrun-oci --help");
}

static bool is_of(const struct oci_option *option, const char *command) {
        char word[24];

        if (!command || !option->commands)
                return !command && !option->commands;
        (void)snprintf(word, sizeof(word), " %s ", command);
        return strstr(option->commands, word);
}

static const struct oci_option *option_find(const char *text, const char *command, const char **ret_value) {
        *ret_value = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                const char *rest = startswith(text, "--") ? startswith(text + 2, table[i].name) : NULL;

                if (!is_of(&table[i], command))
                        continue;
                if (rest && *rest == '=' && table[i].argument)
                        *ret_value = rest + 1;
                if ((rest && (!*rest || *ret_value)) ||
                    (table[i].letter && text[1] == table[i].letter && !text[2]))
                        return &table[i];
        }
        return NULL;
}

static void print_options(const char *command) {
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                char name[48];

                if (!is_of(&table[i], command))
                        continue;
                (void)snprintf(name, sizeof(name), "%s%c%s--%s%s%s", table[i].letter ? "-" : "   ",
                               table[i].letter ? table[i].letter : ' ', table[i].letter ? ", " : "",
                               table[i].name, table[i].argument ? " " : "",
                               table[i].argument ? table[i].argument : "");
                (void)printf("  %-34s %s\n", name, table[i].summary);
        }
}

static int print_help(const struct oci_command *command) {
        if (command) {
                (void)printf("Usage: nsrun-oci %s [OPTION…] %s\n\n", command->name, command->words);
                print_options(command->name);
                return 1;
        }
        (void)printf("Usage: nsrun-oci [OPTION…] COMMAND …\n"
                     "Runs containers of the OCI runtime specification.  See nsrun-oci(1).\n\n");
        for (size_t i = 0; i < ARRAY_SIZE(oci_commands); i++)
                (void)printf("  %-10s %s\n", oci_commands[i].name, oci_commands[i].summary);
        (void)printf("\n");
        print_options(NULL);
        return 1;
}

static int take_option(const struct oci_option *option, const char *value, const struct oci_command *command,
                       struct oci_options *to, struct nsrun_error *err) {
        void *at = (char *)to + option->offset;

        switch (option->kind) {
        case OPTION_FLAG:
                *(bool *)at = true;
                return 0;
        case OPTION_TEXT:
                *(const char **)at = value;
                return 0;
        case OPTION_LIST:
                return strv_add((char ***)at, value) < 0 ? error_oom(err) : 0;
        case OPTION_IGNORED:
                return 0;
        case OPTION_MANAGER:
                if (streq(value, "disabled"))
                        return 0;
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EOPNOTSUPP), NULL,
                                 "nsrun-oci makes no cgroups: --cgroup-manager is disabled, or left out",
                                 "podman's --cgroups=disabled does that");
        case OPTION_REFUSED:
                return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EOPNOTSUPP), NULL,
                                  streq(option->name, "systemd-cgroup")
                                          ? "leave it out: podman --cgroup-manager=cgroupfs"
                                          : "leave it out",
                                  "--%s is not carried", option->name);
        case OPTION_HELP:
                return print_help(command);
        case OPTION_VERSION:
                (void)printf("nsrun-oci " PACKAGE_VERSION "\nspec: " SPEC_VERSION "\n");
                return 1;
        }
        return 0;
}

/* The options of one command line's part; *at is moved to the first word. */
static int take_options(char **argv, int *at, const struct oci_command *command, struct oci_options *to,
                        struct nsrun_error *err) {
        for (; argv[*at] && argv[*at][0] == '-' && argv[*at][1]; (*at)++) {
                const struct oci_option *option;
                const char *value;
                int r;

                if (streq(argv[*at], "--")) {
                        (*at)++;
                        return 0;
                }
                option = option_find(argv[*at], command ? command->name : NULL, &value);
                if (!option && streq(argv[*at], "--help"))
                        return print_help(command);
                if (!option)
                        return usage(err, "there is no such option", argv[*at]);
                if (option->argument && !value && !(value = argv[++*at]))
                        return usage(err, "the option needs an argument", argv[*at - 1]);
                r = take_option(option, value, command, to, err);
                if (r != 0)
                        return r;
        }
        return 0;
}

int oci_parse(int argc, char **argv, const struct oci_command **ret_command, struct oci_options *ret,
              struct nsrun_error *err) {
        const struct oci_command *command = NULL;
        int at = argc > 0 ? 1 : 0, n, r = take_options(argv, &at, NULL, ret, err);

        if (r != 0)
                return r;
        if (!argv[at])
                return usage(err, "no command", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(oci_commands); i++)
                if (streq(argv[at], oci_commands[i].name))
                        command = &oci_commands[i];
        if (!command)
                return usage(err, "the command is not carried", argv[at]);
        at++;
        r = take_options(argv, &at, command, ret, err);
        if (r != 0)
                return r;
        if (ret->log_format && !streq(ret->log_format, "json") && !streq(ret->log_format, "text"))
                return usage(err, "--log-format is text or json", ret->log_format);
        n = argc - at;
        /* "delete ID --force", as people write it. */
        if (command->most >= 0 && n > command->most && argv[at + command->most][0] == '-') {
                int behind = at + command->most;

                r = take_options(argv, &behind, command, ret, err);
                if (r != 0)
                        return r;
                n = argv[behind] ? n : command->most;
                argv[at + command->most] = NULL;
        }
        if (n < command->least || (command->most >= 0 && n > command->most))
                return usage(err, n < command->least ? "too few arguments" : "too many arguments",
                             command->name);
        ret->words = argv + at;
        *ret_command = command;
        return 0;
}
