/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A captured command in a sandbox: its launch, its reports, and the questions about denied calls. */
#include "contained.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/sys.h"

enum {
        FD_REPORT,
        FD_LISTENER,
};
_Static_assert(FD_LISTENER < COMMAND_SOURCE_FDS, "the watcher has room for both");

/* Handles the end of pid 1's pipe.  If pid 1 has not reported the command's end somebody killed pid
 * 1, and the kernel killed all other processes with it. */
static int take_end(struct contained *c, struct nsrun_error *err) {
        siginfo_t info = {.si_code = CLD_KILLED, .si_status = SIGKILL};

        c->source.fds[FD_REPORT] = -1;
        c->source.is_gone = true;
        if (c->source.has_ended)
                return 0;
        (void)sys_waitid(P_PIDFD, (id_t)c->run.launch.pidfd, &info, WEXITED | WNOWAIT);
        if (info.si_code == CLD_EXITED)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EIO, NULL, "pid 1 ended without a report",
                                 NULL);
        c->source.status = info.si_status & 0x7f;
        return 0;
}

static int contained_take_report(struct contained *c, struct nsrun_error *err) {
        struct launch_report report;
        int r = run_take_report(&c->run, &report, err);

        if (r == 0)
                return take_end(c, err);
        if (r < 0)
                return r;
        c->source.has_ended = c->run.has_exited;
        c->source.status = c->run.status;
        return 0;
}

static int contained_take(struct command_source *s, size_t which, int events, struct nsrun_error *err) {
        struct contained *c = (struct contained *)(void *)s;

        if (which == FD_REPORT)
                return contained_take_report(c, err);
        run_take_denial(&c->run, events);
        s->fds[FD_LISTENER] = run_denials_fd(&c->run);
        return 0;
}

static void signal_all(struct command_source *s, int signal) {
        struct contained *c = (struct contained *)(void *)s;

        /* If pid 1 ends, so do all others.  `signal` is SIGKILL or SIGTERM: command.c sends no
         * other. */
        if (signal == SIGKILL)
                (void)launch_signal(&c->run.launch, SIGKILL);
        else
                (void)launch_terminate_all(&c->run.launch);
}

void contained_finish(struct contained *c) {
        if (c->run.is_gone)
                return;
        if (!c->source.has_ended) {
                run_kill(&c->run);
                return;
        }
        launch_release(&c->run.launch);
        (void)run_wait(&c->run);
}

static void contained_end(struct command_source *s) {
        struct contained *c = (struct contained *)(void *)s;

        contained_finish(c);
        run_end(&c->run);
        close_fdp(&s->output_fd);
}

int contained_start(const struct nsrun_plan *plan, const struct run_params *params, struct contained *ret,
                    struct nsrun_error *err) {
        struct run_params own = *params;
        struct contained c = {.source = {.take = contained_take,
                                         .signal = signal_all,
                                         .end = contained_end,
                                         .output_fd = -EBADF},
                              .plan = plan};
        int stdio[3] = {-EBADF, -EBADF, -EBADF}, r;

        r = command_open_stdio(stdio, &c.source.output_fd, err);
        if (r < 0)
                return r;
        own.launch.stdio = stdio;
        own.launch.terminal_fd = -1;
        own.launch.lingers = true;
        own.watches_all_memory = true;
        own.shows_plan = true;
        own.notes_later = true;
        r = run_begin(plan, &own, &c.run, err);
        command_close_stdio(stdio);
        if (r < 0) {
                close_fdp(&c.source.output_fd);
                return r;
        }
        c.source.fds[FD_REPORT] = c.run.launch.report_fd;
        c.source.fds[FD_LISTENER] = run_denials_fd(&c.run);
        *ret = c;
        return 0;
}
