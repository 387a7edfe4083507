/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command from its start to its end: deadline, output, cancelling.  Knows nothing of how it was
 * started: that is a struct command_source (contained.h, plain.h).  For hosts with threads:
 * no signals, no globals. */
#pragma once

#include "base/error.h"
#include "capture.h"

/* Between SIGTERM and SIGKILL. */
#define COMMAND_GRACE_SECONDS 5

#define COMMAND_SOURCE_FDS 2

/* A command that was started, with its output in a pipe. */
struct command_source {
        int output_fd;               /* read end; the source's */
        int fds[COMMAND_SOURCE_FDS]; /* readable: take() has something to do; -1: none */
        bool has_ended;              /* the command itself */
        bool is_gone;                /* it and all that it started, so that nobody writes any more */
        int status;                  /* wait(2)'s, where it has ended */
        /* `which` of the fds had these poll(2) events. */
        int (*take)(struct command_source *s, size_t which, int events, struct nsrun_error *err);
        /* To the command and all that it started. */
        void (*signal)(struct command_source *s, int signal);
        /* Kills what is left, waits until it is gone, frees all but `s` itself. */
        void (*end)(struct command_source *s);
};

struct command_params {
        unsigned timeout; /* seconds */
        int cancel_fd;    /* readable: the command is to be ended; or -1 */
        /* What the command writes, as it comes; or NULL. */
        void (*output)(const char *bytes, size_t n, void *data);
        void *data;
};

struct command_result {
        struct capture capture;
        bool timed_out;
        bool was_cancelled;
        uint64_t duration_ms;
};

/* Until the command has ended and nobody holds its output any more; or until the deadline, when
 * all get SIGTERM, and SIGKILL five seconds later.  What it left behind without holding the output
 * is there still: s->end() is the caller's to call, in any case.  -errno: no watch could
 * be kept. */
int command_watch(struct command_source *s, const struct command_params *params, struct command_result *ret,
                  struct nsrun_error *err);

/* What every command gets: /dev/null to read, and one pipe for both outputs.  `stdio` holds
 * three descriptors beyond 2, *ret_output the pipe's read end. */
int command_open_stdio(int stdio[3], int *ret_output, struct nsrun_error *err);
void command_close_stdio(int stdio[3]);
