/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --help and --version, made of the option tables. */
#include "base/str.h"
#include "option.h"

#define WIDTH         80
#define OPTION_COLUMN 28 /* where an option's description begins */

/* Appends `text`, which begins at column `at`, wrapped between `indent` and WIDTH. */
static void add_wrapped(struct strbuf *b, const char *text, size_t at, size_t indent) {
        bool is_first = true;

        while (*text) {
                size_t n = strcspn(text, " ");

                if (!is_first && at + 1 + n > WIDTH) {
                        strbuf_addf(b, "\n%*s", (int)indent, "");
                        at = indent;
                } else if (!is_first) {
                        strbuf_add(b, " ");
                        at++;
                }
                strbuf_add_bytes(b, text, n);
                at += n;
                text += n + strspn(text + n, " ");
                is_first = false;
        }
        strbuf_add(b, "\n");
}

static void cli_help_add_option(struct strbuf *b, const struct option_spec *spec) {
        /* Choices are shown with "=", as people type them. */
        const char *between = spec->completes == OPTION_COMPLETES_CHOICE ? "=" : " ";
        char left[64];
        size_t n;

        if (spec->letter)
                (void)snprintf(left, sizeof(left), "  -%c, --%s", spec->letter, spec->name);
        else
                (void)snprintf(left, sizeof(left), "      --%s%s%s", spec->name,
                               spec->argument ? between : "", spec->argument ? spec->argument : "");
        strbuf_add(b, left);
        n = strlen(left);
        if (n + 2 > OPTION_COLUMN) {
                strbuf_add(b, "\n");
                n = 0;
        }
        strbuf_addf(b, "%*s", (int)(OPTION_COLUMN - n), "");
        add_wrapped(b, spec->help, OPTION_COLUMN, OPTION_COLUMN);
}

/* The long list of the sandbox's options is shown once, by run. */
static bool borrows(const struct command *command, size_t table) {
        return command->tables[table].specs == policy_options && !streq(command->name, "run");
}

static void add_options(struct strbuf *b, const struct command *command) {
        const char *group = NULL;

        for (size_t t = 0; t < MOST_TABLES && command->tables[t].specs; t++) {
                if (borrows(command, t))
                        continue;
                for (size_t i = 0; i < *command->tables[t].n; i++) {
                        const struct option_spec *spec = &command->tables[t].specs[i];

                        if (!group || !streq(group, spec->group))
                                strbuf_addf(b, "\n%s:\n", spec->group);
                        group = spec->group;
                        cli_help_add_option(b, spec);
                }
        }
        if (borrows(command, 0))
                strbuf_add(b,
                           "\nThe sandbox's own options are those of nsrun run: see 'nsrun run --help'.\n");
}

char *help_text(const struct command *command) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_addf(&b, "Usage: nsrun %s %s\n\n", command->name, command->arguments);
        strbuf_addf(&b, "nsrun %s: ", command->name);
        add_wrapped(&b, command->summary, strlen(command->name) + 8, 0);
        add_options(&b, command);
        if (command->takes_command)
                strbuf_add(
                        &b,
                        "\nThe options end at the first word that is none, or at \"--\".  Exit status: the\n"
                        "command's own; 128+n if signal n ended it; 127 not found; 126 not executable;\n"
                        "125 if nsrun failed, and then the command never started.  See nsrun(1).\n");
        return strbuf_finish(&b);
}

static int help_print(const struct command *command) {
        _cleanup_free_ char *text = help_text(command);
        struct nsrun_error err = {0};

        if (!text) {
                (void)error_oom(&err);
                return option_fail(&err);
        }
        (void)fputs(text, stdout);
        return option_close_stdout();
}

int help_print_all(void) {
        (void)printf("Usage: nsrun SUBCOMMAND [OPTIONS] [ARGUMENTS]\n\n"
                     "Start a command in a sandbox of raw Linux namespaces: it sees the project, the\n"
                     "toolchains, a few files of /etc and an empty home; nothing else.\n\n"
                     "Subcommands:\n");
        for (size_t i = 0; i < n_commands; i++)
                (void)printf("  %-12s%s\n", commands[i].name, commands[i].summary);
        (void)printf("\n'nsrun SUBCOMMAND --help' lists a subcommand's options; nsrun(1) explains them.\n"
                     "Try: nsrun run -- ls -A /\n");
        return option_close_stdout();
}

int help_print_version(void) {
        (void)printf("nsrun %s\n", nsrun_version());
        return option_close_stdout();
}

int help_answer(const struct command *command, const struct common_options *common) {
        return common->wants_version ? help_print_version() : help_print(command);
}

int help_main(const struct command *command, char **argv) {
        const struct command *subject = NULL;
        struct nsrun_error err = {0};
        size_t first = 0;
        int status = 0;

        if (!option_parse_common(command, argv, &first, &status))
                return status;
        if (!argv[first])
                return help_print_all();
        subject = command_find(argv[first]);
        if (!subject || argv[first + 1]) {
                (void)option_usage_error(NULL, subject ? argv[first + 1] : argv[first],
                                         subject ? "one subcommand is enough" : "unknown subcommand", &err);
                return option_fail(&err);
        }
        return help_print(subject);
}
