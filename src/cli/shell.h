/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `nsrun run`, `nsrun shell` and `nsrun session enter` have in common. */
#pragma once

#include "option.h"

/* The options of run_options[]. */
struct run_options {
        int status_fd; /* -1: none */
        int report_fd; /* -1: none */
        int timeout;   /* 0: none */
        struct passed_fds passed;
        bool owns_report;
        bool wants_terminal; /* the command has a terminal of its own */
        bool is_shell;       /* the command is a person's own shell */
        bool explains;       /* what of a failure the sandbox caused is told */
        bool asks;           /* a person is asked about what the command doesn't find */
        bool is_verbose;
        bool is_debugging;
};
#define RUN_OPTIONS_INIT                         \
        (struct run_options) {                   \
                .status_fd = -1, .report_fd = -1 \
        }

/* Runs the policy's command; *ret_status is what nsrun is to exit with. */
int run_sandbox(const struct nsrun_policy *policy, const struct run_options *options, int *ret_status,
                struct nsrun_error *err);
/* Closes what the options opened. */
void run_options_clear(struct run_options *options);

/* Whether the program is called as nsrun-sh: argv[0] is its name, or that with a dash before it. */
bool sh_is_called(const char *name);
/* Runs the shell in a sandbox.  The exit status. */
int sh_main(char **argv);
/* `nsrun session enter ID`. */
int shell_enter(const char *id, int *ret_status, struct nsrun_error *err);
