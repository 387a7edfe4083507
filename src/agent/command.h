/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command from its start to its end: deadline, output, cancelling.  How it was started is its
 * struct command_source's concern (contained.h).  For host programs with threads: no
 * signals, no globals. */
#pragma once

#include "base/error.h"
#include "capture.h"

#define COMMAND_SOURCE_FDS 2

/* A command that was started, with its output in a pipe: contained.h's. */
struct command_source {
        int output_fd;               /* the pipe's reading end, which `end` closes */
        int fds[COMMAND_SOURCE_FDS]; /* once one is readable `take` is to be called; -1: none */
        bool has_ended;              /* the command itself has ended */
        bool is_gone; /* the command and all that it started are gone, so that nobody writes any more */
        int status;   /* the command's, as wait(2) has it, once it has ended */
        /* Handles the poll(2) events of fds[which]. */
        int (*take)(struct command_source *s, size_t which, int events, struct nsrun_error *err);
        /* Sends a signal to the command and all that it started. */
        void (*signal)(struct command_source *s, int signal);
        /* Kills what is left, waits until it is gone, frees all but `s` itself. */
        void (*end)(struct command_source *s);
};

struct command_params {
        unsigned timeout; /* the deadline, in seconds */
        int cancel_fd;    /* once it is readable the command is ended; or -1 */
        /* Called with the command's output as it comes; or NULL. */
        void (*output)(const char *bytes, size_t n, void *data);
        void *data;
};

struct command_result {
        struct capture capture;
        bool timed_out;
        bool was_held; /* at the deadline the command had ended: a background process held its output */
        bool was_cancelled;
        uint64_t duration_ms;
};

/* Watches a command until it has ended and no process has its output open, or until the deadline,
 * when all its processes get SIGTERM, and SIGKILL five seconds later.  Background processes that
 * don't have the output open live on: the caller must call s->end() in any case.  -errno: the
 * command can't be watched. */
int command_watch(struct command_source *s, const struct command_params *params, struct command_result *ret,
                  struct nsrun_error *err);

/* Opens the descriptors that every captured command gets: /dev/null to read, and one pipe for both
 * outputs.  `stdio` receives three descriptors beyond 2, *ret_output the pipe's reading end. */
int command_open_stdio(int stdio[3], int *ret_output, struct nsrun_error *err);
void command_close_stdio(int stdio[3]);

/* CLOCK_MONOTONIC, in milliseconds. */
uint64_t command_now_ms(void);
