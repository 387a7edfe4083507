/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the kernel killed a process for want of memory during a run.  The kernel counts such
 * kills for a cgroup, or for the machine: ask only about a command that SIGKILL has ended. */
#pragma once

#include "cgroup.h"

struct oom_watch {
        int fd;          /* the file with the counter; or -EBADF */
        uint64_t before; /* the counter when the watch began */
        bool is_own; /* the counter is that of the run's own cgroup, which counts nobody else's processes */
};

#define OOM_WATCH_INIT       \
        (struct oom_watch) { \
                .fd = -EBADF \
        }

/* Finds the counter in the text of a memory.events or of /proc/vmstat; false: there is none. */
bool oom_find_count(const char *text, uint64_t *ret);

/* Begins a watch.  `cgroup` is the run's own, or NULL.  Never fails: if no counter can be read, the
 * watch will say that nothing was killed. */
void oom_watch_begin(struct oom_watch *w, const struct cgroup *cgroup);
/* Ends the watch, and says whether the counter has grown.  The cgroup must still exist. */
bool oom_watch_ended(struct oom_watch *w);
