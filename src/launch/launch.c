/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The caller's side of a launch: prepares everything that the child will need,
 * makes the namespaces, and keeps one end of the pipe. */
#include "launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/file.h"
#include "internal.h"

/* A vforked child runs its few calls and execve(2) on this. */
#define STACK_SIZE 65536U

static void child_free(struct launch_child *c) {
        for (size_t i = 0; i < ARRAY_SIZE(c->stdio); i++)
                close_fdp(&c->stdio[i]);
        for (size_t i = 0; i < ARRAY_SIZE(c->lifted); i++)
                close_fdp(&c->lifted[i]);
        close_fdp(&c->report_fd);
        close_fdp(&c->supervisor_fd);
        close_fdp(&c->init_fd);
        close_fdp(&c->listener_socket);
        close_fdp(&c->filter_fd);
        close_fdp(&c->session);
        close_fdp(&c->order_fd);
        free(c->owned_filter);
        legacy_free(c);
        free(c->shell_argv);
        free(c->init_exec);
        if (c->stack_top)
                (void)munmap(c->stack_top - STACK_SIZE, STACK_SIZE);
}
#define _cleanup_child_ _cleanup_(child_free)

/* A folder as stdin would be a way out of the root: openat(0, "../..") walks the
 * host's tree from there. */
static int refuse_folders(const int *stdio, struct nsrun_error *err) {
        static const char *const names[] = {"standard input", "standard output", "standard error"};

        for (int fd = 0; fd <= 2; fd++) {
                struct stat st;
                bool is_given = stdio && stdio[fd] >= 0;
                int r = sys_fstat(is_given ? stdio[fd] : fd, &st);

                if (r == -EBADF && !is_given)
                        continue;
                if (r < 0)
                        return error_setf(err, NSRUN_STAGE_SUPERVISE, r, NULL, NULL, "%s can't be looked at",
                                          names[fd]);
                if (S_ISDIR(st.st_mode))
                        return error_setf(
                                err, NSRUN_STAGE_POLICY, -EISDIR, NULL,
                                "redirect it from a file or /dev/null",
                                "%s is a folder, through which the command could leave the sandbox",
                                names[fd]);
        }
        return 0;
}

/* Copies beyond 2 of what becomes 0, 1 and 2, and of what those would overwrite. */
static int open_stdio(struct launch_child *c, struct launch_params *params, struct nsrun_error *err) {
        int *const in_the_way[] = {&params->umbrella_fd, &params->lock_fd};
        int r = 0;

        if (!params->stdio)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(c->stdio) && r >= 0; i++)
                if (params->stdio[i] >= 0)
                        r = c->stdio[i] = fcntl(params->stdio[i], F_DUPFD_CLOEXEC, 3);
        for (size_t i = 0; i < ARRAY_SIZE(in_the_way) && r >= 0; i++)
                if (*in_the_way[i] >= 0 && *in_the_way[i] <= 2)
                        r = *in_the_way[i] = c->lifted[i] = fcntl(*in_the_way[i], F_DUPFD_CLOEXEC, 3);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL,
                                 "the command's standard streams can't be had", NULL);
        return 0;
}

static int open_listener(struct launch_child *c, int *ret, struct nsrun_error *err) {
        _cleanup_close_ int own = -EBADF;
        int ends[2], r;

        if (!c->params->wants_denials || !c->plan->seccomp.code)
                return 0;
        r = sys_socketpair(ends);
        if (r >= 0) {
                own = ends[0];
                c->listener_socket = ends[1];
                r = fd_lift(&own);
        }
        if (r >= 0)
                r = fd_lift(&c->listener_socket);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "no sockets to hear of denied calls with", NULL);
        *ret = TAKE_FD(own);
        return 0;
}

/* Both sides have the same one. */
static int open_orders(struct launch_child *c, int *ret, struct nsrun_error *err) {
        int r;

        if (c->plan->raw)
                return 0;
        r = c->order_fd = sys_eventfd();
        if (r >= 0)
                r = fd_lift(&c->order_fd);
        if (r >= 0) {
                r = fcntl(c->order_fd, F_DUPFD_CLOEXEC, 3);
                r = r < 0 ? -errno : r;
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "no descriptors to watch the sandbox with", NULL);
        *ret = r;
        return 0;
}

static int open_descriptors(struct launch_child *c, int *ret_report, struct nsrun_error *err) {
        _cleanup_close_ int read_end = -EBADF;
        int ends[2], r;

        r = sys_pipe(ends);
        if (r >= 0) {
                read_end = ends[0];
                c->report_fd = ends[1];
                r = c->supervisor_fd = sys_pidfd_open(getpid());
        }
        if (r >= 0)
                r = fd_lift(&read_end);
        if (r >= 0)
                r = fd_lift(&c->report_fd);
        if (r >= 0)
                r = fd_lift(&c->supervisor_fd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "no descriptors to watch the sandbox with",
                                 r == -ENOSYS ? "nsrun needs Linux 5.3 or later" : NULL);
        if (c->params->init_path) {
                r = c->init_fd = sys_open(AT_FDCWD, c->params->init_path, O_PATH, 0);
                if (r >= 0)
                        r = fd_lift(&c->init_fd);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, r, c->params->init_path,
                                         "nsrun-init can't be opened", "install nsrun completely");
        }
        *ret_report = TAKE_FD(read_end);
        return 0;
}

static int prepare(struct launch_child *c, struct nsrun_error *err) {
        const struct nsrun_plan *plan = c->plan;
        void *stack;
        int r;

        (void)snprintf(c->uid_map, sizeof(c->uid_map), "%u %u 1\n", plan->uid,
                       plan->raw ? plan->raw->outer_uid : plan->uid);
        (void)snprintf(c->gid_map, sizeof(c->gid_map), "%u %u 1\n", plan->gid,
                       plan->raw ? plan->raw->outer_gid : plan->gid);
        (void)snprintf(c->inner_uid_map, sizeof(c->inner_uid_map), "%u %u 1\n", plan->uid, plan->uid);
        (void)snprintf(c->inner_gid_map, sizeof(c->inner_gid_map), "%u %u 1\n", plan->gid, plan->gid);
        stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED)
                return error_oom(err);
        c->stack_top = (char *)stack + STACK_SIZE;
        c->shell_argv = calloc(strv_length(plan->argv) + 3, sizeof(char *));
        if (!c->shell_argv)
                return error_oom(err);
        limits_prepare(c);
        r = filter_prepare(c, err);
        if (r < 0)
                return r;
        if (c->params->init_path && init_exec_prepare(c) < 0)
                return error_oom(err);
        r = c->plan->join || sys_has_mount_calls() ? 0 : legacy_prepare(c, err);
        return r;
}

static uint64_t namespaces_of(const struct nsrun_plan *plan) {
        if (plan->raw)
                return plan->raw->namespaces;
        return CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
               (plan->net == POLICY_NET_NONE ? CLONE_NEWNET : 0U);
}

/* Into the cgroup, where there is one: at birth, or by the child's first steps. */
static int clone_once(struct launch_child *c, int *ret_pidfd) {
        int pid;

        if (c->params->cgroup && !c->joins_cgroup) {
                pid = sys_clone_into_cgroup(c->namespaces_made, c->params->cgroup->fd, ret_pidfd);
                if (pid != -EOPNOTSUPP)
                        return pid;
                c->joins_cgroup = true;
        }
        return sys_clone_namespaces(c->namespaces_made, ret_pidfd);
}

/* Signals are blocked across the clone, so that none runs a host's handler in
 * the child; the host's own mask is as it was when this returns. */
static int clone_child(struct launch_child *c, int *ret_pidfd, struct nsrun_error *err) {
        uint64_t flags = namespaces_of(c->plan);
        sigset_t all, own;
        int r, pid;

        (void)sigfillset(&all);
        r = sys_sigmask(SIG_SETMASK, &all, &own);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL, "signals can't be blocked", NULL);
        c->mask = c->params->mask ? *c->params->mask : own;
        /* A kernel without cgroups says EINVAL; a sandbox of ours, which allows no
         * cgroup namespaces below it, ENOSPC.  Nothing is lost in either. */
        c->namespaces_made = flags | (c->plan->raw ? 0U : CLONE_NEWCGROUP);
        pid = clone_once(c, ret_pidfd);
        if (c->plan->raw ? pid < 0 && (flags & c->plan->raw->optional) : pid == -EINVAL || pid == -ENOSPC) {
                c->namespaces_made = c->plan->raw ? flags & ~c->plan->raw->optional : flags;
                pid = clone_once(c, ret_pidfd);
        }
        if (pid == 0)
                child_run(c);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        if (pid < 0 && c->plan->raw)
                return error_set(err, NSRUN_STAGE_NAMESPACE, pid, NULL, "Creating new namespace failed",
                                 NULL);
        /* ENODEV: it is gone; EBUSY: it has children with controllers. */
        if (pid < 0 && c->params->cgroup && !c->joins_cgroup &&
            (pid == -EACCES || pid == -ENODEV || pid == -EBUSY))
                return error_set(err, NSRUN_STAGE_NAMESPACE, pid, NULL,
                                 "the sandbox can't be started in its cgroup", NULL);
        if (pid < 0)
                return launch_explain_namespaces(pid, err);
        return pid;
}

/* The plan may be freed before the command ends: the lock is this one's too. */
static int hold_session(const struct nsrun_plan *plan) {
        return plan->join ? fcntl(plan->join->folder.activity_fd, F_DUPFD_CLOEXEC, 3) : -EBADF;
}

int launch_start(const struct nsrun_plan *plan, const struct launch_params *params, struct launch *ret,
                 struct nsrun_error *err) {
        struct launch_params own = *params;
        _cleanup_child_ struct launch_child c = {
                .plan = plan,
                .params = &own,
                .stdio = {-EBADF, -EBADF, -EBADF},
                .lifted = {-EBADF, -EBADF},
                .report_fd = -EBADF,
                .supervisor_fd = -EBADF,
                .init_fd = -EBADF,
                .listener_socket = -EBADF,
                .filter_fd = -EBADF,
                .session = -EBADF,
                .order_fd = -EBADF,
                .joined_pidfd = -EBADF,
                .listener = -EBADF,
                .old_root = -EBADF,
                .new_root = -EBADF,
                .base_root = -EBADF,
                .operation = -1,
                .descriptors = -EBADF,
                .umbrella_fd = -EBADF,
                .overlay_fd = -EBADF,
                .signal_fd = -EBADF,
        };
        _cleanup_close_ int report_fd = -EBADF, listener_socket = -EBADF, order_fd = -EBADF;
        int r, pidfd = -EBADF;

        r = plan->raw ? 0 : refuse_folders(params->stdio, err);
        if (r >= 0)
                r = open_stdio(&c, &own, err);
        if (r >= 0)
                r = open_descriptors(&c, &report_fd, err);
        if (r >= 0)
                r = open_orders(&c, &order_fd, err);
        if (r >= 0)
                r = open_listener(&c, &listener_socket, err);
        if (r >= 0)
                r = prepare(&c, err);
        if (r >= 0)
                r = plan->join ? launch_join(&c, &pidfd, err) : clone_child(&c, &pidfd, err);
        if (r < 0)
                return r;
        *ret = (struct launch){.pid = r,
                               .pidfd = pidfd,
                               .report_fd = TAKE_FD(report_fd),
                               .order_fd = TAKE_FD(order_fd),
                               .namespaces = c.namespaces_made,
                               .is_join = plan->join,
                               .is_nested = plan->join && plan->join->is_nested,
                               .activity_fd = hold_session(plan),
                               .listener_socket = TAKE_FD(listener_socket)};
        return 0;
}

int launch_receive_listener(const struct launch *l) {
        return sys_receive_fd(l->listener_socket);
}

void launch_close(struct launch *l) {
        /* From now on the session may be idle. */
        if (l->activity_fd >= 0)
                (void)futimens(l->activity_fd, NULL);
        close_fdp(&l->activity_fd);
        close_fdp(&l->pidfd);
        close_fdp(&l->report_fd);
        close_fdp(&l->listener_socket);
        close_fdp(&l->order_fd);
}

static int order(const struct launch *l, uint64_t what) {
        ssize_t n = sys_write(l->order_fd, &what, sizeof(what));

        return n < 0 ? (int)n : 0;
}

int launch_signal(const struct launch *l, int signal) {
        int r;

        if (l->is_join && signal == SIGKILL)
                return order(l, ORDER_END);
        r = sys_pidfd_send_signal(l->pidfd, signal);

        return l->pid > 0 && (r == -ENOSYS || r == -EPERM) ? sys_kill(l->pid, signal) : r;
}

void launch_release(const struct launch *l) {
        if (l->is_join)
                (void)order(l, ORDER_RELEASE);
        else
                (void)launch_signal(l, SIGKILL);
}

int launch_end_when_empty(const struct launch *l) {
        return order(l, ORDER_RELEASE);
}

int launch_terminate_all(const struct launch *l) {
        return order(l, ORDER_TERMINATE);
}

int launch_wait(const struct launch *l) {
        struct pollfd end = {.fd = l->pidfd, .events = POLLIN};
        siginfo_t info = {.si_status = 0};

        while (sys_poll(&end, 1, -1) == -EINTR)
                ;
        /* Of the reaper in a session's nested pid namespace, whose parent is the session's pid 1, this
         * much is known: it tells how its command ended before it ends, unless it is killed. */
        if (sys_waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED) < 0)
                return l->is_nested ? SIGKILL : 0;
        return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
}
