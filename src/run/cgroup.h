/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cgroup (v2) of one run, for --limit memory, pids and cpu. */
#pragma once

#include "cgroup_place.h"
#include "launch/launch.h"

struct cgroup {
        struct launch_cgroup launch; /* -EBADFs: there is none */
        struct cgroup_place place;   /* the folder that it is in */
        unsigned controllers;
        char name[16];
        char supervisor[16]; /* where this process went, in the same folder; or "" */
        int supervisor_fd;
        struct nsrun_error no_pids; /* why pids is left to RLIMIT_NPROC; else empty */
};

#define CGROUP_INIT                                                                       \
        (struct cgroup) {                                                                 \
                .launch = {.fd = -EBADF, .procs_fd = -EBADF}, .place = CGROUP_PLACE_INIT, \
                .supervisor_fd = -EBADF                                                   \
        }

/* Makes it where the plan's limits need one, and tells `params` of it, or of the processes that
 * are to be counted without one: *c must live as long as these.  With `may_move` this process may
 * leave its own cgroup for a child of it.  *c is the caller's to remove, also after a failure.
 * -EOPNOTSUPP: there is no place for it; what the kernel says of the one there is. */
int cgroup_prepare(const struct nsrun_plan *plan, bool may_move, struct cgroup *c,
                   struct launch_params *params, struct nsrun_error *err);

/* Ends who is still in it, removes it, and takes this process back to where it was. */
void cgroup_remove(struct cgroup *c);

/* The note for a library's caller and a session's: processes are counted otherwise. */
extern const struct nsrun_error cgroup_by_rlimit;

/* Who bounds the number of processes: "cgroup", "rlimit", or NULL where no bound was asked for. */
const char *cgroup_pids_by(const struct cgroup *c, const struct nsrun_plan *plan);
