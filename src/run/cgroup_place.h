/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a cgroup (v2) of our own can be made: looks, and enables controllers.  Making it is
 * cgroup.c's. */
#pragma once

#include "base/error.h"

enum {
        CGROUP_MEMORY = 1 << 0,
        CGROUP_PIDS = 1 << 1,
        CGROUP_CPU = 1 << 2,
};

struct cgroup_place {
        int fd;      /* the folder that gets the child */
        char *path;  /* for messages */
        bool is_own; /* we are in it, alone, and must leave before its controllers can be enabled */
};

#define CGROUP_PLACE_INIT       \
        (struct cgroup_place) { \
                .fd = -EBADF    \
        }
void cgroup_place_clear(struct cgroup_place *place);

/* The folder of the process whose /proc/PID/mountinfo and /proc/PID/cgroup these are: -ENOENT where
 * no cgroup2 is mounted that shows it, -ENOMEM. */
int cgroup_folder(const char *mountinfo, const char *cgroup, char **ret);

/* The names of `controllers`, with commas. */
void cgroup_names(unsigned controllers, char to[32]);

/* Writes "+memory +pids" or "-memory -pids". */
int cgroup_switch(int fd, unsigned controllers, char sign);

/* A place whose children have `wanted`; with `may_move` also our own cgroup, where nobody
 * else is in it.  -EOPNOTSUPP with *err filled: there is none, and what to do; -ENOMEM. */
int cgroup_find_place(unsigned wanted, bool may_move, struct cgroup_place *ret, struct nsrun_error *err);
