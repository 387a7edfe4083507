/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* As whom a raw plan's command runs: the last user namespace, ids and capabilities of the process that built
 * the sandbox.  Plain data and system calls, so that nsrun-init can do it as well. */
#pragma once

#include "base/error.h"

/* The most supplementary groups that a command gets. */
#define PLAN_GROUPS_MAX 64

struct plan_raw_groups {
        bool is_set; /* the supplementary groups become these */
        size_t n;
        gid_t ids[PLAN_GROUPS_MAX];
};

struct init_identity {
        bool is_late;         /* nsrun-init takes it: executed in the namespace around it */
        bool makes_userns;    /* a user namespace with the maps below */
        bool needs_no_userns; /* none can be made afterwards */
        bool takes_uid, takes_gid;
        bool keeps_capabilities; /* all; else `capabilities` */
        bool keeps_through_exec;
        bool new_session;
        unsigned uid, gid;
        uint64_t capabilities;
        bool has_sets; /* `capabilities` are permitted and effective, and the sets below are the others */
        uint64_t bounding, inheritable, ambient;
        struct plan_raw_groups groups;
        int self_fd;   /* the host's /proc/self, closed here; or -EBADF */
        int userns_fd; /* a user namespace to enter then, closed here; or negative */
        int block_fd;  /* waited for at the end, and closed; or negative */
        char uid_map[48], gid_map[48];
};

/* The end of what needs capabilities.  `supervisor_fd`: with whom this process dies.  0, or -errno with
 * *err.
 */
int identity_take(struct init_identity *id, int supervisor_fd, struct nsrun_error *err);
/* Waits until `fd` can be read or its other end is closed, and closes it.  `what`: that it couldn't be. */
int identity_await(int fd, const char *what, struct nsrun_error *err);
/* Lets this process live on when the supervisor dies. */
int identity_outlive(struct nsrun_error *err);
/* Writes setgroups and both maps, one line each, which a process may do for its own namespace without any
 * privilege outside; `dir` and `prefix` say where they are. */
int identity_map(int dir, const char *prefix, const char *uid_map, const char *gid_map,
                 struct nsrun_error *err);
