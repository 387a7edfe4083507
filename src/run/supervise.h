/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One run of the nsrun program, from a plan to an exit status: the run directory,
 * the launch, signals and terminal stops, the status lines.  Owns the process's signals
 * while it runs, so it is not for the library (sandbox.c is). */
#pragma once

#include "plan/plan.h"

struct supervise_params {
        int status_fd;       /* JSON lines, or -1 */
        int report_fd;       /* JSON lines of denied calls, when the command has ended; or -1 */
        const int *pass_fds; /* what the command gets beside its standard streams; closed when it has them */
        size_t n_pass_fds;
        char *command_line; /* the program's own argv area, hidden from the sandbox; or NULL */
        size_t command_line_size;
};

/* *ret_status: what nsrun is to exit with.  On failure the command never ran,
 * *err tells why, and nothing is left behind. */
int supervise(const struct nsrun_plan *plan, const struct supervise_params *params, int *ret_status,
              struct nsrun_error *err);

/* The `failed` line of --status-fd. */
void supervise_report_failure(int status_fd, const struct nsrun_error *err);

/* 127, 126 or 125. */
int supervise_failure_status(const struct nsrun_error *err);
