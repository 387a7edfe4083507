/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun ps`, `inspect` and `stop`: all sandboxes of this user. */
#include <fcntl.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "option.h"
#include "plan/print.h"
#include "ps_row.h"
#include "running/plan_shown.h"
#include "session/session.h"
#include "session_ps.h"

/* How long one that is told to end is waited for to do so. */
#define END_MS 5000

struct ps_cli {
        bool wants_json;
};

OPTION_FLAG(cli_ps_apply_json, struct ps_cli, wants_json);

const struct option_spec ps_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print JSON", cli_ps_apply_json},
};
const size_t n_ps_options = ARRAY_SIZE(ps_options);

static int print_row(const struct ps_row *row) {
        const struct sandbox_process *p = row->process;
        char age[SHORT_SIZE], memory[SHORT_SIZE];
        _cleanup_free_ char *words = ps_row_words(row);

        if (!words)
                return -ENOMEM;
        (void)printf("%-12s %-7s %5s %4llu.%llu %5zu %6s %-5s  %s\n", row->id, row->kind,
                     short_age(p->age, age), (unsigned long long)p->cpu_ms / 1000,
                     (unsigned long long)p->cpu_ms % 1000 / 100, p->n_processes,
                     short_size(p->memory, false, memory), row->net ? row->net : "-", words);
        return 0;
}

static void add_row(struct json_document *d, struct json_value *array, const struct ps_row *row) {
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
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_(known_sessions_free) struct known_sessions known = {0};
        struct json_value *array = NULL;
        int r = known_sessions_read(&known, err);

        if (r < 0)
                return r;
        if (wants_json)
                array = json_add_array(&d, d.root, "sandboxes");
        else if (n > 0)
                (void)printf("%-12s %-7s %5s %6s %5s %6s %-5s  %s\n", "ID", "KIND", "AGE", "CPU", "PROCS",
                             "MEMORY", "NET", PS_ROW_HEADS);
        else if (isatty(STDOUT_FILENO))
                (void)fputs("nsrun: none of your sandboxes runs\n", stderr);
        for (size_t i = 0; i < n && r >= 0; i++) {
                _cleanup_(ps_row_clear) struct ps_row row = {.process = &list[i]};

                r = ps_row_fill(&row, &known);
                if (r >= 0 && wants_json)
                        add_row(&d, array, &row);
                else if (r >= 0)
                        r = print_row(&row);
        }
        if (r < 0)
                return error_oom(err);
        return wants_json ? option_print_json(&d, false, err) : 0;
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
                        if ((uint64_t)ps_number(&list[i]) == number && list[i].kind != SANDBOX_SESSION) {
                                *ret = &list[i];
                                return 0;
                        }
        return unknown(id, err);
}

/* A name is a session's: no process id can be one. */
static bool is_session_name(const char *id) {
        return *id < '0' || *id > '9';
}

static bool is_unknown_session(const char *id) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};

        return session_read(id, &folder, &record, NULL) == -ENOENT;
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

/* ------------------------------------------------------------------ its plan */

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

/* What it was granted since; in JSON that is the plan's. */
static int add_granted(pid_t waiter, pid_t init, struct nsrun_plan *plan, struct nsrun_error *err) {
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        int r = 0;

        /* What has no plan to show was granted nothing. */
        if (widen_open(waiter, init, sys_pidfd_open(init), false, &w, NULL) < 0)
                return 0;
        for (size_t i = 0; i < w.granted.n && r >= 0; i++) {
                const struct granted *g = &w.granted.items[i];

                bool is_begun = granted_is_network(g) && !g->is_shown;

                /* Whoever began it may have been killed: that it isn't there can't be known. */
                if (!g->has_ended && (is_begun || (g->is_shown && g->is_live)))
                        r = strv_consume(&plan->granted, str_format("--%s %s%s", g->option, g->path,
                                                                    is_begun ? " (begun)" : ""));
        }
        return r < 0 ? error_oom(err) : 0;
}

static int inspect_session(const char *id, bool wants_json, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_strv_ char **answers = NULL;
        int r = session_read(id, &folder, &record, err);

        /* In JSON they are 'session show''s. */
        if (r >= 0 && !wants_json)
                (void)nsrun_session_answers(id, &answers, NULL);
        STRV_FOREACH (answer, answers)
                (void)printf("answered: %s\n", *answer);
        if (r >= 0)
                r = add_granted(record.monitor.pid, record.init.pid, record.plan, err);
        return r < 0 ? r : print_plan_of(record.plan, record.plan->degraded, wants_json, err);
}

/* The plan of a bubblewrap command line is that line. */
static int inspect_bwrap(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();

        if (wants_json) {
                json_add_strings(&d, d.root, "arguments", p->argv);
                return option_print_json(&d, true, err);
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

static int inspect_sandbox(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_strv_ char **degraded = NULL;
        int r;

        if (p->kind == SANDBOX_BWRAP)
                return inspect_bwrap(p, wants_json, err);
        r = shown_read(p->supervisor, p->init, &plan, &degraded, err);
        if (r < 0)
                return r;
        r = add_granted(p->supervisor, p->init, plan, err);
        if (r < 0)
                return r;
        /* As text the lines before it have them. */
        if (wants_json) {
                strv_freep(&plan->degraded);
                plan->degraded = TAKE_PTR(degraded);
        }
        return print_plan_of(plan, degraded, wants_json, err);
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
                return is_stop ? cli_end_session(id, 0, err) : inspect_session(id, wants_json, err);
        /* Before the look: what is found then is the process that gets the signal, or that one is gone. */
        if (str_parse_number(id, false, &number) >= 0 && number <= INT32_MAX)
                pidfd = sys_pidfd_open((pid_t)number);
        r = sandboxes_list(&list, &n, err);
        if (r >= 0)
                r = find_one(id, list, n, &one, err);
        if (r >= 0)
                r = is_stop ? stop_one(one, pidfd, err) : inspect_sandbox(one, wants_json, err);
        sandboxes_free(list, n);
        return r;
}

static int find_processes(const char *id, pid_t *ret_waiter, pid_t *ret_init, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        const struct sandbox_process *one = NULL;
        struct sandbox_process *list = NULL;
        size_t n = 0;
        int r;

        if (is_session_name(id)) {
                r = is_unknown_session(id) ? unknown(id, err) : session_read(id, &folder, &record, err);
                *ret_waiter = record.monitor.pid;
                *ret_init = record.init.pid;
                return r;
        }
        r = sandboxes_list(&list, &n, err);
        if (r >= 0)
                r = find_one(id, list, n, &one, err);
        if (r >= 0 && one->kind == SANDBOX_BWRAP)
                r = error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EOPNOTSUPP), id,
                              "what a sandbox of nsrun-bwrap has is decided by whoever started it", NULL);
        if (r >= 0) {
                *ret_waiter = one->supervisor;
                *ret_init = one->init;
        }
        sandboxes_free(list, n);
        return r;
}

/* What fails for want of descriptors would look like something else. */
static int judge_descriptors(struct nsrun_error *err) {
        int fds[64], r;
        size_t n = 0;

        while (n < ARRAY_SIZE(fds) && (fds[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
                n++;
        r = n < ARRAY_SIZE(fds) ? -errno : 0;
        while (n > 0)
                (void)close(fds[--n]);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "file descriptors are needed",
                                 error_limit_hint(RLIMIT_NOFILE, 2 * ARRAY_SIZE(fds)))
                     : 0;
}

/* Who was found before its descriptor was opened, and is found after that, is what the descriptor means. */
int ps_open(const char *id, struct widened *ret, struct nsrun_error *err) {
        pid_t waiter = 0, init = 0, again = 0;
        int r = judge_descriptors(err), pidfd = -EBADF;

        if (r >= 0)
                r = find_processes(id, &waiter, &init, err);
        if (r >= 0)
                pidfd = sys_pidfd_open(init);
        if (r >= 0)
                r = find_processes(id, &waiter, &again, err);
        if (r >= 0 && (pidfd < 0 || again != init))
                r = error_set(err, NSRUN_STAGE_SUPERVISE, -ESRCH, NULL, "the sandbox has ended", NULL);
        if (r >= 0)
                return widen_open(waiter, init, pidfd, true, ret, err);
        close_fdp(&pidfd);
        return r;
}

/* ------------------------------------------------------------------ subcommands */

static int run_ps(struct invocation *i, struct nsrun_error *err) {
        const struct ps_cli *cli = i->options;
        struct sandbox_process *list = NULL;
        size_t n = 0;
        int r = command_refuse_words(i, "an argument too many", err);

        if (r == 0)
                r = sandboxes_list(&list, &n, err);
        if (r == 0)
                r = ps_print_list(list, n, cli->wants_json, err);
        sandboxes_free(list, n);
        return r;
}

/* `options` are inspect's: stop has none. */
static int run_one(struct invocation *i, struct nsrun_error *err) {
        const struct ps_cli *cli = i->options;

        if (!i->words[0])
                return option_usage_error(i->command, NULL, "the id of a sandbox is missing", err);
        if (i->words[1])
                return option_usage_error(i->command, i->words[1], "an argument too many", err);
        return do_one(i->words[0], !cli, cli && cli->wants_json, err);
}

COMMAND_MAIN(ps, &(struct ps_cli){0}, .run = run_ps);

COMMAND_MAIN(inspect, &(struct ps_cli){0}, .run = run_one);

COMMAND_MAIN(stop, NULL, .run = run_one);
