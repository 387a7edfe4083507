/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A captured command: its launch, its reports, the questions about denied calls, its output. */
#include "command.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/stream.h"
#include "base/sys.h"
#include "run/deadline.h"
#include "terminal/asking.h"

/* The most bytes that one read takes, and the size that the pipe is given if the kernel allows it. */
#define CHUNK ((size_t)64 * 1024)
#define PIPE  ((size_t)256 * 1024)

struct watch {
        struct agent_command *command;
        const struct command_params *params;
        struct command_result *result;
        struct deadline deadline;
        bool is_at_end;  /* the output's end was read */
        bool is_unasked; /* nsrun-net asks nothing any more */
        char *chunk;
        bool was_started; /* which the host was told */
        bool was_told;    /* a report or a question, in the round before, */
        int rounds;       /* of so many behind the command's end */
        struct nsrun_error *err;
};

/* Before what the command prints, which may be here before pid 1's report is. */
static void command_tell_started(struct watch *w) {
        if (!w->was_started && w->params->started)
                w->params->started(w->params->data);
        w->was_started = true;
}

static int open_captured(int stdio[3], int *ret_output, struct nsrun_error *err) {
        _cleanup_close_ int null = -EBADF, output = -EBADF, input = -EBADF;
        int ends[2], r;

        null = null_open(O_RDONLY, err);
        if (null < 0)
                return null;
        r = sys_pipe(ends);
        if (r >= 0) {
                output = ends[0];
                input = ends[1];
                r = fd_lift(&output);
        }
        if (r >= 0)
                r = fd_lift(&input);
        /* O_NONBLOCK is set on the reading end alone: the command's end is a pipe like any other. */
        if (r >= 0 && fcntl(output, F_SETFL, O_NONBLOCK) < 0)
                r = -errno;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no pipe for the command's output",
                                 NULL);
        /* A larger pipe is faster; a failure doesn't matter. */
        (void)fcntl(output, F_SETPIPE_SZ, (int)PIPE);
        stdio[1] = stdio[2] = TAKE_FD(input);
        stdio[0] = TAKE_FD(null);
        *ret_output = TAKE_FD(output);
        return 0;
}

static void close_captured(int stdio[3]) {
        close_fdp(&stdio[0]);
        close_fdp(&stdio[1]);
        stdio[2] = -EBADF;
}

/* Reads one chunk of output.  1: got one; 0: there is none now, or the output has ended. */
static int read_captured_output(struct watch *w) {
        ssize_t n = sys_read(w->command->output_fd, w->chunk, CHUNK);

        if (n == -EAGAIN || n == -EINTR)
                return 0;
        if (n < 0)
                return error_set(w->err, NSRUN_STAGE_SUPERVISE, (int)n, NULL,
                                 "the command's output can't be read", NULL);
        if (n == 0) {
                w->is_at_end = true;
                return 0;
        }
        command_tell_started(w);
        capture_add(&w->result->capture, w->chunk, (size_t)n);
        if (w->params->output)
                w->params->output(w->chunk, (size_t)n, w->params->data);
        return 1;
}

static int take_output(void *data, nsrun_unused short revents) {
        int r = read_captured_output(data);

        return r < 0 ? r : 0;
}

/* Ends the command and all that it started: with SIGTERM at first, with SIGKILL when called again.  If pid 1
 * ends, so do all others. */
static int press(struct watch *w) {
        int signal = deadline_press(&w->deadline, w->err);

        run_drop_files(&w->command->run);
        if (signal == SIGKILL)
                (void)launch_signal(&w->command->run.launch, SIGKILL);
        else if (signal >= 0)
                (void)launch_terminate_all(&w->command->run.launch);
        return signal < 0 ? signal : 0;
}

static int take_timer(void *data, nsrun_unused short revents) {
        struct watch *w = data;

        if (!deadline_is_over(&w->deadline))
                return 0;
        if (!w->deadline.was_told) {
                w->result->timed_out = w->command->run.timed_out = true;
                w->result->was_held = w->command->has_ended;
        }
        return press(w);
}

static int take_cancel(void *data, nsrun_unused short revents) {
        struct watch *w = data;

        w->result->was_cancelled = true;
        return w->deadline.was_told ? 0 : press(w);
}

/* Handles the end of pid 1's pipe.  If pid 1 has not reported the command's end somebody killed pid
 * 1, and the kernel killed all other processes with it. */
static int take_end(struct agent_command *c, struct nsrun_error *err) {
        siginfo_t info = {.si_code = CLD_KILLED, .si_status = SIGKILL};

        c->is_gone = true;
        if (c->has_ended)
                return 0;
        (void)sys_waitid(P_PIDFD, (id_t)c->run.launch.pidfd, &info, WEXITED | WNOWAIT);
        if (info.si_code == CLD_EXITED)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EIO, NULL, "pid 1 ended without a report",
                                 NULL);
        c->status = info.si_status & 0x7f;
        return 0;
}

static int command_take_report(void *data, nsrun_unused short revents) {
        struct watch *w = data;
        struct agent_command *c = w->command;
        struct launch_report report;
        int r = run_take_report(&c->run, &report, w->err);

        w->was_told = true;
        if (r == 0)
                return take_end(c, w->err);
        if (r < 0)
                return r;
        if (report.kind == LAUNCH_STARTED)
                command_tell_started(w);
        c->has_ended = c->run.has_exited;
        c->status = c->run.status;
        return 0;
}

static int command_take_denial(void *data, short revents) {
        struct watch *w = data;

        w->was_told = true;
        run_take_denial(&w->command->run, revents);
        return 0;
}

/* Hands nsrun-net's question to the host.  In a session another client may be asked once this one isn't; a
 * run has no other. */
static int command_take_question(void *data, nsrun_unused short revents) {
        struct watch *w = data;
        struct agent_command *c = w->command;
        pid_t reaper = c->run.launch.pid;
        bool is_undecided = false;

        w->is_unasked =
                question_call(c->run.network.life_fd, c->plan->join ? c->plan->join->init.pid : reaper,
                              reaper, w->params->ask, w->params->data, &is_undecided) < 0;
        if (is_undecided && c->plan->join)
                close_fdp(&c->run.network.life_fd);
        return 0;
}

static int command_take_asked(void *data, nsrun_unused short revents) {
        run_take_asked(&((struct watch *)data)->command->run);
        return 0;
}

static int command_take_appeared(void *data, nsrun_unused short revents) {
        run_take_appeared(&((struct watch *)data)->command->run);
        return 0;
}

static void add_reports(struct loop *l, const struct agent_command *c) {
        loop_add(l, c->run.launch.report_fd, POLLIN, command_take_report);
        loop_add(l, denials_fd(&c->run.launch, c->run.listener), POLLIN, command_take_denial);
}

static int tell_watched(struct loop *l, void *data) {
        struct watch *w = data;
        struct agent_command *c = w->command;

        if (c->is_gone || (c->has_ended && w->is_at_end))
                return 1;
        run_await_asker(&c->run, &l->patience_ms);
        add_reports(l, c);
        loop_add(l, w->is_at_end ? -1 : c->output_fd, POLLIN, take_output);
        loop_add(l, w->params->ask && !w->is_unasked ? c->run.network.life_fd : -1, POLLIN,
                 command_take_question);
        loop_add(l, c->run.asked_fd, POLLIN, command_take_asked);
        loop_add(l, w->deadline.fd, POLLIN, take_timer);
        loop_add(l, protected_fd(&c->run.protected), POLLIN, command_take_appeared);
        loop_add(l, w->result->was_cancelled ? -1 : w->params->cancel_fd, POLLIN, take_cancel);
        return 0;
}

/* What is still reported when command and output have ended, since the last report may be a failure.  In at
 * most 8 rounds: processes left in the sandbox may go on asking about denied calls. */
static int tell_last_words(struct loop *l, void *data) {
        struct watch *w = data;

        if (w->command->is_gone || !w->was_told || w->rounds++ == 8)
                return 1;
        w->was_told = false;
        l->patience_ms = 0;
        add_reports(l, w->command);
        return 0;
}

/* Reads what the pipe held when the sandbox was gone (the command may have enlarged it).  If a
 * process outside got the pipe's writing end and goes on writing, that isn't waited for. */
static int take_rest(struct watch *w) {
        uint64_t before = w->result->capture.total;
        int left = 0, r = sys_ioctl(w->command->output_fd, FIONREAD, &left);

        if (r < 0)
                return error_set(w->err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the command's output can't be read", NULL);
        while (r >= 0 && !w->is_at_end && w->result->capture.total - before < (uint64_t)left) {
                r = read_captured_output(w);
                if (r == 0)
                        break;
        }
        return r < 0 ? r : 0;
}

int command_watch(struct agent_command *c, const struct command_params *params, struct command_result *ret,
                  struct nsrun_error *err) {
        _cleanup_free_ char *chunk = malloc(CHUNK);
        struct watch w = {.command = c,
                          .params = params,
                          .result = ret,
                          .deadline = DEADLINE_INIT,
                          .chunk = chunk,
                          .err = err};
        uint64_t begin = sys_now_ms();
        int r;

        if (!chunk)
                return error_oom(err);
        r = deadline_begin(&w.deadline, params->timeout, err);
        if (r >= 0)
                r = loop_run(tell_watched, &w);
        w.was_told = true;
        if (r >= 0)
                r = c->is_gone ? take_rest(&w) : loop_run(tell_last_words, &w);
        deadline_end(&w.deadline);
        ret->duration_ms = sys_now_ms() - begin;
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the command can't be waited for",
                                 NULL)
                     : 0;
}

void command_finish(struct agent_command *c) {
        if (c->run.is_gone)
                return;
        if (!c->has_ended) {
                run_kill(&c->run);
                return;
        }
        launch_release(&c->run.launch);
        (void)run_wait(&c->run);
}

void command_end(struct agent_command *c) {
        command_finish(c);
        run_end(&c->run);
        close_fdp(&c->output_fd);
}

int command_start(const struct nsrun_plan *plan, const struct run_params *params, struct agent_command *ret,
                  struct nsrun_error *err) {
        struct run_params own = *params;
        struct agent_command c = {.plan = plan, .output_fd = -EBADF};
        int stdio[3] = {-EBADF, -EBADF, -EBADF}, r;

        r = open_captured(stdio, &c.output_fd, err);
        if (r < 0)
                return r;
        own.launch.stdio = stdio;
        own.launch.terminal_fd = -1;
        own.launch.lingers = true;
        own.watches_all_memory = true;
        own.notes_later = true;
        r = run_begin(plan, &own, &c.run, err);
        close_captured(stdio);
        if (r < 0) {
                close_fdp(&c.output_fd);
                return r;
        }
        *ret = c;
        return 0;
}
