/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the kernel ran out of memory and killed somebody during a run.  It says so of
 * a cgroup or of the machine: ask only about a command that SIGKILL has ended. */
#pragma once

#include "cgroup.h"

struct oom_watch {
        int fd;          /* the file with the count; or -EBADF */
        uint64_t before; /* what it said when the watch began */
        bool is_own;     /* of the sandbox's own cgroup: the answer is about it and nobody else */
};

#define OOM_WATCH_INIT       \
        (struct oom_watch) { \
                .fd = -EBADF \
        }

/* The count in the text of a memory.events or of /proc/vmstat: false where it has none. */
bool oom_find_count(const char *text, uint64_t *ret);

/* `cgroup`: the run's own, or NULL.  Never fails: where nothing counts, nothing was killed. */
void oom_watch_begin(struct oom_watch *w, const struct cgroup *cgroup);
/* Ends the watch, before the cgroup is removed. */
bool oom_watch_ended(struct oom_watch *w);
