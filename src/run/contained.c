/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A launch that lingers, with its reports and its questions about denied calls. */
#include "contained.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/sys.h"

enum {
        FD_REPORT,
        FD_LISTENER,
};
_Static_assert(FD_LISTENER < COMMAND_SOURCE_FDS, "the watcher has room for both");

/* Pid 1 is gone and said nothing of the command: somebody killed it, and the kernel all others. */
static int take_end(struct contained *c, struct nsrun_error *err) {
        siginfo_t info = {.si_code = CLD_KILLED, .si_status = SIGKILL};

        c->source.fds[FD_REPORT] = -1;
        c->source.is_gone = true;
        if (c->source.has_ended)
                return 0;
        (void)sys_waitid(P_PIDFD, (id_t)c->launch.pidfd, &info, WEXITED | WNOWAIT);
        if (info.si_code == CLD_EXITED)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EIO, NULL, "pid 1 ended without a report",
                                 NULL);
        c->source.status = info.si_status & 0x7f;
        return 0;
}

static int take_report(struct contained *c, struct nsrun_error *err) {
        struct launch_report report;
        int r = launch_read_report(&c->launch, &report);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "pid 1's report can't be read", NULL);
        if (r == 0)
                return take_end(c, err);
        if (report.kind == LAUNCH_FAILED) {
                if (err && err->stage == NSRUN_STAGE_NONE)
                        *err = report.error;
                return -report.error.error;
        }
        if (report.kind == LAUNCH_NOTE && strv_consume(&c->notes, nsrun_error_format(&report.error)) < 0)
                return error_oom(err);
        if (report.kind == LAUNCH_EXITED) {
                c->source.has_ended = true;
                c->source.status = report.status;
        }
        return 0;
}

/* First the listener itself, then what it asks, as in supervise.c. */
static void take_denial(struct contained *c, int events) {
        if (c->listener < 0) {
                c->listener = launch_receive_listener(&c->launch);
                close_fdp(&c->launch.listener_socket);
        } else if (!(events & POLLIN) || denials_answer(c->denials, c->listener) < 0) {
                close_fdp(&c->listener);
        }
        c->source.fds[FD_LISTENER] = c->listener >= 0 ? c->listener : -1;
}

static int take(struct command_source *s, size_t which, int events, struct nsrun_error *err) {
        struct contained *c = (struct contained *)(void *)s;

        if (which == FD_REPORT)
                return take_report(c, err);
        take_denial(c, events);
        return 0;
}

static void signal_all(struct command_source *s, int signal) {
        struct contained *c = (struct contained *)(void *)s;

        /* Pid 1's end is everybody's.  There are two ways to end, and so no other signals (command.c). */
        if (signal == SIGKILL)
                (void)launch_signal(&c->launch, SIGKILL);
        else
                (void)launch_terminate_all(&c->launch);
}

/* All that was had before the launch. */
static void give_back(struct contained *c) {
        (void)oom_watch_ended(&c->memory);
        cgroup_remove(&c->cgroup);
        umbrella_remove(&c->umbrella);
        close_fdp(&c->source.output_fd);
        close_fdp(&c->listener);
        c->denials = denials_free(c->denials);
        strv_freep(&c->notes);
}

static void end(struct command_source *s) {
        struct contained *c = (struct contained *)(void *)s;

        if (s->has_ended)
                launch_release(&c->launch);
        else
                (void)launch_signal(&c->launch, SIGKILL);
        /* In a session its reaper may stay, for what the command left behind. */
        if (!c->launch.is_nested || !s->has_ended)
                launch_end_session(c->plan, &c->launch, launch_wait(&c->launch));
        launch_close(&c->launch);
        give_back(c);
}

bool contained_ran_out_of_memory(struct contained *c, bool was_killed) {
        bool is_own = c->memory.is_own, has_killed = oom_watch_ended(&c->memory);

        return has_killed && (is_own || was_killed);
}

static int launch_it(struct contained *c, bool may_move, struct launch_params *launch_params,
                     struct nsrun_error *err) {
        int stdio[3] = {-EBADF, -EBADF, -EBADF}, r;

        r = command_open_stdio(stdio, &c->source.output_fd, err);
        if (r < 0)
                return r;
        launch_params->stdio = stdio;
        r = disk_prepare(c->plan, &c->umbrella, launch_params, err);
        if (r >= 0)
                r = cgroup_prepare(c->plan, may_move, &c->cgroup, launch_params, err);
        if (r >= 0 && launch_params->n_processes > 0 &&
            strv_consume(&c->notes, nsrun_error_format(&cgroup_by_rlimit)) < 0)
                r = error_oom(err);
        if (r >= 0) {
                oom_watch_begin(&c->memory, &c->cgroup);
                r = launch_start(c->plan, launch_params, &c->launch, err);
        }
        command_close_stdio(stdio);
        return r;
}

int contained_start(const struct nsrun_plan *plan, const struct contained_params *params,
                    struct contained *ret, struct nsrun_error *err) {
        struct launch_params launch_params = {
                .umbrella_fd = -EBADF,
                .lock_fd = -EBADF,
                .terminal_fd = -1,
                .lingers = true,
                .wants_denials = params->wants_denials && plan->seccomp.code,
                .dies_with_thread = params->dies_with_thread,
                .init_path = params->init_path,
                .mask = params->mask,
                .command_line = params->command_line,
                .command_line_size = params->command_line_size,
        };
        struct contained c = {
                .source = {.take = take, .signal = signal_all, .end = end, .output_fd = -EBADF},
                .plan = plan,
                .launch = LAUNCH_INIT,
                .umbrella = UMBRELLA_INIT,
                .cgroup = CGROUP_INIT,
                .memory = OOM_WATCH_INIT,
                .listener = -EBADF,
        };
        int r;

        if (launch_params.wants_denials && denials_new(plan, &c.denials) < 0)
                return error_oom(err);
        if (plan->seccomp_cache)
                seccomp_remember(&plan->seccomp, plan->seccomp_cache);
        r = launch_it(&c, params->may_move, &launch_params, err);
        if (r < 0) {
                give_back(&c);
                return r;
        }
        c.source.fds[FD_REPORT] = c.launch.report_fd;
        c.source.fds[FD_LISTENER] = c.launch.listener_socket >= 0 ? c.launch.listener_socket : -1;
        *ret = c;
        return 0;
}
