/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A captured command without any sandbox (--no-sandbox), as a struct command_source.  It makes this
 * process a subreaper, which adopts every orphan among its children's: so it is not for the
 * library. */
#pragma once

#include "command.h"

struct plain_params {
        const char *folder;  /* the working directory */
        const char *program; /* the absolute path that is executed */
        char *const *argv;
        char *const *env;
        const sigset_t *mask; /* the signal mask that the command gets */
        const int *pass_fds;  /* what the command gets beside its standard streams, under the same numbers */
        size_t n_pass_fds;
};

struct plain {
        struct command_source source;
        pid_t pid;
        int pidfd;
};

/* Starts the command, as the leader of a session of its own. */
int plain_start(const struct plain_params *params, struct plain *ret, struct nsrun_error *err);
