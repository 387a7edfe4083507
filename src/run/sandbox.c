/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's running sandbox.  Its callers have threads and signals of their own, so this file
 * changes neither. */
#include <sys/wait.h>

#include "base/loop.h"
#include "base/programs.h"
#include "run.h"
#include "sized.h"
#include "terminal/asking.h"
#include "widen/widen_net.h"

/* Copies the caller's struct, which may be of another release, into one of this release
 * (sized_take()); NULL stands for the defaults. */
static int start_read_options(const struct nsrun_start_options *options, struct nsrun_start_options *ret,
                              struct nsrun_error *err) {
        if (options)
                return sized_take(ret, sizeof(*ret), options, "nsrun_start_options", err);
        *ret = (struct nsrun_start_options)NSRUN_START_OPTIONS_INIT;
        return 0;
}

struct nsrun_sandbox {
        struct run run;
        pid_t init; /* of the session that the command has joined; 0: of none */
        int (*ask)(const char *name, const char *program, void *data);
        int (*ask_file)(const char *path, const char *folder, const char *program, void *data);
        void *data;
};

static struct nsrun_sandbox *sandbox_new(void) {
        struct nsrun_sandbox *s = calloc(1, sizeof(*s));

        if (s)
                s->run = RUN_INIT;
        return s;
}

struct sandbox_waiting {
        struct nsrun_sandbox *sandbox;
        struct nsrun_error *err;
        bool is_for_start, has_started;
};

static int sandbox_take_question(void *data, nsrun_unused short revents) {
        struct nsrun_sandbox *s = ((struct sandbox_waiting *)data)->sandbox;

        if (question_call(s->run.network.life_fd, s->init ? s->init : s->run.launch.pid, s->run.launch.pid,
                          s->ask, s->data, NULL) < 0)
                s->ask = NULL;
        return 0;
}

static int sandbox_take_report(void *data, nsrun_unused short revents) {
        struct sandbox_waiting *w = data;
        struct launch_report report;
        int r = run_take_report(&w->sandbox->run, &report, w->err);

        w->has_started |= r > 0 && report.kind == LAUNCH_STARTED;
        return r < 0 ? r : r == 0 || (w->is_for_start && w->has_started);
}

static enum file_answer sandbox_ask_file(nsrun_unused struct run *run, const struct file_question *q,
                                         struct file_wish *wish, void *data) {
        const struct nsrun_sandbox *s = data;
        int answer = s->ask_file(q->path, *q->folder ? q->folder : NULL, q->program, s->data);

        if (answer == 2)
                memcpy(wish->path, q->folder, sizeof(wish->path));
        return answer < 0 ? FILE_NEVER : answer == 1 || *wish->path ? FILE_YES : FILE_NO;
}

static int sandbox_take_file(void *data, short revents) {
        run_take_denial(&((struct sandbox_waiting *)data)->sandbox->run, revents);
        return 0;
}

static int sandbox_take_appeared(void *data, nsrun_unused short revents) {
        run_take_appeared(&((struct sandbox_waiting *)data)->sandbox->run);
        return 0;
}

static int sandbox_tell_awaited(struct loop *l, void *data) {
        const struct sandbox_waiting *w = data;
        const struct nsrun_sandbox *s = w->sandbox;

        loop_add(l, s->ask && !w->is_for_start ? s->run.network.life_fd : -1, POLLIN, sandbox_take_question);
        loop_add(l, s->run.files ? denials_fd(&s->run.launch, s->run.listener) : -1, POLLIN,
                 sandbox_take_file);
        loop_add(l, w->is_for_start ? -1 : protected_fd(&s->run.protected), POLLIN, sandbox_take_appeared);
        loop_add(l, s->run.launch.report_fd, POLLIN, sandbox_take_report);
        return s->run.has_exited;
}

/* Before the command runs its calls are asked about: that of its start is one. */
static int sandbox_await_start(struct nsrun_sandbox *s, struct nsrun_error *err) {
        struct sandbox_waiting w = {.sandbox = s, .err = err, .is_for_start = true};
        int r = s->run.files ? loop_run(sandbox_tell_awaited, &w) : 0;

        return r < 0 || w.has_started ? r : run_await_start(&s->run, NULL, err);
}

nsrun_public int nsrun_start(const struct nsrun_plan *plan, const struct nsrun_start_options *options,
                             struct nsrun_sandbox **ret, struct nsrun_error *error) {
        struct nsrun_start_options own;
        struct run_params params = {
                .launch = {.terminal_fd = -1, .wants_started = true, .init_path = program_init()}};
        struct nsrun_sandbox *s;
        int r = start_read_options(options, &own, error);

        if (r < 0)
                return r;
        if (own.stdio[0] >= 0 || own.stdio[1] >= 0 || own.stdio[2] >= 0)
                params.launch.stdio = own.stdio;
        params.launch.pass_fds = own.pass_fds;
        params.launch.n_pass_fds = own.n_pass_fds;
        params.can_ask = own.ask;
        params.asks_files = own.ask_file;
        params.asks_to_read = true;
        s = sandbox_new();
        if (!s)
                return error_oom(error);
        s->ask = own.ask;
        s->ask_file = own.ask_file;
        s->data = own.data;
        params.ask_file = sandbox_ask_file;
        params.ask_data = s;
        s->init = plan->join ? plan->join->init.pid : 0;
        /* may_move stays false: the process is the host program's, and so is its cgroup. */
        r = run_begin(plan, &params, &s->run, error);
        if (r >= 0)
                r = sandbox_await_start(s, error);
        if (r < 0) {
                (void)nsrun_sandbox_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

nsrun_public const char *const *nsrun_sandbox_notes(const struct nsrun_sandbox *sandbox) {
        static const char *const none[] = {NULL};

        return sandbox->run.notes ? (const char *const *)sandbox->run.notes : none;
}

nsrun_public const char *const *nsrun_sandbox_degraded(const struct nsrun_sandbox *sandbox) {
        static const char *const none[] = {NULL};

        return sandbox->run.degraded ? (const char *const *)sandbox->run.degraded : none;
}

nsrun_public int nsrun_sandbox_is_confined(const struct nsrun_sandbox *sandbox) {
        return !sandbox->run.is_plain;
}

nsrun_public int nsrun_sandbox_pidfd(const struct nsrun_sandbox *sandbox) {
        return sandbox->run.launch.pidfd;
}

nsrun_public int nsrun_sandbox_kill(const struct nsrun_sandbox *sandbox, int signal) {
        return sandbox->run.is_gone ? -ESRCH : launch_signal(&sandbox->run.launch, signal);
}

static const char *const granted_options[] = {"ro", "rw", "overlay", "allow", "publish"},
                         *const granted_paths[] = {"ro", "rw", "overlay"};

static int grant_usage(const char *word, const char *what, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), word, what, NULL);
}

static int own_open(const struct nsrun_sandbox *s, struct widened *ret, struct nsrun_error *err) {
        if (s->init || s->run.is_plain)
                return grant_usage(NULL, "grants are for a sandbox of the command's own", err);
        if (s->run.is_gone)
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-ESRCH), NULL, "the sandbox has ended",
                                 NULL);
        return widen_open(getpid(), s->run.launch.pid, sys_pidfd_open(s->run.launch.pid), true, ret, err);
}

nsrun_public int nsrun_grant(struct nsrun_sandbox *sandbox, const char *option, const char *path,
                             struct nsrun_error *error) {
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        int r;

        if (!STR_IS_ANY(option, granted_options))
                return grant_usage(option, "not one of ro, rw, overlay, allow and publish", error);
        r = own_open(sandbox, &w, error);
        if (r >= 0 && !STR_IS_ANY(option, granted_paths))
                return widen_net_grant(&w, option, path, NULL, error);
        return r < 0 ? r : widen_grant(&w, option, path, NULL, &sandbox->run.notes, NULL, error);
}

nsrun_public int nsrun_revoke(struct nsrun_sandbox *sandbox, const char *path, struct nsrun_error *error) {
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        const char *allow = path ? startswith(path, "--allow ") : NULL,
                   *publish = path ? startswith(path, "--publish ") : NULL;
        int r = own_open(sandbox, &w, error);

        if (r >= 0 && (allow || publish))
                return widen_net_revoke(&w, allow ? "allow" : "publish", allow ? allow : publish, NULL,
                                        error);
        return r < 0 ? r : widen_revoke_path(&w, path, &sandbox->run.notes, error);
}

/* Waits until the command has ended, and all that it started.  run->has_exited says whether the
 * command's own status is known; the pidfd tells the end also in a host that ignores SIGCHLD. */
static int sandbox_await_end(struct nsrun_sandbox *s, struct nsrun_error *err) {
        struct sandbox_waiting w = {.sandbox = s, .err = err};
        int r = loop_run(sandbox_tell_awaited, &w);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun can't wait", NULL);
        (void)run_wait(&s->run);
        return 0;
}

nsrun_public int nsrun_sandbox_wait(struct nsrun_sandbox *sandbox, struct nsrun_exit *ret,
                                    struct nsrun_error *error) {
        int r = sandbox_await_end(sandbox, error), status = sandbox->run.status;

        if (r < 0)
                return r;
        if (!sandbox->run.has_exited)
                return error_set(error, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                 "the sandbox was killed, and the command with it", NULL);
        if (WIFSIGNALED(status))
                *ret = (struct nsrun_exit){.code = -1, .signal = WTERMSIG(status)};
        else
                *ret = (struct nsrun_exit){.code = WEXITSTATUS(status)};
        return 0;
}

nsrun_public struct nsrun_sandbox *nsrun_sandbox_free(struct nsrun_sandbox *sandbox) {
        if (sandbox)
                run_end(&sandbox->run);
        free(sandbox);
        return NULL;
}
