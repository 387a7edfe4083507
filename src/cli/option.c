/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parser of every subcommand's options, and how an error is printed.  Knows
 * tables alone, no option by name but the common two. */
#include "option.h"

#include <fcntl.h>

#include "base/array.h"
#include "base/causes.h"
#include "base/nearest.h"
#include "owner.h"
#include "run/supervise.h"

char *program_arguments;
size_t program_arguments_size;

static int apply_common(void *target, const struct option_spec *spec, nsrun_unused const char *value,
                        nsrun_unused struct nsrun_error *err) {
        struct common_options *common = target;

        common->wants_help |= streq(spec->name, "help");
        common->wants_version |= streq(spec->name, "version");
        return 1;
}

const struct option_spec common_options[] = {
        {"help", 'h', NULL, OPTION_COMPLETES_NOTHING, "Help", "show this help", apply_common},
        {"version", 'V', NULL, OPTION_COMPLETES_NOTHING, "Help", "show the version", apply_common},
};
const size_t n_common_options = ARRAY_SIZE(common_options);

/* Ends the hint with a pointer to the help. */
static void point_to_help(const struct command *command, struct nsrun_error *err) {
        size_t n = strlen(err->hint);

        (void)snprintf(err->hint + n, sizeof(err->hint) - n, "%ssee 'nsrun %s%s--help'", n > 0 ? "; " : "",
                       command ? command->name : "", command ? " " : "");
}

int option_usage_error(const struct command *command, const char *word, const char *what,
                       struct nsrun_error *err) {
        return option_usage_hint(command, word, what, NULL, err);
}

int option_usage_hint(const struct command *command, const char *word, const char *what, const char *hint,
                      struct nsrun_error *err) {
        int r = error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), word, what, hint);

        point_to_help(command, err);
        return r;
}

const char *option_fd_number(const char *value) {
        static const char *const paths[] = {"/dev/fd/", "/proc/self/fd/", ""};
        const char *number = streq(value, "/dev/stdout") ? "1" : streq(value, "/dev/stderr") ? "2" : NULL;

        for (size_t i = 0; i < ARRAY_SIZE(paths) && !number; i++) {
                const char *rest = startswith(value, paths[i]);

                if (rest && *rest && rest[strspn(rest, "0123456789")] == '\0')
                        number = rest;
        }
        return number;
}

int option_fd(int *to, const struct option_spec *spec, const char *value, struct nsrun_error *err) {
        const char *number = option_fd_number(value);
        uint64_t fd;

        if (!number || str_parse_number(number, false, &fd) < 0 || fd > INT32_MAX)
                return option_refuse(spec, value, "not the number of a file descriptor", NULL, err);
        *to = (int)fd;
        return 0;
}

int option_pass_fd(struct passed_fds *to, const struct option_spec *spec, const char *value,
                   struct nsrun_error *err) {
        int fd, r = option_fd(&fd, spec, value, err);

        if (r < 0)
                return r;
        if (fd <= 2)
                return option_refuse(spec, value, "the command has descriptors 0, 1 and 2 anyway", NULL,
                                     err);
        /* Also in what nsrun itself may execute before the command. */
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
                return option_refuse(spec, value, "no such file descriptor is open", NULL, err);
        for (size_t i = 0; i < to->n; i++)
                if (to->fds[i] == fd)
                        return 0;
        if (ARRAY_GROW(to->fds, to->n) < 0)
                return error_oom(err);
        to->fds[to->n++] = fd;
        return 0;
}

int option_seconds(int *to, const struct option_spec *spec, const char *value, struct nsrun_error *err) {
        const char *digits = value + (*value == '-');
        char *end;
        long seconds;

        errno = 0;
        seconds = strtol(value, &end, 10);
        if (*digits < '0' || *digits > '9' || *end || errno != 0 || seconds > INT32_MAX ||
            seconds < INT32_MIN)
                return option_refuse(spec, value, "not a whole number of seconds", NULL, err);
        *to = (int)seconds;
        return 0;
}

int option_long_timeout(int *to, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err) {
        int r = option_seconds(to, spec, value, err);

        return r < 0 || *to >= 1 ? r
                                 : error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, NULL,
                                              "timeout must be >= 1, got %d", *to);
}

const struct option_spec *option_named(const struct command *command, const char *word, size_t *ret_table) {
        const char *name = startswith(word, "--");
        size_t length = name ? strcspn(name, "=") : 0;

        for (size_t t = 0; t < MOST_TABLES && command->tables[t].specs; t++)
                for (size_t i = 0; i < *command->tables[t].n; i++) {
                        const struct option_spec *spec = &command->tables[t].specs[i];

                        if (name ? strlen(spec->name) == length && memcmp(spec->name, name, length) == 0
                                 : word[0] == '-' && spec->letter && word[1] == spec->letter && !word[2]) {
                                if (ret_table)
                                        *ret_table = t;
                                return spec;
                        }
                }
        return NULL;
}

static int refuse_unknown_option(const struct command *command, const char *word, struct nsrun_error *err) {
        const char *name = startswith(word, "--");
        struct nearest near = {.word = name ? name : "", .length = name ? strcspn(name, "=") : 0};
        char said[NEAREST_SAID];

        for (size_t t = 0; t < MOST_TABLES && command->tables[t].specs; t++)
                for (size_t i = 0; i < *command->tables[t].n; i++)
                        nearest_try(&near, command->tables[t].specs[i].name);
        return option_usage_hint(command, word, "unknown option", nearest_say(&near, "--", said), err);
}

/* Whether the word can be the value of the option before it: what looks like an option may be one, forgotten
 * by who left the value out, and is never taken for it. */
static bool is_value(const char *word) {
        return word && !startswith(word, "--");
}

/* Applies the option at argv[*i], where it is this one's turn, and leaves *i at its last word. */
static int parse_one(const struct command *command, char **argv, void *const *targets, enum option_turn turn,
                     size_t *i, struct nsrun_error *err) {
        const char *word = argv[*i], *equals = strchr(word, '='), *value = NULL;
        size_t table = 0;
        const struct option_spec *spec = option_named(command, word, &table);
        bool is_policy, has_own = spec && spec->argument && equals && word[1] == '-';
        int r;

        if (has_own)
                value = equals + 1;
        else if (spec && spec->argument && is_value(argv[*i + 1]))
                value = argv[++*i];
        /* Skips what is wrongly used: the last turn reports it. */
        if (turn != OPTION_TURN_LAST && (!spec || !spec->argument != !value || spec->apply == apply_common))
                return 1;
        if (!spec)
                return refuse_unknown_option(command, word, err);
        if (spec->argument && !value)
                return option_usage_error(
                        command, word,
                        argv[*i + 1] ? "this option needs a value, behind '=' where it begins with '--'"
                                     : "this option needs a value",
                        err);
        if (!spec->argument && equals)
                return option_usage_error(command, word, "this option takes no value", err);
        is_policy = spec >= policy_options && spec < policy_options + n_policy_options;
        if ((is_policy ? option_turn(spec) : OPTION_TURN_LAST) != turn)
                return 0;
        r = is_policy ? policy_apply_option(targets[table], spec, value, err)
                      : spec->apply(targets[table], spec, value, err);
        if (r < 0 && err->stage == NSRUN_STAGE_USAGE)
                point_to_help(command, err);
        return r;
}

static int parse_pass(const struct command *command, char **argv, void *const *targets,
                      enum option_turn turn, size_t *ret_first, struct nsrun_error *err) {
        size_t i = 1;
        int r;

        for (; argv[i] && argv[i][0] == '-' && argv[i][1]; i++) {
                if (streq(argv[i], "--")) {
                        i++;
                        break;
                }
                r = parse_one(command, argv, targets, turn, &i, err);
                if (r != 0)
                        return r;
        }
        *ret_first = i;
        return 0;
}

size_t option_skip(const struct command *command, char *const *argv) {
        size_t i = 1;

        for (; argv[i] && argv[i][0] == '-' && argv[i][1]; i++) {
                const struct option_spec *spec = option_named(command, argv[i], NULL);

                if (streq(argv[i], "--"))
                        return i + 1;
                if (spec && spec->argument && !strchr(argv[i], '=') && is_value(argv[i + 1]))
                        i++;
        }
        return i;
}

/* The caller's own, before root becomes the project's owner. */
static int find_config(struct nsrun_policy *p, bool is_session, struct nsrun_error *err) {
        int r = nsrun_policy_find_config(p, err);

        return r < 0 || p->session || p->no_project || p->no_sandbox || policy_is_instance(p)
                       ? r
                       : owner_become(p->project, is_session, err);
}

int option_parse(const struct command *command, char **argv, void *const *targets, size_t *ret_first,
                 struct nsrun_error *err) {
        struct nsrun_error later = {0};
        size_t first;
        int r = 0;

        if (command->tables[0].specs == policy_options) {
                r = parse_pass(command, argv, targets, OPTION_TURN_FIRST, &first, err);
                if (r == 0)
                        r = parse_pass(command, argv, targets, OPTION_TURN_CONFIG, &first, err);
                if (r == 0)
                        r = find_config(targets[0], false, err);
        }
        if (r >= 0)
                return parse_pass(command, argv, targets, OPTION_TURN_LAST, ret_first, err);
        /* The options behind the wrong one are read all the same: --status-fd may be among them, and is to
         * report the failure. */
        (void)parse_pass(command, argv, targets, OPTION_TURN_LAST, &first, &later);
        return r;
}

/* Each run of options, and between them the words, behind "--" nothing else: `words` gets these, or
 * *ret_word the first. */
static int parse_between_words(const struct command *command, char **argv, void *const *targets,
                               enum option_turn turn, char **words, const char **ret_word,
                               struct nsrun_error *err) {
        size_t n = 0, first = 0;
        int r;

        do {
                bool is_last;

                r = parse_pass(command, argv, targets, turn, &first, err);
                if (r != 0)
                        return r;
                argv += first;
                is_last = first > 1 && streq(argv[-1], "--");
                for (; *argv && (is_last || !startswith(*argv, "--")); argv++, n++)
                        if (words)
                                words[n] = *argv;
                        else if (n == 0)
                                *ret_word = *argv;
                argv--; /* parse_pass() takes argv[0] for the subcommand's name and begins at argv[1] */
        } while (argv[1]);
        return 0;
}

/* The same where options may stand among the words, which words[] gets: it has room for all of argv.
 * The configuration that can be found is read where the first word is `configured`; NULL: never. */
static int option_parse_words(const struct command *command, char **argv, void *const *targets,
                              const char *configured, char **words, struct nsrun_error *err) {
        const char *word = "";
        int r = parse_between_words(command, argv, targets, OPTION_TURN_FIRST, NULL, &word, err);

        if (r == 0 && configured)
                r = parse_between_words(command, argv, targets, OPTION_TURN_CONFIG, NULL, &word, err);
        if (r == 0 && configured && streq(word, configured))
                r = find_config(targets[0], true, err);
        return r < 0 ? r : parse_between_words(command, argv, targets, OPTION_TURN_LAST, words, NULL, err);
}

int option_fail(const struct nsrun_error *err) {
        const struct cause *cause = error_find_cause(err);
        char *line = nsrun_error_format(err);

        (void)fflush(stdout);
        (void)fprintf(stderr, "nsrun: %s\n", line ? line : "out of memory");
        /* What ends doctor itself it can't tell about. */
        if (cause && cause != &causes[NSRUN_ERROR_SMALL_STACK])
                (void)fputs("nsrun: see nsrun doctor\n", stderr);
        free(line);
        return supervise_failure_status(err);
}

void print_visible(const char *before, const char *text, const char *after) {
        _cleanup_free_ char *visible = str_visible(text);

        (void)printf("%s%s%s", before, visible ? visible : "?", after);
}

int option_print_json(struct json_document *d, bool is_indented, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = json_finish(d, is_indented, &text, err);

        if (r >= 0)
                (void)printf("%s\n", text);
        return r;
}

int option_close_stdout(void) {
        struct nsrun_error err = {0};

        if (fflush(stdout) == 0 && !ferror(stdout))
                return 0;
        (void)error_set(&err, NSRUN_STAGE_USAGE, -errno, NULL, "the output can't be written", NULL);
        return option_fail(&err);
}

int command_refuse_words(const struct invocation *i, const char *what, struct nsrun_error *err) {
        return *i->words ? option_usage_error(i->command, *i->words, what, err) : 0;
}

int command_set(const struct invocation *i, struct nsrun_error *err) {
        return *i->words ? nsrun_policy_set_command(i->policy, (const char *const *)i->words, err)
                         : option_usage_error(i->command, NULL, "no command", err);
}

/* What each of the tables fills. */
static int parse_invocation(struct invocation *i, struct common_options *common, char **words,
                            struct nsrun_error *err) {
        void *targets[MOST_TABLES] = {NULL};
        size_t first = 0;
        int r;

        for (size_t t = 0; t < MOST_TABLES; t++)
                targets[t] = i->command->tables[t].specs == policy_options   ? (void *)i->policy
                             : i->command->tables[t].specs == common_options ? (void *)common
                                                                             : i->options;
        if (i->is_mixed)
                return option_parse_words(i->command, i->argv, targets, i->configured, words, err);
        r = option_parse(i->command, i->argv, targets, &first, err);
        if (r == 0)
                i->words = i->argv + first;
        return r;
}

int command_main(struct invocation *i) {
        _cleanup_free_ char **words = calloc(strv_length(i->argv) + 1, sizeof(char *));
        struct common_options common = {0};
        struct nsrun_error err = {0};
        int r = 0, status;

        i->words = words;
        if (!words || nsrun_policy_new(&i->policy) < 0)
                r = error_oom(&err);
        else if (i->prepare)
                i->prepare(i->policy);
        if (r == 0) {
                r = parse_invocation(i, &common, words, &err);
                if (r == 0)
                        r = i->run(i, &err);
                else if (r < 0 && i->failed)
                        r = i->failed(i, &err);
        }
        i->policy = nsrun_policy_free(i->policy);
        if (r >= 0 && (common.wants_help || common.wants_version))
                return help_answer(i->command, &common);
        status = r < 0 ? option_fail(&err) : option_close_stdout();
        if (r < 0 && i->failed_status != 0)
                return i->failed_status;
        return status != 0 ? status : i->status;
}
