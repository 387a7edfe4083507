/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes, fills in, removes and reclaims cgroups.  One is called "nsrun-…", and its supervisor holds
 * a lock (flock(2)) on its folder.  It is empty until the sandbox's first process is started in it:
 * an empty one that nobody has locked is left over from a supervisor that died. */
#include "cgroup.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "disk/locked.h"

#define NAME_PREFIX "nsrun-"

enum {
        CPU_PERIOD = 100000,  /* µs; the kernel's default */
        PIDS_MOST = 4 << 20,  /* PID_MAX_LIMIT */
        EMPTY_TIMEOUT = 5000, /* ms; processes that were killed may take a while to be gone */
};

static int write_value(int dir, const char *name, const char *text) {
        _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

        return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Moves this process to a child of its own cgroup, since the kernel enables controllers for a
 * cgroup's children only while the cgroup itself has no processes. */
static int move_out(struct cgroup *c, struct nsrun_error *err) {
        int r = locked_make_bare(c->place.fd, NAME_PREFIX, c->supervisor, &c->supervisor_fd);

        if (r >= 0)
                r = fd_lift(&c->supervisor_fd);
        if (r >= 0)
                r = write_value(c->supervisor_fd, "cgroup.procs", "0");
        if (r >= 0)
                r = cgroup_switch(c->place.fd, c->place.enabled, '+');
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, c->place.path,
                                 "nsrun can't make room in its own cgroup", NULL);
        return 0;
}

static int write_limit(const struct cgroup *c, const char *name, const char *text, struct nsrun_error *err) {
        int r = write_value(c->launch.fd, name, text);

        if (r < 0)
                return error_setf(err, NSRUN_STAGE_HARDENING, r, c->place.path, NULL,
                                  "%s of a cgroup of ours can't be written", name);
        return 0;
}

static int write_limits(const struct cgroup *c, const struct policy_limits *limits,
                        struct nsrun_error *err) {
        char text[48];
        int r = 0;

        if (c->controllers & CGROUP_MEMORY) {
                (void)snprintf(text, sizeof(text), "%" PRIu64, limits->memory);
                r = write_limit(c, "memory.max", text, err);
                /* Without this bound memory.max would leave the command all of the machine's swap.
                 * The file doesn't exist on a kernel without swap. */
                if (r >= 0 && faccessat(c->launch.fd, "memory.swap.max", F_OK, 0) == 0)
                        r = write_limit(c, "memory.swap.max", "0", err);
        }
        if (r >= 0 && (c->controllers & CGROUP_PIDS)) {
                /* One more than asked for, for pid 1.  The kernel refuses a number above its own bound. */
                if (limits->pids < PIDS_MOST)
                        (void)snprintf(text, sizeof(text), "%" PRIu64, limits->pids + 1);
                else
                        strcpy(text, "max");
                r = write_limit(c, "pids.max", text, err);
        }
        if (r >= 0 && (c->controllers & CGROUP_CPU)) {
                (void)snprintf(text, sizeof(text), "%" PRIu64 " %d", limits->cpu * CPU_PERIOD / 1000,
                               CPU_PERIOD);
                r = write_limit(c, "cpu.max", text, err);
        }
        return r;
}

static int make(struct cgroup *c, const struct policy_limits *limits, struct nsrun_error *err) {
        struct stat st = {0};
        int r = fd_lift(&c->place.fd);

        if (r >= 0 && c->place.is_own)
                r = move_out(c, err);
        if (r >= 0)
                r = locked_make_bare(c->place.fd, NAME_PREFIX, c->name, &c->launch.fd);
        if (r >= 0)
                r = fd_lift(&c->launch.fd);
        if (r >= 0 && (c->launch.procs_fd = openat(c->launch.fd, "cgroup.procs", O_WRONLY | O_CLOEXEC)) < 0)
                r = -errno;
        if (r >= 0)
                r = fd_lift(&c->launch.procs_fd);
        if (r >= 0 && !(c->launch.path = path_join(c->place.path, c->name)))
                r = -ENOMEM;
        if (r >= 0 && fstat(c->launch.fd, &st) < 0)
                r = -errno;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, c->place.path, "a cgroup can't be made",
                                 NULL);
        c->launch.dev = st.st_dev;
        c->launch.inode = st.st_ino;
        return write_limits(c, limits, err);
}

/* Opens the cgroup of the session that a command joins.  The session's monitor removes it. */
static int open_session_cgroup(const struct plan_join *join, struct cgroup *c, struct launch_params *params,
                               struct nsrun_error *err) {
        params->n_processes = join->n_processes;
        if (!join->cgroup)
                return 0;
        c->launch.fd = open(join->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (c->launch.fd >= 0)
                c->launch.procs_fd = openat(c->launch.fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (c->launch.procs_fd < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, join->cgroup,
                                 "the session's cgroup can't be opened", NULL);
        params->cgroup = &c->launch;
        return 0;
}

int cgroup_prepare(const struct nsrun_plan *plan, bool may_move, struct cgroup *c,
                   struct launch_params *params, struct nsrun_error *err) {
        const struct policy_limits *limits = &plan->limits;
        unsigned must = (limits->memory > 0 ? CGROUP_MEMORY : 0U) | (limits->cpu > 0 ? CGROUP_CPU : 0U);
        unsigned wanted = must | (limits->pids > 0 ? CGROUP_PIDS : 0U);
        int r;

        if (plan->join)
                return open_session_cgroup(plan->join, c, params, err);
        if (wanted == 0)
                return 0;
        r = cgroup_find_place(wanted, may_move, &c->place, wanted == must ? err : &c->no_pids);
        if (r == -EOPNOTSUPP && wanted != must) {
                if (plan->refuses_degraded)
                        return degraded_refuse(err, DEGRADED_PIDS, NULL, c->no_pids.hint);
                /* Without a cgroup, RLIMIT_NPROC bounds the processes. */
                params->n_processes = limits->pids;
                params->processes_hint = c->no_pids.hint;
                wanted = must;
                r = must == 0 ? 0 : cgroup_find_place(must, may_move, &c->place, err);
        }
        if (r < 0)
                return r == -ENOMEM ? error_oom(err) : r;
        if (wanted == 0)
                return 0;
        c->controllers = wanted;
        r = make(c, limits, err);
        if (r >= 0)
                params->cgroup = &c->launch;
        return r;
}

/* Waits until the kernel says that no process is in the cgroup. */
static void wait_until_empty(int cgroup) {
        _cleanup_close_ int fd = openat(cgroup, "cgroup.events", O_RDONLY | O_CLOEXEC);
        struct pollfd change = {.fd = fd, .events = POLLPRI};

        for (int r = 1; fd >= 0 && r > 0;) {
                char text[256];
                ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

                text[n > 0 ? n : 0] = '\0';
                if (!strstr(text, "populated 1"))
                        return;
                r = poll(&change, 1, EMPTY_TIMEOUT);
        }
}

void cgroup_remove(struct cgroup *c) {
        if (c->launch.fd >= 0 && c->place.fd >= 0) {
                if (unlinkat(c->place.fd, c->name, AT_REMOVEDIR) < 0 && errno == EBUSY) {
                        (void)write_value(c->launch.fd, "cgroup.kill", "1"); /* since Linux 5.14 */
                        wait_until_empty(c->launch.fd);
                        (void)unlinkat(c->place.fd, c->name, AT_REMOVEDIR);
                }
        }
        if (c->supervisor_fd >= 0) {
                (void)cgroup_switch(c->place.fd, c->place.enabled, '-');
                (void)write_value(c->place.fd, "cgroup.procs", "0");
                (void)unlinkat(c->place.fd, c->supervisor, AT_REMOVEDIR);
        }
        if (c->supervisor_fd < 0)
                cgroup_place_restore(&c->place);
        close_fdp(&c->launch.fd);
        close_fdp(&c->launch.procs_fd);
        close_fdp(&c->supervisor_fd);
        free(c->launch.path);
        cgroup_place_clear(&c->place);
        *c = CGROUP_INIT;
}

const char *cgroup_pids_by(const struct cgroup *c, const struct nsrun_plan *plan) {
        if (plan->limits.pids == 0)
                return NULL;
        return c->controllers & CGROUP_PIDS ? "cgroup" : "rlimit";
}
