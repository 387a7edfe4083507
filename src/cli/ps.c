/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun ps`, `inspect` and `stop`: all sandboxes of this user. */
#include <signal.h>

#include "base/array.h"
#include "base/sys.h"
#include "option.h"
#include "plan/print.h"
#include "run/query.h"
#include "run/sandboxes.h"
#include "session/session.h"
#include "session_ps.h"

/* More of a command line is for --json. */
#define SHOWN_MOST 100
/* How long one that runs is waited for to answer, and one that is told to end to do so. */
#define ANSWER_MS 500
#define END_MS    5000

struct ps_cli {
        bool wants_json;
};

static int cli_ps_apply_json(void *target, nsrun_unused const struct option_spec *spec,
                             nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct ps_cli *cli = target;

        cli->wants_json = true;
        return 0;
}

const struct option_spec ps_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print JSON", cli_ps_apply_json},
};
const size_t n_ps_options = ARRAY_SIZE(ps_options);

/* One line of the list. */
struct row {
        const struct sandbox_process *process;
        char *id;
        const char *kind;
        char *project, *net; /* NULL: unknown */
        char *const *command;
};

static void row_clear(struct row *row) {
        free(row->id);
        free(row->project);
        free(row->net);
}

/* ---------------------------------------------------------------- what is known */

/* The words behind the options; of what has none of nsrun's all of them. */
static char *const *command_of(const struct sandbox_process *p) {
        const struct command *command;
        char *const *words;

        if (!p->argv || p->kind != SANDBOX_RUN || !p->argv[1])
                return p->argv;
        command = command_find(p->argv[1]);
        words = command ? p->argv + 1 + option_skip(command, p->argv + 1) : p->argv;
        /* A shell has no words of its own: its line is how it was asked for. */
        return *words ? words : p->argv + 1;
}

/* Only these read signals, and answer. */
static bool can_answer(const struct sandbox_process *p) {
        return p->kind == SANDBOX_RUN && !p->is_stopped && p->argv && p->argv[1] &&
               (streq(p->argv[1], "run") || streq(p->argv[1], "shell"));
}

static int ps_ask(const struct sandbox_process *p, enum query what, char **ret) {
        _cleanup_close_ int pidfd = sys_pidfd_open(p->supervisor);

        return pidfd < 0 ? pidfd : query_ask(pidfd, p->supervisor, what, ANSWER_MS, ret);
}

/* What nsrun-bwrap's command line says of the network. */
static const char *bwrap_net(char *const *argv) {
        bool has_own = strv_contains(argv, "--unshare-net") ||
                       (strv_contains(argv, "--unshare-all") && !strv_contains(argv, "--share-net"));

        return strv_contains(argv, "--args") ? NULL : has_own ? "none" : "host";
}

static const char *const net_words[] = {
        [POLICY_NET_HOST] = "host", [POLICY_NET_NONE] = "none", [POLICY_NET_ALLOW] = "allow"};

/* What the records say of the sessions: each is read once, however many sandboxes are listed. */
struct known_session {
        pid_t init;
        char *id, *project;
        enum policy_net net;
};

struct known_sessions {
        struct known_session *items;
        size_t n;
};

static void known_sessions_free(struct known_sessions *known) {
        for (size_t i = 0; i < known->n; i++) {
                free(known->items[i].id);
                free(known->items[i].project);
        }
        free(known->items);
}

/* One whose record can't be read has ended meanwhile. */
static int known_sessions_read(char *const *ids, struct known_sessions *known) {
        int r = 0;

        STRV_FOREACH (id, ids) {
                struct record_folder folder = RECORD_FOLDER_INIT;
                struct plan_record record = {0};

                if (session_read(*id, &folder, &record, NULL) >= 0) {
                        struct known_session one = {.init = record.init.pid, .net = record.plan->net};

                        one.id = strdup(*id);
                        one.project = record.plan->project ? strdup(record.plan->project) : NULL;
                        r = !one.id || (record.plan->project && !one.project) ||
                                            ARRAY_GROW(known->items, known->n) < 0
                                    ? -ENOMEM
                                    : 0;
                        if (r >= 0)
                                known->items[known->n++] = one;
                        else {
                                free(one.id);
                                free(one.project);
                        }
                }
                record_clear(&record);
                records_close(&folder);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A session is told by its pid 1. */
static int fill_session(struct row *row, const struct known_sessions *known) {
        for (size_t i = 0; i < known->n; i++) {
                const struct known_session *one = &known->items[i];

                if (one->init != row->process->init)
                        continue;
                row->id = strdup(one->id);
                row->project = one->project ? strdup(one->project) : NULL;
                row->net = strdup(net_words[one->net]);
                return row->id && row->net && (row->project || !one->project) ? 0 : -ENOMEM;
        }
        return 0;
}

static int fill_row(struct row *row, const struct known_sessions *known) {
        static const char *const kinds[] = {[SANDBOX_RUN] = "run",
                                            [SANDBOX_BWRAP] = "bwrap",
                                            [SANDBOX_SESSION] = "session",
                                            [SANDBOX_LIBRARY] = "library"};
        const struct sandbox_process *p = row->process;
        _cleanup_free_ char *facts = NULL;
        int r = 0;

        row->kind = kinds[p->kind];
        if (p->kind == SANDBOX_RUN && p->argv && p->argv[1] && command_find(p->argv[1]))
                row->kind = command_find(p->argv[1])->name;
        if (p->kind == SANDBOX_SESSION)
                r = fill_session(row, known);
        if (can_answer(p) && ps_ask(p, QUERY_FACTS, &facts) >= 0) {
                row->project = query_fact(facts, "project", NULL);
                row->net = query_fact(facts, "net", NULL);
        }
        if (p->kind == SANDBOX_BWRAP && p->argv && bwrap_net(p->argv))
                row->net = strdup(bwrap_net(p->argv));
        if (r >= 0 && !row->project && p->cwd && p->kind != SANDBOX_SESSION)
                row->project = strdup(p->cwd);
        if (p->kind != SANDBOX_SESSION)
                row->command = command_of(p);
        if (r >= 0 && !row->id && asprintf(&row->id, "%d", (int)p->supervisor) < 0) {
                row->id = NULL;
                r = -ENOMEM;
        }
        return r;
}

/* ------------------------------------------------------------------- printed */

static char *shown_words(char *const *words) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL, *visible = NULL;
        size_t n = SHOWN_MOST;

        for (char *const *word = words; word && *word; word++) {
                strbuf_add(&b, word == words ? "" : " ");
                strbuf_add(&b, *word);
        }
        text = strbuf_finish(&b);
        if (!text || strlen(text) <= n)
                return text ? str_visible(text) : NULL;
        while (n > SHOWN_MOST - 4 && ((unsigned char)text[n] & 0xc0) == 0x80)
                n--;
        text[n] = '\0';
        visible = str_visible(text);
        return visible ? str_concat(visible, "...", "") : NULL;
}

static int print_row(const struct row *row) {
        const struct sandbox_process *p = row->process;
        char age[SHORT_SIZE], memory[SHORT_SIZE];
        _cleanup_free_ char *project = str_visible(row->project ? row->project : "-"),
                            *command = shown_words(row->command);

        if (!project || !command)
                return -ENOMEM;
        (void)printf("%-12s %-7s %5s %4llu.%llu %5zu %6s %-5s  %s%s%s%s\n", row->id, row->kind,
                     short_age(p->age, age), (unsigned long long)p->cpu_ms / 1000,
                     (unsigned long long)p->cpu_ms % 1000 / 100, p->n_processes,
                     short_size(p->memory, false, memory), row->net ? row->net : "-", project,
                     *command ? "  " : "", command, p->is_stopped ? " (stopped)" : "");
        return 0;
}

static void add_row(struct json_document *d, struct json_value *array, const struct row *row) {
        const struct sandbox_process *p = row->process;
        struct json_value *o = json_add_object(d, array, NULL);

        json_add_string(d, o, "id", row->id);
        json_add_string(d, o, "kind", row->kind);
        json_add_number(d, o, "supervisor", (uint64_t)p->supervisor);
        json_add_number(d, o, "init", (uint64_t)p->init);
        json_add_bool(d, o, "stopped", p->is_stopped);
        json_add_number(d, o, "age", p->age);
        json_add_number(d, o, "cpu_ms", p->cpu_ms);
        json_add_number(d, o, "memory", p->memory);
        json_add_number(d, o, "processes", p->n_processes);
        json_add_string(d, o, "net", row->net);
        json_add_string(d, o, "project", row->project);
        if (row->command)
                json_add_strings(d, o, "command", row->command);
}

static int ps_print_list(const struct sandbox_process *list, size_t n, bool wants_json,
                         struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_strv_ char **ids = NULL;
        _cleanup_free_ char *text = NULL;
        _cleanup_(known_sessions_free) struct known_sessions known = {0};
        struct json_value *array = NULL;
        int r = nsrun_session_list(&ids, err);

        if (r >= 0 && known_sessions_read(ids, &known) < 0)
                r = error_oom(err);
        if (r >= 0 && wants_json)
                r = json_open(&d, err);
        if (r < 0)
                return r;
        if (wants_json)
                array = json_add_array(&d, d.root, "sandboxes");
        else if (n > 0)
                (void)printf("%-12s %-7s %5s %6s %5s %6s %-5s  %s\n", "ID", "KIND", "AGE", "CPU", "PROCS",
                             "MEMORY", "NET", "PROJECT  COMMAND");
        else if (isatty(STDOUT_FILENO))
                (void)fputs("nsrun: none of your sandboxes runs\n", stderr);
        for (size_t i = 0; i < n && r >= 0; i++) {
                _cleanup_(row_clear) struct row row = {.process = &list[i]};

                r = fill_row(&row, &known);
                if (r >= 0 && wants_json)
                        add_row(&d, array, &row);
                else if (r >= 0)
                        r = print_row(&row);
        }
        if (r < 0)
                return error_oom(err);
        r = wants_json ? json_finish(&d, false, &text, err) : 0;
        if (text)
                (void)printf("%s\n", text);
        return r;
}

/* ------------------------------------------------------------------- one of them */

static int unknown(const char *id, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ENOENT), id, "no such sandbox",
                         "'nsrun ps' lists them");
}

static int find_one(const char *id, const struct sandbox_process *list, size_t n,
                    const struct sandbox_process **ret, struct nsrun_error *err) {
        uint64_t number;

        if (str_parse_number(id, false, &number) >= 0)
                for (size_t i = 0; i < n; i++)
                        if ((uint64_t)list[i].supervisor == number && list[i].kind != SANDBOX_SESSION) {
                                *ret = &list[i];
                                return 0;
                        }
        return unknown(id, err);
}

/* A name is a session's: no process id can be one. */
static bool is_session_name(const char *id) {
        return *id < '0' || *id > '9';
}

static int print_plan_of(const struct nsrun_plan *plan, char *const *degraded, bool wants_json,
                         struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = nsrun_plan_format(plan, wants_json ? NSRUN_FORMAT_JSON : NSRUN_FORMAT_TEXT, &text, err);

        if (r < 0)
                return r;
        STRV_FOREACH (entry, (char **)degraded) {
                _cleanup_free_ char *words = wants_json ? NULL : nsrun_degraded_format(*entry);

                if (words)
                        (void)printf("degraded: %s\n", words);
        }
        (void)printf("%s%s", text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
        return 0;
}

static bool is_unknown_session(const char *id) {
        struct record_folder folder = RECORD_FOLDER_INIT;
        struct plan_record record = {0};
        int r = session_read(id, &folder, &record, NULL);

        record_clear(&record);
        records_close(&folder);
        return r == -ENOENT;
}

static int inspect_session(const char *id, bool wants_json, struct nsrun_error *err) {
        struct record_folder folder = RECORD_FOLDER_INIT;
        struct plan_record record = {0};
        _cleanup_strv_ char **answers = NULL;
        int r = session_read(id, &folder, &record, err);

        /* In JSON they are 'session show''s. */
        if (r >= 0 && !wants_json)
                (void)nsrun_session_answers(id, &answers, NULL);
        STRV_FOREACH (answer, answers)
                (void)printf("answered: %s\n", *answer);
        if (r >= 0)
                r = print_plan_of(record.plan, record.plan->degraded, wants_json, err);
        record_clear(&record);
        records_close(&folder);
        return r;
}

/* The plan of a bubblewrap command line is that line. */
static int inspect_bwrap(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        int r = wants_json ? json_open(&d, err) : 0;

        if (r < 0)
                return r;
        if (wants_json) {
                json_add_strings(&d, d.root, "arguments", p->argv);
                r = json_finish(&d, true, &text, err);
                if (r >= 0)
                        (void)puts(text);
                return r;
        }
        for (char *const *word = p->argv; word && *word; word++) {
                _cleanup_free_ char *quoted = str_shell_quote(*word), *visible = NULL;

                visible = quoted ? str_visible(quoted) : NULL;
                if (!visible)
                        return error_oom(err);
                (void)printf("%s%s", word == p->argv ? "" : " ", visible);
        }
        (void)putchar('\n');
        return 0;
}

static int inspect_run(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err) {
        _cleanup_free_ char *answer = NULL;
        const char *plan, *at = NULL;
        char *entry;
        int r;

        if (p->is_stopped)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EBUSY, NULL,
                                 "the nsrun of this sandbox is stopped, and answers nothing",
                                 "let it go on: fg, or bg");
        if (!can_answer(p))
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EOPNOTSUPP, NULL,
                                 "only 'nsrun run', 'nsrun shell', sessions and nsrun-bwrap tell their plan",
                                 NULL);
        r = ps_ask(p, wants_json ? QUERY_JSON : QUERY_TEXT, &answer);
        plan = r < 0 ? NULL : startswith(answer, "\n") ? answer : strstr(answer, "\n\n");
        if (!plan)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r < 0 ? r : -EBADMSG, NULL,
                                 "the nsrun of this sandbox doesn't answer",
                                 "it may be another version, or not have begun yet");
        while (!wants_json && (entry = query_fact(answer, "degraded", &at))) {
                _cleanup_free_ char *words = nsrun_degraded_format(entry);

                (void)printf("degraded: %s\n", words ? words : entry);
                free(entry);
        }
        plan += strspn(plan, "\n");
        (void)printf("%s%s", plan, *plan && plan[strlen(plan) - 1] == '\n' ? "" : "\n");
        return 0;
}

/* The processes to be ended, each by a descriptor of what was looked at. */
struct ending {
        struct pollfd *ends; /* [0]: whoever waits for the sandbox */
        size_t n;
        const struct sandbox_process *one;
};

static bool is_member(const struct sandbox_process *p, const struct sandbox_member *member) {
        for (size_t i = 0; i < p->n_members; i++)
                if (p->members[i].pid == member->pid && p->members[i].start == member->start)
                        return true;
        return false;
}

/* Who was listed before its descriptor was opened and is listed after that is what the descriptor means. */
static void keep_members(struct ending *e, const struct sandbox_process *again, size_t n) {
        const struct sandbox_process *same = NULL;

        for (size_t i = 0; i < n; i++)
                if (again[i].supervisor == e->one->supervisor && again[i].start == e->one->start)
                        same = &again[i];
        for (size_t i = 1; i < e->n; i++)
                if (!same || !is_member(same, &e->one->members[i - 1]))
                        close_fdp(&e->ends[i].fd);
}

static void signal_members(const struct ending *e, int signal) {
        for (size_t i = 1; i < e->n; i++)
                if (e->ends[i].fd >= 0)
                        (void)sys_pidfd_send_signal(e->ends[i].fd, signal);
}

/* Waits for END_MS milliseconds at most.  `all`: for the members, too. */
static void await_ends(const struct ending *e, bool all) {
        for (size_t i = 0; i < (all ? e->n : 1); i++) {
                struct pollfd end = e->ends[i];

                if (end.fd >= 0 && sys_poll(&end, 1, END_MS) <= 0)
                        return;
        }
}

static bool has_ended(int pidfd) {
        return sys_pidfd_send_signal(pidfd, 0) == -ESRCH;
}

/* SIGTERM as whoever started it would send it.  bubblewrap's way is to leave its command alone when it ends
 * itself: all of that one get it.  Then pid 1 is killed, with which the kernel kills all that runs in the
 * sandbox, and its nsrun lives on and cleans up. */
static int end_all(struct ending *e) {
        const struct sandbox_process *p = e->one;
        int supervisor = e->ends[0].fd;
        bool is_bwrap = p->kind == SANDBOX_BWRAP;
        int r = sys_pidfd_send_signal(supervisor, SIGTERM);

        if (r >= 0 && p->is_stopped)
                r = sys_pidfd_send_signal(supervisor, SIGCONT);
        if (is_bwrap)
                signal_members(e, SIGTERM);
        await_ends(e, is_bwrap);
        if (is_bwrap || (r >= 0 && !has_ended(supervisor))) {
                signal_members(e, SIGKILL);
                await_ends(e, true);
        }
        return r == -ESRCH ? 0 : r;
}

static int stop_one(const struct sandbox_process *p, int pidfd, struct nsrun_error *err) {
        struct ending e = {.ends = calloc(p->n_members + 1, sizeof(struct pollfd)), .one = p};
        struct sandbox_process *again = NULL;
        size_t n = 0;
        int r;

        if (!e.ends)
                return error_oom(err);
        e.n = p->n_members + 1;
        e.ends[0] = (struct pollfd){.fd = pidfd, .events = POLLIN};
        for (size_t i = 1; i < e.n; i++)
                e.ends[i] = (struct pollfd){.fd = sys_pidfd_open(p->members[i - 1].pid), .events = POLLIN};
        r = p->kind == SANDBOX_LIBRARY ? error_set(err, NSRUN_STAGE_SUPERVISE, -EOPNOTSUPP, NULL,
                                                   "this sandbox is another program's, which ends it",
                                                   "end that program, or kill its pid 1")
                                       : sandboxes_list(&again, &n, err);
        if (r >= 0) {
                keep_members(&e, again, n);
                r = end_all(&e);
                if (r < 0)
                        r = error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the sandbox can't be ended",
                                      NULL);
        }
        sandboxes_free(again, n);
        for (size_t i = 1; i < e.n; i++)
                close_fdp(&e.ends[i].fd);
        free(e.ends);
        return r;
}

static int stop_session(const char *id, struct nsrun_error *err) {
        _cleanup_strv_ char **notes = NULL;
        int r = nsrun_session_end(id, 0, &notes, err);

        STRV_FOREACH (note, notes)
                (void)fprintf(stderr, "nsrun: note: %s\n", *note);
        return r;
}

/* Finds what the one word names, and stops or inspects it. */
static int do_one(const char *id, bool is_stop, bool wants_json, struct nsrun_error *err) {
        _cleanup_close_ int pidfd = -EBADF;
        const struct sandbox_process *one = NULL;
        struct sandbox_process *list = NULL;
        uint64_t number = 0;
        size_t n = 0;
        int r;

        if (is_session_name(id) && is_unknown_session(id))
                return unknown(id, err);
        if (is_session_name(id))
                return is_stop ? stop_session(id, err) : inspect_session(id, wants_json, err);
        /* Before the look: what is found then is the process that gets the signal, or that one is gone. */
        if (str_parse_number(id, false, &number) >= 0 && number <= INT32_MAX)
                pidfd = sys_pidfd_open((pid_t)number);
        r = sandboxes_list(&list, &n, err);
        if (r >= 0)
                r = find_one(id, list, n, &one, err);
        if (r >= 0)
                r = is_stop                      ? stop_one(one, pidfd, err)
                    : one->kind == SANDBOX_BWRAP ? inspect_bwrap(one, wants_json, err)
                                                 : inspect_run(one, wants_json, err);
        sandboxes_free(list, n);
        return r;
}

/* ------------------------------------------------------------------ subcommands */

int ps_main(const struct command *command, char **argv) {
        struct common_options common = {0};
        struct sandbox_process *list = NULL;
        struct nsrun_error err = {0};
        struct ps_cli cli = {0};
        size_t first = 0, n = 0;
        int r = option_parse(command, argv, (void *const[]){&cli, &common}, &first, &err);

        if (r == 0 && argv[first])
                r = option_usage_error(command, argv[first], "an argument too many", &err);
        if (r > 0)
                return help_answer(command, &common);
        if (r == 0)
                r = sandboxes_list(&list, &n, &err);
        if (r == 0)
                r = ps_print_list(list, n, cli.wants_json, &err);
        sandboxes_free(list, n);
        return r < 0 ? option_fail(&err) : option_close_stdout();
}

static int one_main(const struct command *command, char **argv, void *const *targets, const bool *wants_json,
                    const struct common_options *common, bool is_stop) {
        struct nsrun_error err = {0};
        size_t first = 0;
        int r = option_parse(command, argv, targets, &first, &err);

        if (r == 0 && !argv[first])
                r = option_usage_error(command, NULL, "the id of a sandbox is missing", &err);
        if (r == 0 && argv[first + 1])
                r = option_usage_error(command, argv[first + 1], "an argument too many", &err);
        if (r > 0)
                return help_answer(command, common);
        if (r == 0)
                r = do_one(argv[first], is_stop, *wants_json, &err);
        return r < 0 ? option_fail(&err) : option_close_stdout();
}

int inspect_main(const struct command *command, char **argv) {
        struct common_options common = {0};
        struct ps_cli cli = {0};

        return one_main(command, argv, (void *const[]){&cli, &common}, &cli.wants_json, &common, false);
}

int stop_main(const struct command *command, char **argv) {
        struct common_options common = {0};
        const bool wants_json = false;

        return one_main(command, argv, (void *const[]){&common}, &wants_json, &common, true);
}
