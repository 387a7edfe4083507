/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's resource limits: set in the vforked child, never on pid 1, which has
 * to outlive a command that runs out of something.  cgroups are run/'s. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "exec.h"

/* The most processes that the user may have, of which `n_ours` are nsrun's; UINT64_MAX: any number. */
static uint64_t most_processes(const struct launch_params *params, unsigned n_ours) {
        uint64_t most = params->n_processes + n_ours;
        struct sys_rlimit own;

        if (params->n_processes == 0)
                return UINT64_MAX;
        /* The caller's own hard limit may be lower, and no process here could raise it. */
        return sys_prlimit(RLIMIT_NPROC, NULL, &own) >= 0 && own.hard < most ? own.hard : most;
}

/* The kernel takes a limit of 1 for no core file, and for nothing to a program that core_pattern pipes to,
 * which 0 doesn't keep from it (core(5)). */
static uint64_t no_core(void) {
        struct sys_rlimit own;

        return sys_prlimit(RLIMIT_CORE, NULL, &own) >= 0 && own.hard == 0 ? 0 : 1;
}

/* Signals that wait and messages that are queued are counted for the user, in all of the user's namespaces
 * (getrlimit(2)): others keep one half. */
static bool halve_shared(int resource, uint64_t *soft, uint64_t *hard) {
        struct sys_rlimit own;

        if ((resource != RLIMIT_SIGPENDING && resource != RLIMIT_MSGQUEUE) ||
            sys_prlimit(resource, NULL, &own) < 0 || own.hard == RLIM_INFINITY)
                return false;
        *hard = own.hard / 2;
        *soft = own.soft < *hard ? own.soft : *hard;
        return true;
}

void limits_prepare(struct child *c, unsigned n_ours) {
        uint64_t most = most_processes(c->params, n_ours);
        struct init *init = &c->reaper.init;

        for (int resource = 0; resource < RLIMITS_COUNT; resource++) {
                const struct policy_rlimit *limit = &c->plan->limits.rlimits[resource];
                uint64_t soft = limit->soft, hard = limit->hard;

                if (resource == RLIMIT_NPROC && most != UINT64_MAX) {
                        soft = limit->is_set && soft < most ? soft : most;
                        hard = limit->is_set && hard < most ? hard : most;
                } else if (resource == RLIMIT_CORE && !limit->is_set && c->plan->has_own_limits) {
                        soft = hard = no_core();
                } else if (!limit->is_set &&
                           (!c->plan->has_own_limits || !halve_shared(resource, &soft, &hard))) {
                        continue;
                }
                init->limits[init->n_limits++] = (struct init_limit){resource, {soft, hard}};
        }
}

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
static int try_child(struct child *c, uint64_t most) {
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
        child = sys_vfork(end_at_once, NULL, c->reaper.stack_top, false);
        r = sys_prlimit(RLIMIT_NPROC, &own, NULL);
        if (child > 0)
                (void)sys_waitid(P_PID, (id_t)child, &info, WEXITED);
        return child < 0 ? child : r;
}

/* Finds out by trying whether RLIMIT_NPROC is kept: the kernel's rules have exceptions (the host's
 * root under any id, 5.14's count by user namespace). */
int limits_check_processes(struct child *c) {
        const char *what = "--limit pids: the kernel doesn't count this user's processes, and no cgroup can";
        int r;

        if (c->params->n_processes == 0)
                return 0;
        r = try_child(c, 1);
        if (r == -EAGAIN) {
                /* Two: pid 1 and a child.  Before 5.14 the user's other processes are counted, too. */
                r = try_child(c, 2);
                if (r >= 0)
                        return 0;
                what = "--limit pids: the kernel counts all of the user's processes, and no cgroup can count "
                       "the sandbox's";
        } else if (r < 0) {
                what = "--limit pids: can't tell whether the kernel counts this user's processes";
        }
        return error_set(&c->reaper.error, NSRUN_STAGE_HARDENING, r < 0 && r != -EAGAIN ? r : -EOPNOTSUPP,
                         NULL, what, c->params->processes_hint);
}
