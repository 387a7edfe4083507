/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cgroup (v2) of one run, for --limit memory, pids and cpu. */
#pragma once

#include "cgroup_place.h"
#include "launch/launch.h"

struct cgroup {
        struct launch_cgroup launch; /* descriptors of the cgroup; -EBADF: there is none */
        struct cgroup_place place;   /* the cgroup in which `launch` is a child */
        unsigned controllers;
        char name[16];
        char supervisor[16]; /* the child of `place` to which this process moved; "": it didn't */
        int supervisor_fd;
        struct nsrun_error no_pids; /* why RLIMIT_NPROC bounds the processes, not a cgroup; else empty */
};

#define CGROUP_INIT                                                                       \
        (struct cgroup) {                                                                 \
                .launch = {.fd = -EBADF, .procs_fd = -EBADF}, .place = CGROUP_PLACE_INIT, \
                .supervisor_fd = -EBADF                                                   \
        }

/* Makes a cgroup if the plan's limits need one, or opens that of the session which the plan joins,
 * and sets params->cgroup.  If the number of processes alone is bounded and no cgroup can be had,
 * sets params->n_processes (RLIMIT_NPROC).  `params` points into *c.  With `may_move` this process
 * may leave its own cgroup for a child of it.  The caller removes *c, also after a failure.
 * -EOPNOTSUPP: no cgroup can be made; else the kernel's error of making one. */
int cgroup_prepare(const struct nsrun_plan *plan, bool may_move, struct cgroup *c,
                   struct launch_params *params, struct nsrun_error *err);

/* Kills the processes that are still in the cgroup, removes it, and moves this process back to
 * where it was. */
void cgroup_remove(struct cgroup *c);

/* What bounds the number of processes: "cgroup", "rlimit", or NULL if no bound was asked for. */
const char *cgroup_pids_by(const struct cgroup *c, const struct nsrun_plan *plan);
