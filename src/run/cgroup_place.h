/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where nsrun can make a cgroup (v2): looks for a place, and enables controllers there.  cgroup.c
 * makes it. */
#pragma once

#include "base/error.h"

enum {
        CGROUP_MEMORY = 1 << 0,
        CGROUP_PIDS = 1 << 1,
        CGROUP_CPU = 1 << 2,
};

struct cgroup_place {
        int fd;      /* the folder of the cgroup that gets a child */
        char *path;  /* its path, for messages */
        bool is_own; /* this process is in it, alone, and must leave before controllers can be enabled */
        unsigned enabled; /* controllers that its children have since this process enabled them */
};

#define CGROUP_PLACE_INIT       \
        (struct cgroup_place) { \
                .fd = -EBADF    \
        }
void cgroup_place_clear(struct cgroup_place *place);

/* The folder of the cgroup of the process whose /proc/PID/mountinfo and /proc/PID/cgroup are
 * given.  -ENOENT: no mounted cgroup2 shows it; -ENOMEM. */
int cgroup_folder(const char *mountinfo, const char *cgroup, char **ret);

/* That of this process, and in *ret_has_v1 (may be NULL) whether version 1 has a controller that bounds,
 * in any case.  -ENOENT: no mounted cgroup2 shows it; -ENOMEM. */
int cgroup_find_own(char **ret, bool *ret_has_v1);

/* What gives a machine with cgroup v1 the version that bounds. */
const char *cgroup_v1_fix(void);

/* Enables ('+') or disables ('-') controllers for a cgroup's children: writes "+memory +pids" and
 * the like. */
int cgroup_switch(int fd, unsigned controllers, char sign);

/* Disables what was enabled in a place that this process wasn't in, unless another run has its cgroup there,
 * or somebody has used the controllers to bound another child. */
void cgroup_place_restore(struct cgroup_place *place);

/* Finds a cgroup whose children have the `wanted` controllers; with `may_move` also this process's
 * own, if it is alone in it.  -EOPNOTSUPP with *err filled, which says what to do: there is none;
 * -ENOMEM. */
int cgroup_find_place(unsigned wanted, bool may_move, struct cgroup_place *ret, struct nsrun_error *err);
