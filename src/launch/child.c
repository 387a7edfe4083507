/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child of the clone, from its first instruction to pid 1's last: a walk
 * over ready data.  Async-signal-safe calls alone; no allocation, no stdio. */
#include <fcntl.h>
#include <sys/prctl.h>

#include "internal.h"

void child_note(struct launch_child *c, const char *what, const char *path) {
        struct launch_report report = {.kind = LAUNCH_NOTE};

        (void)error_set(&report.error, NSRUN_STAGE_PROC, 0, path, what, NULL);
        (void)report_send(c->report_fd, &report);
}

/* From here to the supervisor's death there is no window: either the signal is
 * armed, or the pidfd shows that it came too late. */
nsrun_no_asan int child_die_with_supervisor(struct launch_child *c) {
        struct pollfd supervisor = {.fd = c->supervisor_fd, .events = POLLIN};
        int r;

        if (!c->params->dies_with_thread && !c->plan->raw)
                return 0;
        r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, r, NULL,
                                 "the parent-death signal can't be set", NULL);
        r = sys_poll(&supervisor, 1, 0);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the supervisor can't be watched", NULL);
        if (r > 0)
                _exit(125);
        return 0;
}

static int write_map(struct launch_child *c, int dir, const char *prefix, const char *name,
                     const char *text) {
        _cleanup_close_ int fd = -EBADF;
        char path[64];
        ssize_t n;

        strcpy(path, prefix);
        strcat(path, name);
        fd = sys_open(dir, path, O_WRONLY, 0);
        n = fd < 0 ? fd : sys_write(fd, text, strlen(text));
        /* setgroups came with 3.19; a kernel without it wants no "deny" either. */
        if (n == -ENOENT && streq(name, "setgroups"))
                return 0;
        if (n < 0)
                return error_set(&c->error, NSRUN_STAGE_IDMAP, (int)n, path, "the id map can't be written",
                                 n == -ENOENT ? "nsrun needs a mounted /proc to start from" : NULL);
        return 0;
}

/* One line each: our own ids, which a process may map for its own namespace without
 * any privilege outside. */
int child_map_ids(struct launch_child *c, int dir, const char *prefix, const char *uid_map,
                  const char *gid_map) {
        int r;

        r = write_map(c, dir, prefix, "setgroups", "deny");
        if (r >= 0)
                r = write_map(c, dir, prefix, "uid_map", uid_map);
        if (r >= 0)
                r = write_map(c, dir, prefix, "gid_map", gid_map);
        return r;
}

int child_set_hostname(struct launch_child *c) {
        const char *name = c->plan->hostname;
        int r = name ? sys_sethostname(name, strlen(name)) : 0;

        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_NAMESPACE, r, NULL, "the host name can't be set",
                                 NULL);
        return 0;
}

static int learn_namespaces(struct launch_child *c) {
        struct launch_namespaces *n = &c->namespaces;
        const struct {
                const char *path;
                uint64_t *to;
        } all[] = {
                {"/proc/self/ns/user", &n->user}, {"/proc/self/ns/mnt", &n->mnt},
                {"/proc/self/ns/pid", &n->pid},   {"/proc/self/ns/ipc", &n->ipc},
                {"/proc/self/ns/uts", &n->uts},   {"/proc/self/ns/net", &n->net},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct stat st;
                int r = sys_stat(all[i].path, &st);

                if (r < 0)
                        return error_set(&c->error, NSRUN_STAGE_NAMESPACE, r, all[i].path,
                                         "a namespace can't be told apart", NULL);
                *all[i].to = st.st_ino;
        }
        return 0;
}

/* No cgroup namespace below ours: in one of its own a nested user namespace may mount
 * cgroup2, and there freeze or kill whoever shares the caller's cgroup.  The
 * limit is this user namespace's own and holds for all below it (4.9). */
static int forbid_cgroup_namespaces(struct launch_child *c) {
        static const char path[] = "/proc/sys/user/max_cgroup_namespaces";
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        fd = sys_open(AT_FDCWD, path, O_WRONLY, 0);
        if (fd == -ENOENT)
                return 0;
        if (fd == -EROFS || fd == -EACCES) {
                child_note(c, "a container's read-only /proc/sys: commands may make cgroup namespaces",
                           path);
                return 0;
        }
        n = fd < 0 ? fd : sys_write(fd, "0", 1);
        if (n < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, (int)n, path,
                                 "nested cgroup namespaces can't be forbidden", NULL);
        return 0;
}

/* Through a descriptor that the supervisor opened: the right to it is then the
 * supervisor's, and the way to it its cgroup namespace's (5.16). */
int child_join_cgroup(struct launch_child *c) {
        ssize_t n = sys_write(c->params->cgroup->procs_fd, "0", 1);

        if (n < 0)
                return error_set(&c->error, NSRUN_STAGE_NAMESPACE, (int)n, "cgroup.procs",
                                 "the sandbox can't enter its cgroup", NULL);
        return 0;
}

static int build(struct launch_child *c) {
        int keep[] = {c->report_fd,       c->supervisor_fd,   c->init_fd,   c->params->umbrella_fd,
                      c->params->lock_fd, c->listener_socket, c->filter_fd, c->order_fd};
        int r;

        r = child_die_with_supervisor(c);
        if (r >= 0 && c->joins_cgroup)
                r = child_join_cgroup(c);
        if (r >= 0)
                r = harden_descriptors(keep, ARRAY_SIZE(keep), &c->error);
        if (r >= 0)
                r = child_map_ids(c, AT_FDCWD, "/proc/self/", c->uid_map, c->gid_map);
        if (r >= 0)
                r = forbid_cgroup_namespaces(c);
        if (r >= 0 && c->params->wants_started)
                r = learn_namespaces(c);
        if (r >= 0 && c->plan->net == POLICY_NET_NONE)
                r = network_loopback(&c->error);
        if (r >= 0)
                r = child_set_hostname(c);
        if (r >= 0)
                r = mount_private_root(c);
        if (r >= 0)
                r = mount_operations(c);
        if (r >= 0)
                r = mount_seal(c);
        if (r >= 0)
                r = harden_capabilities(&c->error);
        if (r >= 0)
                r = limits_check_processes(c);
        if (r >= 0)
                r = harden_process(&c->error);
        /* pid 1 of a session signals whoever joined it, each of them in a domain of its own. */
        if (r >= 0 && c->plan->is_scoped && !c->plan->is_session)
                r = harden_scope(&c->error);
        return r;
}

nsrun_no_asan _Noreturn void child_fail(struct launch_child *c) {
        struct launch_report report = {.kind = LAUNCH_FAILED, .operation = c->operation, .error = c->error};

        (void)report_send(c->report_fd, &report);
        _exit(125);
}

int child_take_stdio(struct launch_child *c) {
        for (int fd = 0; fd <= 2; fd++) {
                int r = c->stdio[fd] >= 0 ? sys_dup_to(c->stdio[fd], fd) : 0;

                if (r < 0)
                        return error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "the command's standard streams can't be set", NULL);
        }
        return 0;
}

nsrun_no_asan _Noreturn void child_finish(struct launch_child *c) {
        struct launch_report report = {.kind = LAUNCH_EXITED};

        report.status = init_run(c);
        if (report.status < 0)
                child_fail(c);
        report.operation = c->plan->raw && raw_has_others();
        (void)report_send(c->report_fd, &report);
        if (c->plan->join && !c->params->lingers)
                init_leave(c);
        if (c->params->lingers || c->plan->join) {
                if (init_linger(c) < 0)
                        child_fail(c);
        } else if (c->plan->raw) {
                raw_reap_the_rest();
        }
        _exit(0);
}

nsrun_no_asan _Noreturn void child_run(struct launch_child *c) {
        int r = child_take_stdio(c);

        if (r < 0)
                child_fail(c);
        if (c->plan->raw)
                raw_run(c);
        c->umask = umask(0);
        r = build(c);
        if (r >= 0 && c->init_fd >= 0)
                r = init_exec(c);
        if (r < 0)
                child_fail(c);
        /* /proc/1/cmdline is readable by all: the host's paths are not for the command. */
        if (c->params->command_line)
                memset(c->params->command_line, 0, c->params->command_line_size);
        child_finish(c);
}
