/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's resource limits: set in the vforked child, never on pid 1, which has
 * to outlive a command that runs out of something.  cgroups are run/'s. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "builder.h"
#include "exec.h"

int limits_set(struct reaper *p) {
        for (size_t i = 0; i < p->init.n_limits; i++) {
                const struct init_limit *limit = &p->init.limits[i];
                int r = sys_prlimit(limit->resource, &limit->value, NULL);

                if (r < 0)
                        return error_set(&p->error, NSRUN_STAGE_HARDENING, r, rlimit_name(limit->resource),
                                         "a limit can't be set", NULL);
        }
        return 0;
}

nsrun_no_asan static int end_at_once(void *nothing) {
        (void)nothing;
        _exit(0);
}

/* Whether pid 1 may have one child while RLIMIT_NPROC is `most`: 0 or -EAGAIN. */
static int try_child(struct builder *b, uint64_t most) {
        struct sys_rlimit own, few;
        siginfo_t info;
        int r, child;

        r = sys_prlimit(RLIMIT_NPROC, NULL, &own);
        if (r < 0)
                return r;
        few = (struct sys_rlimit){most < own.hard ? most : own.hard, own.hard};
        r = sys_prlimit(RLIMIT_NPROC, &few, NULL);
        if (r < 0)
                return r;
        child = sys_vfork(end_at_once, NULL, b->reaper.stack_top, false);
        r = sys_prlimit(RLIMIT_NPROC, &own, NULL);
        if (child > 0)
                (void)sys_waitid(P_PID, (id_t)child, &info, WEXITED);
        return child < 0 ? child : r;
}

/* Finds out by trying whether RLIMIT_NPROC is kept: the kernel's rules have exceptions (the host's
 * root under any id, 5.14's count by user namespace). */
int limits_check_processes(struct builder *b) {
        const char *what = "--limit pids: the kernel doesn't count this user's processes, and no cgroup can";
        int r;

        if (b->b.facts.n_processes == 0)
                return 0;
        r = try_child(b, 1);
        if (r == -EAGAIN) {
                /* Two: pid 1 and a child.  Before 5.14 the user's other processes are counted, too. */
                r = try_child(b, 2);
                if (r >= 0)
                        return 0;
                what = "--limit pids: the kernel counts all of the user's processes, and no cgroup can count "
                       "the sandbox's";
        } else if (r < 0) {
                what = "--limit pids: can't tell whether the kernel counts this user's processes";
        }
        return error_set(&b->reaper.error, NSRUN_STAGE_HARDENING, r < 0 && r != -EAGAIN ? r : -EOPNOTSUPP,
                         NULL, what, b->b.processes_hint);
}
