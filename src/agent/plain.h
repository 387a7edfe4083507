/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command without any sandbox (--no-sandbox), as a struct command_source.  Makes this process a
 * subreaper and every orphan of its children its own, so it is not for the library. */
#pragma once

#include "command.h"

struct plain_params {
        const char *folder;  /* where it begins */
        const char *program; /* absolute */
        char *const *argv;
        char *const *env;
        const sigset_t *mask; /* the command's */
        const int *pass_fds;  /* what it gets beside its standard streams, under the same numbers */
        size_t n_pass_fds;
};

struct plain {
        struct command_source source;
        pid_t pid;
        int pidfd;
};

/* Starts it in a session of its own. */
int plain_start(const struct plain_params *params, struct plain *ret, struct nsrun_error *err);
