/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandboxes that run now, of this user and in this pid namespace, as /proc has them.  What tells one is
 * the process that waits for it on the host's side, which nothing inside can be, reach or imitate: a
 * sandbox's processes have another pid namespace, whose pid 1 is that process's child. */
#pragma once

#include "base/error.h"

enum sandbox_kind {
        SANDBOX_RUN,     /* of `nsrun run`, `shell` and `bash` */
        SANDBOX_BWRAP,   /* of nsrun-bwrap */
        SANDBOX_SESSION, /* a session's, by its monitor */
        SANDBOX_LIBRARY, /* another program's, by the library */
};

/* A process of a sandbox, pid 1 among them. */
struct sandbox_member {
        pid_t pid;
        uint64_t start;
};

struct sandbox_process {
        pid_t supervisor; /* whoever waits for it */
        pid_t init;       /* pid 1 inside; 0: the sandbox shares the host's pid namespace (nsrun-bwrap) */
        enum sandbox_kind kind;
        bool is_stopped;    /* the supervisor is (^Z) */
        uint64_t start;     /* when the supervisor started, in ticks since the machine's start */
        uint64_t age;       /* seconds since then */
        uint64_t cpu_ms;    /* of all processes that run or ran in it, as far as they were waited for */
        uint64_t memory;    /* bytes that they have resident */
        size_t n_processes; /* that run in it, pid 1 not counted */
        struct sandbox_member *members;
        size_t n_members;
        char **argv; /* the supervisor's command line; NULL: it can't be read */
        char *cwd;   /* its working directory; or NULL */
};

/* *ret[*ret_n], by age, which sandboxes_free() frees. */
int sandboxes_list(struct sandbox_process **ret, size_t *ret_n, struct nsrun_error *err);
void sandboxes_free(struct sandbox_process *list, size_t n);
