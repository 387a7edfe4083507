/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the command's resource limits there will be; boundary/limits.c sets them.  cgroups are run/'s. */
#include <sys/resource.h>

#include "base/programs.h"
#include "child.h"

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
        struct init *init = &c->b.facts.init;
        struct sys_rlimit files;

        for (int resource = 0; resource < RLIMITS_COUNT; resource++) {
                const struct policy_rlimit *limit = &c->plan->limits.rlimits[resource];
                uint64_t soft = limit->soft, hard = limit->hard;

                if (resource == RLIMIT_NPROC && most != UINT64_MAX) {
                        soft = limit->is_set && soft < most ? soft : most;
                        hard = limit->is_set && hard < most ? hard : most;
                } else if (resource == RLIMIT_CORE && !limit->is_set && c->plan->has_own_limits) {
                        soft = hard = no_core();
                } else if (resource == RLIMIT_NOFILE && !limit->is_set && program_files_before(&files)) {
                        soft = files.soft;
                        hard = files.hard;
                } else if (!limit->is_set &&
                           (!c->plan->has_own_limits || !halve_shared(resource, &soft, &hard))) {
                        continue;
                }
                init->limits[init->n_limits++] = (struct init_limit){resource, {soft, hard}};
        }
}
