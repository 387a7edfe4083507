/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun's own programs: their version, where the others are, installed or in a build folder, and how one is
 * started. */
#pragma once

#include "sys.h"

/* The environment's NSRUN_INIT, NSRUN_MONITOR, NSRUN_NET, NSRUN_HTTP and NSRUN_KEYS replace the paths. */
const char *program_init(void);
const char *program_net(void);
const char *program_http(void);
const char *program_keys(void);
const char *program_monitor(void);
const char *program_bwrap(void);
/* All of them but nsrun-http and nsrun-keys are this file, as src/one_file.c is; `path` is kept. */
void programs_are_one_file(const char *path);

/* Of a program whose process is its own: raises its limit of open files, of which each folder that is
 * watched takes one.  Commands, and what spawn_apart() starts, get the limit that there was: true, where it
 * is raised. */
void program_raise_files(void);
bool program_files_before(struct sys_rlimit *ret);
/* In a fork that becomes another program. */
void program_restore_files(void);

/* A program of nsrun's own, or git, started on the host's side: with default signals, in a session of its
 * own and with no stream of the caller's. */
#define SPAWN_FIRST_FD 3

struct spawn {
        const char *program; /* its path */
        char *const *argv, *const *env;
        const char *folder; /* it starts there; NULL: where the caller is */
        int null_fd;        /* its standard streams, */
        const int *streams; /* unless these are: three; NULL: none */
        /* The descriptor that becomes number SPAWN_FIRST_FD + i; negative: none does.  Each is above all of
         * those numbers. */
        const int *fds;
        size_t n_fds;
};

/* What nsrun-http can't be started without. */
#define LIBEVENT_FIX                                                                          \
        "install the package libevent (Debian, Ubuntu: libevent-extra-2.1-7, or where there " \
        "is none libevent-extra-2.1-7t64)"

/* And nsrun-keys, besides. */
#define LIBCURL_FIX                                                                                  \
        "install libcurl and libevent (Debian, Ubuntu: libcurl4 and libevent-extra-2.1-7, or where " \
        "these are none, the same with t64 behind them)"

/* Returns 0 or a negative errno: those of execve(2), too.  The caller waits for *ret_pid. */
int spawn_apart(const struct spawn *s, pid_t *ret_pid);
