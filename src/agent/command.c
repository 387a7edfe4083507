/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loop that watches a running command. */
#include "command.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/file.h"
#include "base/stream.h"
#include "base/sys.h"
#include "run/deadline.h"

/* The most bytes that one read takes, and the size that the pipe is given if the kernel allows it. */
#define CHUNK ((size_t)64 * 1024)
#define PIPE  ((size_t)256 * 1024)

enum {
        AT_OUTPUT,
        AT_TIMER,
        AT_CANCEL,
        AT_SOURCE,
        N_FDS = AT_SOURCE + COMMAND_SOURCE_FDS,
};

struct watch {
        struct command_source *source;
        const struct command_params *params;
        struct command_result *result;
        struct deadline deadline;
        bool is_at_end; /* the output's end was read */
        char *chunk;
};

int command_open_stdio(int stdio[3], int *ret_output, struct nsrun_error *err) {
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

void command_close_stdio(int stdio[3]) {
        close_fdp(&stdio[0]);
        close_fdp(&stdio[1]);
        stdio[2] = -EBADF;
}

uint64_t command_now_ms(void) {
        struct timespec now = {0};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Reads one chunk of output.  1: got one; 0: there is none now, or the output has ended. */
static int take_output(struct watch *w, struct nsrun_error *err) {
        ssize_t n = sys_read(w->source->output_fd, w->chunk, CHUNK);

        if (n == -EAGAIN || n == -EINTR)
                return 0;
        if (n < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, (int)n, NULL,
                                 "the command's output can't be read", NULL);
        if (n == 0) {
                w->is_at_end = true;
                return 0;
        }
        capture_add(&w->result->capture, w->chunk, (size_t)n);
        if (w->params->output)
                w->params->output(w->chunk, (size_t)n, w->params->data);
        return 1;
}

/* Ends the command: with SIGTERM at first, with SIGKILL when called again. */
static int press(struct watch *w, struct nsrun_error *err) {
        int signal = deadline_press(&w->deadline, err);

        if (signal < 0)
                return signal;
        w->source->signal(w->source, signal);
        return 0;
}

static int take_timer(struct watch *w, struct nsrun_error *err) {
        if (!deadline_is_over(&w->deadline))
                return 0;
        if (!w->deadline.was_told) {
                w->result->timed_out = true;
                w->result->was_held = w->source->has_ended;
        }
        return press(w, err);
}

static int take_round(struct watch *w, const struct pollfd *fds, struct nsrun_error *err) {
        int r = 0;

        if (fds[AT_OUTPUT].revents)
                r = take_output(w, err);
        if (r < 0)
                return r;
        if (fds[AT_TIMER].revents)
                r = take_timer(w, err);
        if (r >= 0 && fds[AT_CANCEL].revents && !w->result->was_cancelled) {
                w->result->was_cancelled = true;
                r = w->deadline.was_told ? 0 : press(w, err);
        }
        for (size_t i = 0; i < COMMAND_SOURCE_FDS && r >= 0; i++)
                if (fds[AT_SOURCE + i].revents)
                        r = w->source->take(w->source, i, fds[AT_SOURCE + i].revents, err);
        return r;
}

/* Takes what the command's source still has to report when command and output have ended, since its
 * last report may be a failure.  In at most 8 rounds: processes left in the sandbox may go on
 * asking about denied calls. */
static int take_last_words(struct command_source *s, struct nsrun_error *err) {
        for (int round = 0; round < 8; round++) {
                struct pollfd fds[COMMAND_SOURCE_FDS];
                int r;

                for (size_t i = 0; i < COMMAND_SOURCE_FDS; i++)
                        fds[i] = (struct pollfd){.fd = s->fds[i], .events = POLLIN};
                r = s->is_gone ? 0 : sys_poll(fds, COMMAND_SOURCE_FDS, 0);
                if (r == 0 || r == -EINTR)
                        return 0;
                for (size_t i = 0; i < COMMAND_SOURCE_FDS && r >= 0; i++)
                        if (fds[i].revents)
                                r = s->take(s, i, fds[i].revents, err);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "the command can't be waited for", NULL);
        }
        return 0;
}

/* Reads what the pipe held when the sandbox was gone (the command may have enlarged it).  If a
 * process outside got the pipe's writing end and goes on writing, that isn't waited for. */
static int take_rest(struct watch *w, struct nsrun_error *err) {
        uint64_t before = w->result->capture.total;
        int left = 0, r;

        r = sys_ioctl(w->source->output_fd, FIONREAD, &left);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the command's output can't be read",
                                 NULL);
        while (!w->is_at_end && w->result->capture.total - before < (uint64_t)left) {
                r = take_output(w, err);
                if (r <= 0)
                        return r;
        }
        return 0;
}

static int agent_command_watch(struct watch *w, struct nsrun_error *err) {
        struct command_source *s = w->source;

        while (!s->is_gone && !(s->has_ended && w->is_at_end)) {
                struct pollfd fds[N_FDS] = {
                        [AT_OUTPUT] = {.fd = w->is_at_end ? -1 : s->output_fd, .events = POLLIN},
                        [AT_TIMER] = {.fd = w->deadline.fd, .events = POLLIN},
                        [AT_CANCEL] = {.fd = w->result->was_cancelled ? -1 : w->params->cancel_fd,
                                       .events = POLLIN},
                };
                int r;

                for (size_t i = 0; i < COMMAND_SOURCE_FDS; i++)
                        fds[AT_SOURCE + i] = (struct pollfd){.fd = s->fds[i], .events = POLLIN};
                r = sys_poll(fds, N_FDS, -1);
                if (r == -EINTR)
                        continue;
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "the command can't be waited for", NULL);
                r = take_round(w, fds, err);
                if (r < 0)
                        return r;
        }
        if (!s->is_gone)
                return take_last_words(s, err);
        return take_rest(w, err);
}

int command_watch(struct command_source *s, const struct command_params *params, struct command_result *ret,
                  struct nsrun_error *err) {
        _cleanup_free_ char *chunk = malloc(CHUNK);
        struct watch w = {
                .source = s, .params = params, .result = ret, .deadline = DEADLINE_INIT, .chunk = chunk};
        uint64_t begin = command_now_ms();
        int r;

        if (!chunk)
                return error_oom(err);
        r = deadline_begin(&w.deadline, params->timeout, err);
        if (r >= 0)
                r = agent_command_watch(&w, err);
        deadline_end(&w.deadline);
        ret->duration_ms = command_now_ms() - begin;
        return r;
}
