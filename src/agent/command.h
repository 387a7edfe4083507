/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command of an agent's in a sandbox, from its start to its end: deadline, output, cancelling.  For host
 * programs with threads: no signals, no globals. */
#pragma once

#include "capture.h"
#include "run/run.h"

/* A command that was started, with its output in a pipe. */
struct agent_command {
        struct run run;
        const struct nsrun_plan *plan;
        int output_fd;  /* the pipe's reading end */
        bool has_ended; /* the command itself has ended */
        bool is_gone;   /* the command and all that it started are gone, so that nobody writes any more */
        int status;     /* the command's, as wait(2) has it, once it has ended */
};

struct command_params {
        unsigned timeout; /* the deadline, in seconds */
        int cancel_fd;    /* once it is readable the command is ended; or -1 */
        /* Those of struct nsrun_bash_options. */
        void (*output)(const char *bytes, size_t n, void *data);
        int (*ask)(const char *name, const char *program, void *data);
        void (*started)(void *data);
        void *data;
};

struct command_result {
        struct capture capture;
        bool timed_out;
        bool was_held; /* at the deadline the command had ended: a background process held its output */
        bool was_cancelled;
        uint64_t duration_ms;
};

/* Starts the plan's command, with `params` but for the streams: /dev/null to read, one pipe for both
 * outputs. */
int command_start(const struct nsrun_plan *plan, const struct run_params *params, struct agent_command *ret,
                  struct nsrun_error *err);
/* Watches a command until it has ended and no process has its output open, or until the deadline,
 * when all its processes get SIGTERM, and SIGKILL five seconds later.  Background processes that
 * don't have the output open live on: the caller must call command_end() in any case.  -errno: the
 * command can't be watched. */
int command_watch(struct agent_command *c, const struct command_params *params, struct command_result *ret,
                  struct nsrun_error *err);
/* Ends what is left of the command: its notes are complete then. */
void command_finish(struct agent_command *c);
/* The same, and frees all but `c` itself. */
void command_end(struct agent_command *c);
