/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A program of nsrun's own, started on the host's side: with default signals, in a session of its own and
 * with no stream of the caller's. */
#include <sys/types.h>

#define SPAWN_FIRST_FD 3

struct spawn {
        const char *program; /* its path */
        char *const *argv, *const *env;
        const char *folder; /* it starts there; NULL: where the caller is */
        int null_fd;        /* its standard streams */
        /* The descriptor that becomes number SPAWN_FIRST_FD + i; negative: none does.  Each is above all of
         * those numbers. */
        const int *fds;
        size_t n_fds;
};

/* Returns 0 or a negative errno: those of execve(2), too.  The caller waits for *ret_pid. */
int spawn_apart(const struct spawn *s, pid_t *ret_pid);
