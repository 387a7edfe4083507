/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's resource limits: set in the vforked child, never on pid 1, which has
 * to outlive whoever runs out of something.  cgroups are run/'s. */
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "internal.h"

static void add_limit(struct launch_child *c, int resource, uint64_t soft, uint64_t hard) {
        c->limits[c->n_limits++] = (struct limit){resource, {soft, hard}};
}

/* UINT64_MAX: any number. */
static uint64_t most_processes(const struct launch_child *c) {
        /* pid 1 is counted, and in a session the command's own reaper and the program that went in for
         * it (join.c): none of them is the command's. */
        unsigned ours = !c->plan->join ? 1 : c->params->init_path ? 2 : 3;
        uint64_t most = c->params->n_processes + ours;
        struct sys_rlimit own;

        if (c->params->n_processes == 0)
                return UINT64_MAX;
        /* The caller's own may be lower: nobody here could raise it. */
        return sys_prlimit(RLIMIT_NPROC, NULL, &own) >= 0 && own.hard < most ? own.hard : most;
}

void limits_prepare(struct launch_child *c) {
        uint64_t most = most_processes(c);

        for (int resource = 0; resource < RLIMITS_COUNT; resource++) {
                const struct policy_rlimit *limit = &c->plan->limits.rlimits[resource];
                uint64_t soft = limit->soft, hard = limit->hard;

                if (resource == RLIMIT_NPROC && most != UINT64_MAX) {
                        soft = limit->is_set && soft < most ? soft : most;
                        hard = limit->is_set && hard < most ? hard : most;
                } else if (!limit->is_set) {
                        continue;
                }
                add_limit(c, resource, soft, hard);
        }
}

int limits_set(struct launch_child *c) {
        for (size_t i = 0; i < c->n_limits; i++) {
                int r = sys_prlimit(c->limits[i].resource, &c->limits[i].value, NULL);

                if (r < 0)
                        return error_set(&c->error, NSRUN_STAGE_HARDENING, r,
                                         rlimit_name(c->limits[i].resource), "a limit can't be set", NULL);
        }
        return 0;
}

nsrun_no_asan static int end_at_once(void *nothing) {
        (void)nothing;
        _exit(0);
}

/* Whether pid 1 may have one child while RLIMIT_NPROC is `most`: 0 or -EAGAIN. */
static int try_child(struct launch_child *c, uint64_t most) {
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
        child = sys_vfork(end_at_once, NULL, c->stack_top, false);
        r = sys_prlimit(RLIMIT_NPROC, &own, NULL);
        if (child > 0)
                (void)sys_waitid(P_PID, (id_t)child, &info, WEXITED);
        return child < 0 ? child : r;
}

/* The kernel's rules have exceptions (the host's root by whatever id, 5.14's count by
 * namespace): it is asked, not they are guessed. */
int limits_check_processes(struct launch_child *c) {
        const char *what = "--limit pids: the kernel doesn't count this user's processes, and no cgroup can";
        int r;

        if (c->params->n_processes == 0)
                return 0;
        r = try_child(c, 1);
        if (r == -EAGAIN) {
                /* Pid 1 and a child; the user's others are counted too before 5.14. */
                r = try_child(c, 2);
                if (r >= 0)
                        return 0;
                what = "--limit pids: the kernel counts all of the user's processes, and no cgroup can count "
                       "the sandbox's";
        } else if (r < 0) {
                what = "--limit pids: can't tell whether the kernel counts this user's processes";
        }
        return error_set(&c->error, NSRUN_STAGE_HARDENING, r < 0 && r != -EAGAIN ? r : -EOPNOTSUPP, NULL,
                         what, c->params->processes_hint);
}

void limits_format(const struct launch_child *c, char text[LIMITS_TEXT_SIZE]) {
        size_t n = 0;

        text[0] = '\0';
        for (size_t i = 0; i < c->n_limits; i++)
                n += (size_t)snprintf(text + n, LIMITS_TEXT_SIZE - n, "%d=%" PRIu64 ":%" PRIu64 ",",
                                      c->limits[i].resource, c->limits[i].value.soft,
                                      c->limits[i].value.hard);
}

int limits_parse(struct launch_child *c, const char *text) {
        while (*text) {
                struct sys_rlimit value;
                int resource;
                char *end;

                if (c->n_limits == RLIMITS_COUNT)
                        return -EINVAL;
                resource = (int)strtol(text, &end, 10);
                value.soft = strtoull(end + (*end == '='), &end, 10);
                value.hard = strtoull(end + (*end == ':'), &end, 10);
                if (*end != ',')
                        return -EINVAL;
                add_limit(c, resource, value.soft, value.hard);
                text = end + 1;
        }
        return 0;
}
