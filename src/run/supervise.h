/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One run of the nsrun program, from a plan to an exit status: the run directory, the launch,
 * signals and terminal stops, the status lines.  Changes the process's signals while it runs, so
 * that the library has sandbox.c instead. */
#pragma once

#include "plan/plan.h"
#include "terminal/pty.h"

struct run;
struct supervise_params {
        int status_fd; /* where the status lines go, or -1 */
        int report_fd; /* where --report's lines go when the command has ended, or -1 */
        bool explains; /* what of a failure the sandbox caused is told */
        bool asks;     /* about what the command doesn't find and the host has */
        /* Called when the command has ended with what it asked for: `watched_by` says what of that is of
         * interest.  NULL: nothing is kept. */
        void (*watched)(void *data, const struct run *run);
        const struct nsrun_plan *watched_by;
        void *data;
        bool is_verbose;     /* what is degraded and quiet is printed, too */
        unsigned timeout;    /* the deadline, in seconds; 0: none */
        const int *pass_fds; /* --pass-fd's descriptors, which are closed when the command has its copies */
        size_t n_pass_fds;
        struct pty *pty;    /* the command's own terminal, which is left when this returns; or NULL */
        bool is_shell;      /* a person's shell, which ignores SIGTERM: it is hung up */
        char *command_line; /* the memory of the program's argv, wiped so that the sandbox can't read it; or
                               NULL */
        size_t command_line_size;
};

/* Runs the plan.  *ret_status is what nsrun is to exit with.  On failure the command never ran,
 * *err says why, and nothing is left behind. */
int supervise(struct nsrun_plan *plan, const struct supervise_params *params, int *ret_status,
              struct nsrun_error *err);

/* Writes the `failed` line of --status-fd. */
void supervise_report_failure(int status_fd, const struct nsrun_error *err);

/* The exit status for a failure: 127 (not found), 126 (not executable) or 125. */
int supervise_failure_status(const struct nsrun_error *err);
