/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun session`: sandboxes that stay, and what became of their overlays. */
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/sys.h"
#include "carry/versions.h"
#include "plan/print.h"
#include "session/log.h"
#include "session/session.h"
#include "session_ps.h"
#include "shell.h"
#include "terminal/asking.h"

enum {
        COUNT_MS = 2000, /* as long as any source is waited for */
};

/* The status of a commit that --expect refused. */
#define STATUS_OTHER_STATE 123

struct session_cli {
        struct nsrun_policy *policy;
        struct nsrun_session_options options;
        const char *output; /* the option that was given of these: --json, --stat, --patch */
        bool wants_json;
        enum nsrun_diff form;
        bool is_forced;
        bool with_ignored;
        bool wants_digest;
        bool follows;
        const char *expected; /* a digest */
        int signal;           /* 0: none was given */
        int status;           /* what nsrun exits with, unless it fails */
        sigset_t held;        /* signals that wait for the end of a commit */
};

static int apply_number(const struct option_spec *spec, const char *value, unsigned long most,
                        unsigned long *ret, struct nsrun_error *err) {
        unsigned long number;
        char *end;

        errno = 0;
        number = strtoul(value, &end, 10);
        if (errno != 0 || *value < '0' || *value > '9' || *end || number < 1 || number > most)
                return option_refuse(spec, value, "no number of that kind", NULL, err);
        *ret = number;
        return 0;
}

OPTION_TEXT(apply_name, struct session_cli, options.name);

static int apply_idle_timeout(void *target, const struct option_spec *spec, const char *value,
                              struct nsrun_error *err) {
        struct session_cli *cli = target;
        unsigned long seconds = 0;
        int r = apply_number(spec, value, UINT32_MAX, &seconds, err);

        cli->options.idle_timeout = (unsigned)seconds;
        return r;
}

static int apply_owner(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct session_cli *cli = target;
        unsigned long pid = 0;
        int r = apply_number(spec, value, INT32_MAX, &pid, err);

        cli->options.owner = (pid_t)pid;
        return r;
}

static int apply_form(void *target, const struct option_spec *spec, nsrun_unused const char *value,
                      nsrun_unused struct nsrun_error *err) {
        struct session_cli *cli = target;

        cli->output = spec->name;
        cli->wants_json = streq(spec->name, "json");
        cli->form = cli->wants_json             ? NSRUN_DIFF_JSON
                    : streq(spec->name, "stat") ? NSRUN_DIFF_STAT
                                                : NSRUN_DIFF_PATCH;
        return 0;
}

OPTION_FLAG(apply_force, struct session_cli, is_forced);
OPTION_FLAG(apply_ignored, struct session_cli, with_ignored);
OPTION_FLAG(apply_digest, struct session_cli, wants_digest);
OPTION_FLAG(apply_follow, struct session_cli, follows);
OPTION_TEXT(apply_expect, struct session_cli, expected);

static int apply_signal(void *target, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err) {
        struct session_cli *cli = target;

        cli->signal = signal_parse(value);
        return cli->signal > 0 ? 0
                               : option_refuse(spec, value, "no signal", "TERM, SIGTERM or 15, say", err);
}

const struct option_spec session_options[] = {
        {"name", 0, "NAME", OPTION_COMPLETES_NOTHING, "Starting",
         "what the session is called, instead of eight letters", apply_name},
        {"idle-timeout", 0, "SECONDS", OPTION_COMPLETES_NOTHING, "Starting",
         "end the session when no command has run in it for so long", apply_idle_timeout},
        {"owner", 0, "PID", OPTION_COMPLETES_NOTHING, "Starting", "end the session when this process ends",
         apply_owner},
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "list, show, ps, logs, review, diff: print JSON", apply_form},
        {"stat", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "diff: count the lines that were added and removed", apply_form},
        {"patch", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "diff: print a patch, for git apply",
         apply_form},
        {"ignored", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "diff, commit: also what git ignores, and its logs and new objects, which else are only counted",
         apply_ignored},
        {"digest", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "diff: print a digest last, for commit --expect", apply_digest},
        {"follow", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "logs ID NAME: go on printing until nothing more can come", apply_follow},
        {"signal", 0, "SIGNAL", OPTION_COMPLETES_NOTHING, "Ending",
         "kill ID PID|NAME: send this signal, instead of TERM", apply_signal},
        {"expect", 0, "DIGEST", OPTION_COMPLETES_NOTHING, "Committing",
         "commit: exactly what diff --digest showed, or nothing", apply_expect},
        {"force", 0, NULL, OPTION_COMPLETES_NOTHING, "Committing",
         "commit: overwrite what the host has changed since the session began", apply_force},
};
const size_t n_session_options = ARRAY_SIZE(session_options);

static int cli_start_session(struct session_cli *cli, nsrun_unused char **words, struct nsrun_error *err) {
        _cleanup_free_ char *id = NULL;
        _cleanup_strv_ char **notes = NULL;
        int r = nsrun_session_start(cli->policy, &cli->options, &id, &notes, err);

        strv_tell(notes, "note");
        if (r >= 0)
                (void)printf("%s\n", id);
        return r;
}

static const struct {
        const char *word, *meaning;
} commands_words[] = {
        [NSRUN_COMMANDS_SHARED] = {"shared", "signal and trace each other"},
        [NSRUN_COMMANDS_UNTRACED] = {"untraced", "signal each other, and don't trace (Landlock)"},
        [NSRUN_COMMANDS_ISOLATED] = {"isolated", "isolated from each other"},
};

static void add_info(struct json_document *d, struct json_value *o, const struct nsrun_session_info *info,
                     const struct nsrun_session_usage *usage) {
        json_add_string(d, o, "id", info->id);
        json_add_string(d, o, "project", info->project);
        json_add_string(d, o, "run_directory", info->rundir);
        json_add_number(d, o, "monitor", (uint64_t)info->monitor);
        json_add_number(d, o, "init", (uint64_t)info->init);
        json_add_number(d, o, "started", (uint64_t)info->started);
        json_add_number(d, o, "idle", info->idle);
        json_add_number(d, o, "idle_timeout", info->idle_timeout);
        json_add_number(d, o, "owner", (uint64_t)info->owner);
        json_add_bool(d, o, "nested", info->is_nested);
        json_add_string(d, o, "commands", commands_words[info->commands].word);
        print_json_add_degraded(d, o, info->degraded);
        session_add_usage(d, o, info, usage);
}

/* What a session takes; a session that is ending takes nothing. */
static struct nsrun_session_usage usage_of(const char *id) {
        struct nsrun_session_usage usage = NSRUN_SESSION_USAGE_INIT;

        (void)nsrun_session_usage(id, &usage, NULL);
        return usage;
}

static int list_sessions(struct session_cli *cli, nsrun_unused char **words, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_strv_ char **ids = NULL;
        struct json_value *array = NULL;
        int r = nsrun_session_list(&ids, err);

        if (cli->wants_json)
                array = json_add_array(&d, d.root, "sessions");
        else if (ids)
                session_print_header();
        else if (r >= 0 && isatty(STDOUT_FILENO))
                (void)fputs("nsrun: none of your sessions runs\n", stderr);
        if (r < 0)
                return r;
        STRV_FOREACH (id, ids) {
                struct nsrun_session_info *info = NULL;
                struct nsrun_session_usage usage;

                /* A session that has ended since it was listed is skipped. */
                if (nsrun_session_show(*id, &info, NULL) < 0)
                        continue;
                usage = usage_of(*id);
                if (cli->wants_json)
                        add_info(&d, json_add_object(&d, array, NULL), info, &usage);
                else
                        session_print_row(info, &usage);
                (void)nsrun_session_info_free(info);
        }
        return cli->wants_json ? option_print_json(&d, false, err) : 0;
}

static int show_session(struct session_cli *cli, char **words, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        struct nsrun_session_info *info = NULL;
        _cleanup_strv_ char **ports = NULL, **answers = NULL;
        struct nsrun_session_usage usage;
        int r = nsrun_session_show(words[0], &info, err);

        if (r < 0)
                return r;
        usage = usage_of(words[0]);
        /* Of a network that has ended nothing is published, and no answer counts. */
        (void)nsrun_session_published(words[0], &ports, NULL);
        (void)nsrun_session_answers(words[0], &answers, NULL);
        if (cli->wants_json) {
                add_info(&d, d.root, info, &usage);
                json_add_strings(&d, d.root, "published", ports);
                json_add_strings(&d, d.root, "answers", answers);
                r = option_print_json(&d, false, err);
        } else {
                _cleanup_free_ char *project = str_visible(info->project ? info->project : "none");
                _cleanup_free_ char *rundir = str_visible(info->rundir ? info->rundir : "none");

                (void)printf("id:           %s\nproject:      %s\nfolder:       %s\nmonitor:      %d\n"
                             "pid 1:        %d\nidle:         %llu s\nidle timeout: %u s\nowner:        %d\n"
                             "commands:     %s\n",
                             info->id, project ? project : "", rundir ? rundir : "", (int)info->monitor,
                             (int)info->init, info->idle, info->idle_timeout, (int)info->owner,
                             commands_words[info->commands].meaning);
                STRV_FOREACH (entry, info->degraded) {
                        _cleanup_free_ char *words_of = nsrun_degraded_format(*entry);

                        (void)printf("degraded:     %s\n", words_of ? words_of : *entry);
                }
                STRV_FOREACH (port, ports)
                        (void)printf("published:    %s\n", *port);
                STRV_FOREACH (answer, answers)
                        (void)printf("answered:     %s\n", *answer);
                session_print_usage(info, &usage);
        }
        (void)nsrun_session_info_free(info);
        return r;
}

int cli_end_session(const char *id, int is_kill, struct nsrun_error *err) {
        _cleanup_strv_ char **notes = NULL;
        int r = nsrun_session_end(id, is_kill, &notes, err);

        strv_tell(notes, "note");
        return r;
}

/* How many changes a diff of the session has now, those that can't be committed too. */
static size_t count_changes(const char *id) {
        _cleanup_close_ int fd = memfd_create("changes", MFD_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t size = 0, n = 0;

        if (fd < 0 || nsrun_session_diff(id, NSRUN_DIFF_LIST, NULL, fd, NULL) < 0 ||
            lseek(fd, 0, SEEK_SET) < 0 || read_bytes_fd(fd, INT32_MAX, &text, &size) < 0)
                return 0;
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
                n += *line >= 'A' && *line <= 'Z' && line[1] && strchr(" !?", line[1]);
        return n;
}

/* The same within a bound: an overlay's folder may lie on a file system that doesn't answer.  0: not known.
 */
static size_t count_in_time(const char *id) {
        _cleanup_close_ int from = -EBADF, to = -EBADF;
        int fds[2], r = sys_pipe(fds);
        size_t n = 0;
        pid_t pid;

        if (r < 0)
                return 0;
        from = fds[0];
        to = fds[1];
        pid = fork();
        if (pid == 0) {
                n = count_changes(id);
                _exit(write(to, &n, sizeof(n)) == sizeof(n) ? 0 : 1);
        }
        close_fdp(&to);
        if (pid < 0)
                return 0;
        r = loop_await(from, POLLIN, COUNT_MS);
        if (r <= 0 || read(from, &n, sizeof(n)) != sizeof(n))
                n = 0;
        /* Nobody waits for one that the kernel holds. */
        if (r <= 0)
                (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, r <= 0 ? WNOHANG : 0);
        return n;
}

static int cli_stop_session(nsrun_unused struct session_cli *cli, char **words, struct nsrun_error *err) {
        size_t n = count_in_time(words[0]);
        int r = cli_end_session(words[0], 0, err);

        if (r >= 0 && n > 0)
                (void)fprintf(stderr,
                              "nsrun: note: %zu change%s in the session's overlays %s not committed, and %s "
                              "gone\n",
                              n, n == 1 ? "" : "s", n == 1 ? "was" : "were", n == 1 ? "is" : "are");
        return r;
}

static int kill_session(struct session_cli *cli, char **words, struct nsrun_error *err) {
        if (words[1] && log_is_name(words[1]) && cli->signal == 0)
                return nsrun_session_end_detached(words[0], words[1], err);
        if (words[1])
                return session_send_signal(words[0], words[1], cli->signal > 0 ? cli->signal : SIGTERM, err);
        return cli_end_session(words[0], 1, err);
}

static int publish(nsrun_unused struct session_cli *cli, char **words, struct nsrun_error *err) {
        _cleanup_strv_ char **ports = NULL;
        int r = 0;

        for (char **port = words + 1; *port && r >= 0; port++)
                r = nsrun_session_publish(words[0], *port, err);
        if (r >= 0 && !words[1])
                r = nsrun_session_published(words[0], &ports, err);
        STRV_FOREACH (port, ports)
                (void)printf("%s\n", *port);
        return r;
}

static int ask_here(nsrun_unused struct session_cli *cli, char **words, struct nsrun_error *err) {
        return session_ask_here(words[0], err);
}

static int enter(struct session_cli *cli, char **words, struct nsrun_error *err) {
        return shell_enter(words[0], &cli->status, err);
}

static int list_processes(struct session_cli *cli, char **words, struct nsrun_error *err) {
        return session_print_processes(words[0], cli->wants_json, err);
}

static int logs(struct session_cli *cli, char **words, struct nsrun_error *err) {
        const char *id = words[0], *name = words[1];
        _cleanup_free_ char *text = NULL;
        int r;

        if (name && cli->wants_json)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), name,
                                 "--json is for the list of logs: one of them is printed as it is",
                                 "leave it out");
        if (!name && cli->follows)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 "--follow needs the NAME of a log",
                                 "'nsrun session logs ID' shows those there are");
        if (name)
                return nsrun_session_log(id, name, cli->follows, STDOUT_FILENO, err);
        r = nsrun_session_logs(id, cli->wants_json ? NSRUN_FORMAT_JSON : NSRUN_FORMAT_TEXT, &text, err);
        if (r >= 0)
                (void)printf(cli->wants_json ? "%s\n" : "%s", text);
        return r;
}

static int diff(struct session_cli *cli, char **words, struct nsrun_error *err) {
        const struct nsrun_session_choice choice = {.size = sizeof(choice),
                                                    .paths = (const char *const *)words + 1,
                                                    .with_ignored = cli->with_ignored,
                                                    .by_person = isatty(STDIN_FILENO)};
        _cleanup_free_ char *digest = NULL;
        int r = nsrun_session_diff_choice(words[0], cli->form, &choice, STDOUT_FILENO,
                                          cli->wants_digest ? &digest : NULL, err);

        /* A line that programs which read a patch skip. */
        if (digest && !cli->wants_json)
                (void)printf("# digest: %s\n", digest);
        return r;
}

/* Prints an outcome's notes and conflicts, after success and after failure. */
static void tell(const char *verb, struct nsrun_session_outcome *outcome, bool has_failed) {
        strv_tell(outcome->notes, "note");
        strv_tell(outcome->conflicts, "conflict");
        if (!has_failed || outcome->n_applied > 0)
                (void)printf("%s %zu path%s\n", verb, outcome->n_applied,
                             outcome->n_applied == 1 ? "" : "s");
        nsrun_session_outcome_clear(outcome);
}

/* A commit and a discard end by themselves when such a signal is pending, and clean up. */
static void hold_signals(struct session_cli *cli) {
        static const int all[] = {SIGHUP, SIGINT, SIGTERM};
        sigset_t old;

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct sigaction action;

                /* Blocked, an ignored one would be pending, too. */
                if (sigaction(all[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
                        (void)sigaddset(&cli->held, all[i]);
        }
        (void)sigprocmask(SIG_BLOCK, &cli->held, &old);
        /* Signals that were blocked when nsrun was started stay blocked. */
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (sigismember(&old, all[i]) == 1)
                        (void)sigdelset(&cli->held, all[i]);
}

static int commit(struct session_cli *cli, char **words, struct nsrun_error *err) {
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        struct nsrun_session_info *info = NULL;
        const struct nsrun_session_choice choice = {.size = sizeof(choice),
                                                    .paths = (const char *const *)words + 1,
                                                    .with_ignored = cli->with_ignored,
                                                    .is_forced = cli->is_forced,
                                                    .digest = cli->expected,
                                                    .by_person = isatty(STDIN_FILENO)};
        int r;

        hold_signals(cli);
        r = nsrun_session_commit_choice(words[0], &choice, &outcome, err);
        (void)nsrun_session_show(words[0], &info, NULL);
        log_committed(words[0], info ? info->project : NULL, outcome.n_applied);
        (void)nsrun_session_info_free(info);
        tell("committed", &outcome, r < 0);
        return r;
}

static int discard(struct session_cli *cli, char **words, struct nsrun_error *err) {
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        int r;

        hold_signals(cli);
        r = nsrun_session_discard(words[0], (const char *const *)words + 1, &outcome, err);
        tell("discarded", &outcome, r < 0);
        return r;
}

/* What is kept aside of the session's project; folders that its commands have versions of, as they are now.
 */
static int review_kept(struct session_cli *cli, char **words, struct nsrun_error *err) {
        struct record_folder folder = RECORD_FOLDER_INIT;
        struct plan_record record = {0};
        const struct nsrun_plan *plan;
        int r = session_read(words[0], &folder, &record, err);

        plan = record.plan;
        if (r >= 0 && record.rundir && versions_look(plan, record.rundir) < 0)
                (void)fputs("nsrun: note: more is kept aside when the session ends than can be shown now\n",
                            stderr);
        if (r >= 0)
                r = review_print_of(plan->project ? plan->project : "/", cli->wants_json, err);
        record_clear(&record);
        records_close(&folder);
        return r;
}

struct action {
        const char *name;
        size_t fewest, most; /* words that follow */
        bool takes_json;
        int (*run)(struct session_cli *cli, char **words, struct nsrun_error *err);
};

static const struct action actions[] = {
        {"start", 0, 0, .run = cli_start_session},
        {"enter", 1, 1, .run = enter},
        {"list", 0, 0, .takes_json = true, .run = list_sessions},
        {"show", 1, 1, .takes_json = true, .run = show_session},
        {"stop", 1, 1, .run = cli_stop_session},
        {"kill", 1, 2, .run = kill_session},
        {"ps", 1, 1, .takes_json = true, .run = list_processes},
        {"publish", 1, SIZE_MAX, .run = publish},
        {"ask", 1, 1, .run = ask_here},
        {"logs", 1, 2, .takes_json = true, .run = logs},
        {"review", 1, 1, .takes_json = true, .run = review_kept},
        {"diff", 1, SIZE_MAX, .takes_json = true, .run = diff},
        {"commit", 1, SIZE_MAX, .run = commit},
        {"discard", 1, SIZE_MAX, .run = discard},
};

#define ACTION_NAMES \
        "start, enter, list, show, ps, stop, kill, publish, ask, logs, review, diff, commit or discard"

/* What an action has no use for is a mistake: `commit --stat` would commit. */
static int check_options(const struct command *command, const struct action *action, size_t n_words,
                         const struct session_cli *cli, struct nsrun_error *err) {
        bool is_diff = action->run == diff, is_commit = action->run == commit;
        bool is_json = cli->output && streq(cli->output, "json");
        const struct {
                bool is_mistake;
                const char *why;
        } all[] = {
                {action->run != cli_start_session && (cli->options.name || cli->options.idle_timeout > 0 ||
                                                      cli->options.owner > 0 || cli->policy->given),
                 "options of a policy are for 'session start' alone"},
                {is_json && !action->takes_json,
                 "--json is for list, show, ps, logs, review and diff alone"},
                {cli->output && !is_json && !is_diff, "--stat and --patch are for diff alone"},
                {cli->is_forced && !is_commit, "--force is for commit alone"},
                {cli->with_ignored && !is_diff && !is_commit, "--ignored is for diff and commit alone"},
                {cli->wants_digest && !is_diff, "--digest is for diff alone"},
                /* 'session kill ID' ends the session, and a PID that is an empty variable's is none. */
                {cli->signal > 0 && (action->run != kill_session || n_words < 2),
                 "--signal is for 'session kill ID PID|NAME' alone"},
                {cli->follows && action->run != logs, "--follow is for logs alone"},
                {cli->expected && !is_commit, "--expect is for commit alone"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (all[i].is_mistake)
                        return option_usage_error(command, action->name, all[i].why, err);
        return 0;
}

static int run_action(struct invocation *invocation, struct nsrun_error *err) {
        const struct command *command = invocation->command;
        struct session_cli *cli = invocation->options;
        char **words = invocation->words;
        size_t n = strv_length(words);
        int r;

        cli->policy = invocation->policy;
        if (n == 0)
                return option_usage_error(command, NULL, ACTION_NAMES " is missing", err);
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                if (!streq(words[0], actions[i].name))
                        continue;
                if (n - 1 < actions[i].fewest)
                        return option_usage_error(command, words[0], "an argument is missing", err);
                if (n - 1 > actions[i].most)
                        return option_usage_error(command, words[actions[i].most + 1],
                                                  "an argument too many", err);
                r = check_options(command, &actions[i], n - 1, cli, err);
                if (r >= 0)
                        r = actions[i].run(cli, words + 1, err);
                invocation->status = cli->status;
                invocation->failed_status = r == -ECANCELED ? STATUS_OTHER_STATE : 0;
                return r;
        }
        return option_usage_error(command, words[0], "neither " ACTION_NAMES, err);
}

int session_main(const struct command *command, char **argv) {
        struct session_cli options = {.options = NSRUN_SESSION_OPTIONS_INIT};
        int status;

        (void)sigemptyset(&options.held);
        status = command_main(&(struct invocation){.command = command,
                                                   .argv = argv,
                                                   .options = &options,
                                                   .run = run_action,
                                                   .is_mixed = true,
                                                   .configured = "start"});
        /* Everything has been printed: a signal that came during the commit ends nsrun now. */
        (void)sigprocmask(SIG_UNBLOCK, &options.held, NULL);
        return status;
}
