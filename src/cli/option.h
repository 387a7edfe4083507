/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The subcommands and their option tables, and the one parser of them. */
#pragma once

#include "base/json.h"
#include "policy/options.h"

/* What nsrun exits with when it failed itself. */
#define EXIT_NSRUN     125
#define EXIT_NOT_FOUND 127

#define MOST_TABLES 3

/* Where the kernel keeps the program's argv; main fills it. */
extern char *program_arguments;
extern size_t program_arguments_size;

struct option_table {
        const struct option_spec *specs;
        const size_t *n;
};

struct command;
typedef int command_runs(const struct command *command, char **argv);

struct command {
        const char *name;
        const char *arguments; /* how usage shows what follows the name: a form a line */
        const char *summary;   /* one line */
        const char *words;     /* what the first argument may be, "bash|zsh|fish"; "PATH": paths; or NULL */
        bool takes_command;    /* another program's command line follows the options */
        struct option_table tables[MOST_TABLES];
        command_runs *run;
};

extern const struct command commands[];
extern const size_t n_commands;

/* NULL where there is none. */
const struct command *command_find(const char *name);

/* --help and --version, of every subcommand. */
struct common_options {
        bool wants_help;
        bool wants_version;
};
extern const struct option_spec common_options[];
extern const size_t n_common_options;

/* Options of one subcommand each: their targets are in the files of the same names. */
extern const struct option_spec run_options[], plan_options[], resolve_options[], toolchains_options[],
        agents_options[], seccomp_options[], session_options[], bash_options[], mcp_options[],
        doctor_options[], config_options[], learn_options[], log_options[], ps_options[], review_options[],
        grant_options[], revoke_options[], home_options[];
extern const size_t n_run_options, n_plan_options, n_resolve_options, n_toolchains_options, n_agents_options,
        n_seccomp_options, n_session_options, n_bash_options, n_mcp_options, n_doctor_options,
        n_config_options, n_learn_options, n_log_options, n_ps_options, n_review_options, n_grant_options,
        n_revoke_options, n_home_options;

/* Each returns the exit status.  argv[0] is the subcommand's name. */
command_runs run_main, shell_main, learn_main, ps_main, inspect_main, stop_main, grant_main, revoke_main,
        home_main, plan_main, bash_main, resolve_main, toolchains_main, agents_main, config_main, net_main,
        seccomp_main, mcp_main, session_main, log_main, review_main, doctor_main, completion_main, help_main;
/* `nsrun session ask`: asks at this terminal until the session ends. */
int session_ask_here(const char *id, struct nsrun_error *err);
/* Prints what is kept aside of one project. */
int review_print_of(const char *project, bool is_json, struct nsrun_error *err);
/* Puts what lies in the folder on the host at `path`, when a person has seen it and says yes at the
 * terminal; `project` is who keeps it meanwhile.  -ENOENT, with *err unfilled: there is nothing. */
#define REVIEW_OF_HOME "home"
int review_accept_from(const char *project, const char *path, const char *reason, int folder,
                       const char *name, struct nsrun_error *err);
/* Writes down what a person did outside of any run: `members` are names and texts, of which NULL is left
 * out, until a name is NULL. */
void log_by_hand(const char *event, const char *const *members);
/* So many paths of a session, whose project may be NULL. */
void log_committed(const char *session, const char *project, size_t n);
#define LOG_BY_HAND(event, ...) log_by_hand(event, (const char *const[]){__VA_ARGS__, NULL})

/* Reads argv[1] and what follows up to "--" or the first word that is no option.
 * targets[i] is what the i-th table fills.  0 with the index of the first word left;
 * 1 where --help or --version was met; -errno with *err filled. */
int option_parse(const struct command *command, char **argv, void *const *targets, size_t *ret_first,
                 struct nsrun_error *err);

/* The option that a word names ("--ro", "--ro=x", "-v"), and which of the command's tables has it (may be
 * NULL); NULL: none. */
const struct option_spec *option_named(const struct command *command, const char *word, size_t *ret_table);

/* The index of the first word behind the options, none of which is obeyed. */
size_t option_skip(const struct command *command, char *const *argv);

/* How a subcommand is called, and what is its own between the command line and the exit status. */
struct invocation {
        const struct command *command;
        char **argv;
        void *options; /* what the subcommand's own table fills */
        /* Before the command line is read; NULL: nothing is to be done. */
        void (*prepare)(struct nsrun_policy *policy);
        bool is_mixed;          /* options may stand among the words, */
        const char *configured; /* with this first word the configuration that can be found is read */
        int (*run)(struct invocation *i, struct nsrun_error *err);
        /* Instead of it where the command line is wrong: 0 where that is answered by this; NULL: it isn't.
         */
        int (*failed)(struct invocation *i, struct nsrun_error *err);
        /* What command_main() has for run() and failed(): */
        struct nsrun_policy *policy; /* filled where the options are a policy's, too */
        char **words;                /* behind the options; none for failed() */
        int status;                  /* to be exited with */
        int failed_status;           /* the same where run() fails; 0: the one that fits the error */
};
/* A subcommand from its argv to its exit status: the policy, the options, --help and --version, how an error
 * is told, and whether standard output took all. */
int command_main(struct invocation *i);
/* NAME_main() of a subcommand that needs no more than that: `own` points to its options as they begin. */
#define COMMAND_MAIN(name, own, ...)                                                       \
        int name##_main(const struct command *command, char **argv) {                      \
                return command_main(&(struct invocation){                                  \
                        .command = command, .argv = argv, .options = (own), __VA_ARGS__}); \
        }                                                                                  \
        struct invocation
/* Refuses a word behind the options; else 0. */
int command_refuse_words(const struct invocation *i, const char *what, struct nsrun_error *err);
/* Gives the words to the policy as its command. */
int command_set(const struct invocation *i, struct nsrun_error *err);

/* Fills *err with "what: word; see 'nsrun NAME --help'"; `command` may be NULL. -EINVAL. */
int option_usage_error(const struct command *command, const char *word, const char *what,
                       struct nsrun_error *err);
/* The same with a hint before that of the help; NULL: none. */
int option_usage_hint(const struct command *command, const char *word, const char *what, const char *hint,
                      struct nsrun_error *err);
/* The same of a subcommand that there isn't, with the one that was meant, or else `otherwise`; NULL:
 * nothing. */
int command_refuse(const char *word, const char *what, const char *otherwise, struct nsrun_error *err);

/* Prints "nsrun: …" on stderr and returns the exit status that fits. */
int option_fail(const struct nsrun_error *err);

/* The apply of an option that sets a field of its target: to true, or to its value. */
#define OPTION_SETS(name, type, field, to)                                                      \
        static int name(void *target, nsrun_unused const struct option_spec *spec,              \
                        nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) { \
                ((type *)target)->field = (to);                                                 \
                return 0;                                                                       \
        }                                                                                       \
        struct option_spec
#define OPTION_FLAG(name, type, field) OPTION_SETS(name, type, field, true)
#define OPTION_TEXT(name, type, field) OPTION_SETS(name, type, field, value)

/* The apply of an option whose value parse() reads into a field. */
#define OPTION_READS(name, type, field, parse)                                           \
        static int name(void *target, const struct option_spec *spec, const char *value, \
                        struct nsrun_error *err) {                                       \
                return parse(&((type *)target)->field, spec, value, err);                \
        }                                                                                \
        struct option_spec

/* --pass-fd of `nsrun run` and `nsrun bash`: descriptors from 3 on that are open. */
struct passed_fds {
        int *fds;
        size_t n;
};
int option_pass_fd(struct passed_fds *to, const struct option_spec *spec, const char *value,
                   struct nsrun_error *err);

/* The digits in what names a descriptor: its number, /dev/fd/NUMBER and the like (a shell's <(…)),
 * /dev/stderr; NULL: it names none. */
const char *option_fd_number(const char *value);
/* The number of a descriptor, named so. */
int option_fd(int *to, const struct option_spec *spec, const char *value, struct nsrun_error *err);

/* --timeout where a command may take days, and where it may not: any whole number of seconds. */
int option_long_timeout(int *to, const struct option_spec *spec, const char *value, struct nsrun_error *err);
int option_seconds(int *to, const struct option_spec *spec, const char *value, struct nsrun_error *err);

/* Prints a text made fit to print, between two that are. */
void print_visible(const char *before, const char *text, const char *after);
/* Prints a document and a newline. */
int option_print_json(struct json_document *d, bool is_indented, struct nsrun_error *err);

/* Flushes stdout. Returns 0, or the exit status after saying what went wrong. */
int option_close_stdout(void);

/* The answers to --help and --version; each returns an exit status. */
int help_print_all(void);
int help_print_version(void);
int help_print_version_json(void);
int help_answer(const struct command *command, const struct common_options *common);

/* What may stand at the last of the words behind "nsrun", a line each; NULL: no memory. */
char *completion_words(char *const *words);
/* The text of `nsrun NAME --help`. */
char *help_text(const struct command *command);
/* The page of the manual that has the subcommand: "nsrun-run(1)". */
const char *help_page(const struct command *command);
/* That of `nsrun help TOPIC`, the name of a topic; of any other: that of all. */
char *help_topic_text(const char *name);
