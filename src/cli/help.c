/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --help and --version, made of the option tables. */
#include <limits.h> /* tells of glibc */
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#include <linux/version.h>

#include "base/programs.h"
#include "build.h"
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

        char letter[] = {'-', spec->letter, ',', 0};

        (void)snprintf(left, sizeof(left), "  %3s --%s%s%s", spec->letter ? letter : "", spec->name,
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

/* A group of the sandbox's own options. */
struct help_topic {
        const char *name, *group, *summary;
};

static const struct help_topic topics[] = {
        {"project", "Project", "the project, where the command starts, the configuration"},
        {"filesystem", "Filesystem", "files and folders that the command sees; /tmp; overlays"},
        {"protection", "Protection", "names that can't be written, or not be read"},
        {"environment", "Environment", "variables that are passed"},
        {"network", "Network", "the network and the host name"},
        {"desktop", "Desktop", "devices of the host, services of its desktop"},
        {"seccomp", "Seccomp", "which system calls are allowed; Landlock"},
        {"limits", "Limits", "memory, processors, processes and other resources"},
        {"isolation", "Isolation", "ids, /proc, the terminal's session; none at all"},
        {"sessions", "Sessions", "many commands in one sandbox"},
};
static const char topic_all[] = "options"; /* of all groups */

/* The options of the sandbox that the help of a subcommand shows; the others are in their topics. */
static const char *const most_used[] = {"project", "ro", "rw", "overlay", "hide", "env", "net", "limit"};

static const struct help_topic *find_topic(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
                if (streq(topics[i].name, name))
                        return &topics[i];
        return NULL;
}

/* The sandbox's options of a group, or of all where it is NULL. */
static void add_topic_options(struct strbuf *b, const char *group) {
        const char *heading = NULL;

        for (size_t i = 0; i < n_policy_options; i++) {
                const struct option_spec *spec = &policy_options[i];

                if (group && !streq(spec->group, group))
                        continue;
                if (!heading || !streq(heading, spec->group))
                        strbuf_addf(b, "\n%s:\n", spec->group);
                heading = spec->group;
                cli_help_add_option(b, spec);
        }
}

static void add_most_used(struct strbuf *b) {
        strbuf_add(b, "\nMost used:\n");
        for (size_t i = 0; i < n_policy_options; i++)
                for (size_t k = 0; k < ARRAY_SIZE(most_used); k++)
                        if (streq(policy_options[i].name, most_used[k]))
                                cli_help_add_option(b, &policy_options[i]);
}

static void add_topics(struct strbuf *b) {
        for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
                strbuf_addf(b, "  %-13s%s\n", topics[i].name, topics[i].summary);
        strbuf_addf(b, "  %-13sall of these\n", topic_all);
}

static void add_topic_names(struct strbuf *b) {
        struct strbuf names = {0};
        char *text;

        strbuf_add(&names, "The sandbox's options are shown by 'nsrun help TOPIC', with one of");
        for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
                strbuf_addf(&names, " %s,", topics[i].name);
        strbuf_addf(&names, " or %s for all of them.", topic_all);
        text = strbuf_finish(&names);
        strbuf_add(b, "\n");
        if (text)
                add_wrapped(b, text, 0, 0);
        b->has_failed |= !text;
        free(text);
}

/* A subcommand's own options, a group at a time. */
static void add_own_options(struct strbuf *b, const struct command *command) {
        const char *group = NULL;

        for (size_t t = 0; t < MOST_TABLES && command->tables[t].specs; t++)
                for (size_t i = 0; i < *command->tables[t].n; i++) {
                        const struct option_spec *spec = &command->tables[t].specs[i];

                        if (command->tables[t].specs == policy_options)
                                continue;
                        if (!group || !streq(group, spec->group))
                                strbuf_addf(b, "\n%s:\n", spec->group);
                        group = spec->group;
                        cli_help_add_option(b, spec);
                }
}

static void add_options(struct strbuf *b, const struct command *command) {
        bool makes_sandbox = command->tables[0].specs == policy_options;

        if (makes_sandbox && command->takes_command)
                add_most_used(b);
        add_own_options(b, command);
        if (!makes_sandbox)
                return;
        if (command->takes_command) {
                strbuf_add(b, "\nThe sandbox's options are shown by 'nsrun help TOPIC':\n");
                add_topics(b);
        } else
                add_topic_names(b);
}

/* What isn't here is in nsrun(1). */
static const struct {
        const char *page, *command;
} pages[] = {
        {"nsrun-run(1)", "run"},     {"nsrun-run(1)", "shell"},       {"nsrun-run(1)", "plan"},
        {"nsrun-run(1)", "resolve"}, {"nsrun-run(1)", "agents"},      {"nsrun-run(1)", "seccomp"},
        {"nsrun-bash(1)", "bash"},   {"nsrun-session(1)", "session"}, {"nsrun-mcp(1)", "mcp"},
        {"nsrun-learn(1)", "learn"}, {"nsrun-review(1)", "review"},   {"nsrun-doctor(1)", "doctor"},
        {"nsrun.conf(5)", "config"}, {"nsrun-network(7)", "net"},     {"nsrun-toolchains(7)", "toolchains"},
};

const char *help_page(const struct command *command) {
        for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
                if (streq(pages[i].command, command->name))
                        return pages[i].page;
        return "nsrun(1)";
}

/* A line for each form. */
static void add_usage(struct strbuf *b, const struct command *command) {
        const char *form = command->arguments, *before = "Usage:";

        while (*form) {
                size_t n = strcspn(form, "\n");

                strbuf_addf(b, "%-6s nsrun %s %.*s\n", before, command->name, (int)n, form);
                before = "";
                form += n + (form[n] == '\n');
        }
        strbuf_add(b, "\n");
}

char *help_text(const struct command *command) {
        _cleanup_strbuf_ struct strbuf b = {0};

        add_usage(&b, command);
        strbuf_addf(&b, "nsrun %s: ", command->name);
        add_wrapped(&b, command->summary, strlen(command->name) + 8, 0);
        add_options(&b, command);
        if (command->takes_command)
                strbuf_add(
                        &b,
                        "\nThe options end at the first word that is none, or at \"--\".  Exit status: the\n"
                        "command's own; 128+n if signal n ended it; 127 not found; 126 not executable;\n"
                        "125 if nsrun failed, and then the command never started.\n");
        strbuf_addf(&b, "\nManual: %s\n", help_page(command));
        return strbuf_finish(&b);
}

/* `text`, which it frees; NULL: there was no memory for it. */
static int help_print(char *text) {
        struct nsrun_error err = {0};

        if (!text) {
                (void)error_oom(&err);
                return option_fail(&err);
        }
        (void)fputs(text, stdout);
        free(text);
        return option_close_stdout();
}

int help_print_all(void) {
        _cleanup_strbuf_ struct strbuf list = {0};
        _cleanup_free_ char *text = NULL;
        struct nsrun_error err = {0};

        add_topics(&list);
        text = strbuf_finish(&list);
        if (!text) {
                (void)error_oom(&err);
                return option_fail(&err);
        }
        (void)printf("Usage: nsrun SUBCOMMAND [OPTIONS] [ARGUMENTS]\n\n"
                     "Start a command in a sandbox of raw Linux namespaces: it sees the project, the\n"
                     "toolchains, a few files of /etc and an empty home; nothing else.\n\n"
                     "Subcommands:\n");
        for (size_t i = 0; i < n_commands; i++)
                (void)printf("  %-13s%s\n", commands[i].name, commands[i].summary);
        (void)printf(
                "\nTopics, each with some of the sandbox's options:\n%s"
                "\n'nsrun help SUBCOMMAND' and 'nsrun help TOPIC' list options; nsrun(1) has examples.\n"
                "Try: nsrun run -- ls -A /\n",
                text);
        return option_close_stdout();
}

int help_print_version(void) {
        (void)printf("nsrun %s\n", nsrun_version());
        return option_close_stdout();
}

static const char *said(const char *text) {
        return *text ? text : NULL;
}

/* What a report of a bug needs to have of the program. */
int help_print_version_json(void) {
        const struct {
                const char *name, *path;
        } helpers[] = {{"init", program_init()},
                       {"monitor", program_monitor()},
                       {"net", program_net()},
                       {"http", program_http()},
                       {"keys", program_keys()}};
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *headers =
                str_format("%d.%d", LINUX_VERSION_CODE >> 16, LINUX_VERSION_CODE >> 8 & 255);
        struct nsrun_error err = {0};
        struct json_value *o;

        json_add_number(&d, d.root, "version", 1);
        json_add_string(&d, d.root, "nsrun", nsrun_version());
        o = json_add_object(&d, d.root, "build");
        json_add_string(&d, o, "commit", said(BUILD_COMMIT));
        json_add_string(&d, o, "options", BUILD_OPTIONS);
        json_add_string(&d, o, "compiler", __VERSION__);
        json_add_string(&d, o, "kernel_headers", headers);
#ifdef __GLIBC__
        json_add_string(&d, o, "glibc", gnu_get_libc_version());
#endif
        json_add_string(&d, o, "libevent", said(BUILD_LIBEVENT));
        o = json_add_object(&d, d.root, "helpers");
        for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
                json_add_string(&d, o, helpers[i].name,
                                sys_is_executable(helpers[i].path) >= 0 ? helpers[i].path : NULL);
        return option_print_json(&d, true, &err) < 0 ? option_fail(&err) : option_close_stdout();
}

int help_answer(const struct command *command, const struct common_options *common) {
        return common->wants_version ? help_print_version() : help_print(help_text(command));
}

char *help_topic_text(const char *name) {
        const struct help_topic *topic = find_topic(name);
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_addf(&b, "nsrun help %s: %s\n", name,
                    topic ? topic->summary : "all of the sandbox's options");
        add_topic_options(&b, topic ? topic->group : NULL);
        strbuf_add(&b, "\nFor nsrun run, plan, bash, resolve and session start; see nsrun-run(1).\n");
        return strbuf_finish(&b);
}

static int print_subject(struct invocation *i, struct nsrun_error *err) {
        const char *const word = i->words[0];
        const struct command *subject = word ? command_find(word) : NULL;
        bool is_topic = word && (find_topic(word) || streq(word, topic_all));

        if (!word) {
                i->status = help_print_all();
                return 0;
        }
        if (!subject && !is_topic)
                return command_refuse(word, "no such subcommand or topic", NULL, err);
        if (i->words[1])
                return option_usage_error(NULL, i->words[1], "one subcommand or topic is enough", err);
        /* "seccomp" is both. */
        i->status = subject ? help_print(help_text(subject)) : 0;
        if (i->status != 0 || !is_topic)
                return 0;
        (void)fputs(subject ? "\n" : "", stdout);
        i->status = help_print(help_topic_text(word));
        return 0;
}

COMMAND_MAIN(help, NULL, .run = print_subject);
