/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command of a session: its reaper is born in the session's namespaces, sheds what it
 * got by entering them, and goes on as pid 1 of any sandbox does.  Commands are told apart by a
 * Landlock domain each: the reaper enters one that scopes signals, and the command another
 * one below it.  So nothing that runs in the session can send the reaper a signal, and the
 * reaper's kill(-1) reaches all that its command ever started, in one step of the kernel's and
 * whoever it was reparented to, and nobody else.  Without Landlock's scopes (before 6.12) the
 * reaper is pid 1 of a pid namespace below the session's, to the same effect. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "internal.h"
#include "plan/record.h"

/* Of those who make the clone; the reaper lives on a copy of one of them. */
#define STACK_SIZE (256U << 10)

/* Where a process must be for its children to be born in the session; the rest they do themselves. */
#define WAY_IN ((uint64_t)CLONE_NEWUSER | CLONE_NEWPID)

static int enter_directory(struct launch_child *c) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = sys_openat2(AT_FDCWD, c->plan->cwd, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_MAGICLINKS);
        r = fd == -ENOSYS || fd == -EPERM ? sys_chdir(c->plan->cwd) : fd < 0 ? fd : sys_fchdir(fd);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, c->plan->cwd,
                                 "the working directory can't be entered",
                                 "--chdir names a folder that the sandbox has");
        return 0;
}

/* Before anything else, and while the capabilities that come with a user namespace are there:
 * whoever runs in the session has none, and may trace nobody who has more. */
static int hide(struct launch_child *c) {
        int r = sys_prctl(PR_SET_DUMPABLE, 0, 0);

        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, r, NULL,
                                 "the command's reaper can't be made undumpable", NULL);
        r = sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, r, NULL,
                                 "the command's reaper can't be one", NULL);
        return 0;
}

/* The mount namespace's root becomes this process's root and working directory. */
static int enter_the_rest(struct launch_child *c) {
        int r = sys_setns(c->session, c->plan->join->namespaces & ~WAY_IN);

        /* It was there when the way in was open: without its namespaces it may not be looked at (EPERM). */
        if (r == -ESRCH || r == -EPERM)
                return error_set(&c->error, NSRUN_STAGE_NAMESPACE, -ESRCH, c->plan->join->folder.id,
                                 "the session has ended", NULL);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_NAMESPACE, r, c->plan->join->folder.id,
                                 "the session can't be entered", NULL);
        return 0;
}

static int settle(struct launch_child *c) {
        int keep[] = {c->report_fd,       c->supervisor_fd, c->init_fd,
                      c->listener_socket, c->filter_fd,     c->order_fd};
        const uint64_t *inodes = c->plan->join->namespace_inodes;
        int r;

        r = hide(c);
        if (r >= 0)
                r = enter_the_rest(c);
        if (r >= 0)
                r = harden_descriptors(keep, ARRAY_SIZE(keep), &c->error);
        if (r >= 0)
                r = enter_directory(c);
        if (r >= 0)
                r = harden_no_new_privileges(&c->error);
        if (r >= 0 && c->plan->is_scoped)
                r = harden_scope(&c->error);
        /* An exec makes a process dumpable: capabilities keep others out until nsrun-init
         * has ended that, and it drops them then. */
        if (r >= 0)
                r = c->init_fd >= 0 ? harden_keep_capabilities(~UINT64_C(0), true, &c->error)
                                    : harden_capabilities(&c->error);
        c->namespaces =
                (struct launch_namespaces){inodes[0], inodes[1], inodes[2], inodes[3], inodes[4], inodes[5]};
        return r;
}

nsrun_no_asan _Noreturn void join_run(struct launch_child *c) {
        int r = child_take_stdio(c);

        c->umask = umask(0);
        if (r >= 0)
                r = settle(c);
        if (r >= 0 && c->init_fd >= 0)
                r = init_exec(c);
        if (r < 0)
                child_fail(c);
        if (c->params->command_line)
                memset(c->params->command_line, 0, c->params->command_line_size);
        child_finish(c);
}

nsrun_no_asan static int clone_reaper(struct launch_child *c, uint64_t flags) {
        int pid = sys_clone_namespaces(flags, &c->joined_pidfd);

        if (pid == 0)
                join_run(c);
        c->joined_pid = pid;
        return pid < 0 ? pid : 0;
}

/* One step further in: only who is in a pid namespace can make one below it (pid_namespaces(7)).  The
 * reaper is the session's pid 1's child when this is gone. */
nsrun_no_asan static int go_further(void *launch_child) {
        struct launch_child *c = launch_child;

        c->exec_error = clone_reaper(c, CLONE_NEWPID);
        _exit(0);
}

static int enter(struct launch_child *c, uint64_t flags) {
        int r = sys_setns(c->session, WAY_IN);

        if (r >= 0 && c->plan->join->is_nested)
                r = sys_vfork(go_further, c, c->inner_stack, true);
        else if (r >= 0)
                return clone_reaper(c, flags);
        if (r > 0) {
                siginfo_t info;

                (void)sys_waitid(P_PID, (id_t)r, &info, WEXITED);
                r = c->exec_error;
        }
        return r;
}

/* A process of its own for the way in, since a host's threads can't go (setns(2)); it shares
 * the host's memory and descriptors, leaves there what it made, and is gone. */
nsrun_no_asan static int go_in(void *launch_child) {
        struct launch_child *c = launch_child;

        /* First, and not by CLONE_INTO_CGROUP later: from inside of the session's cgroup namespace its
         * cgroup can't be named where namespaces are delegation boundaries (nsdelegate, systemd's way). */
        c->exec_error = c->params->cgroup ? child_join_cgroup(c) : 0;
        if (c->exec_error >= 0)
                c->exec_error = enter(c, CLONE_PARENT);
        _exit(0);
}

/* The nsrun program has no threads, and nothing to lose but a namespace of users: it goes in itself,
 * and stays outside in all other respects. */
static int enter_directly(struct launch_child *c) {
        int r = sys_prctl(PR_SET_DUMPABLE, 0, 0);

        return r < 0 ? r : enter(c, 0);
}

static int send_somebody(struct launch_child *c, char *stack_top) {
        int r = sys_vfork(go_in, c, stack_top, true);
        siginfo_t info;

        if (r < 0)
                return r;
        (void)sys_waitid(P_PID, (id_t)r, &info, WEXITED);
        return c->exec_error;
}

static int fail(const struct launch_child *c, int r, struct nsrun_error *err) {
        const char *id = c->plan->join->folder.id;

        if (c->error.stage != NSRUN_STAGE_NONE) {
                if (err && err->stage == NSRUN_STAGE_NONE)
                        *err = c->error;
                return r;
        }
        /* Nothing is born in a pid namespace whose pid 1 is dead (ENOMEM). */
        if (r == -ESRCH || r == -ENOMEM || (r == -EPERM && record_has_exited(c->plan->join->init.pid)))
                return error_set(err, NSRUN_STAGE_NAMESPACE, -ESRCH, id, "the session has ended", NULL);
        if (r == -EAGAIN)
                return error_set(
                        err, NSRUN_STAGE_NAMESPACE, r, id, "the session has no room for another process",
                        "what earlier commands left behind counts: --kill-leftovers ends that with them");
        return error_set(err, NSRUN_STAGE_NAMESPACE, r, id, "the session can't be entered",
                         r == -EPERM || r == -EINVAL
                                 ? "Linux 5.8 or later and a caller from outside any sandbox are needed"
                                 : NULL);
}

int launch_join(struct launch_child *c, int *ret_pidfd, struct nsrun_error *err) {
        /* Its search for leaks makes a process that must see this one. */
        bool is_direct = !c->params->init_path && !c->params->cgroup && !NSRUN_HAS_ASAN;
        char *stack = NULL;
        sigset_t all, own;
        int r;

        r = c->session = record_open_process(&c->plan->join->init);
        if (r < 0)
                return fail(c, r, err);
        if (!is_direct || c->plan->join->is_nested) {
                stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (stack == MAP_FAILED)
                        return error_oom(err);
                c->inner_stack = stack + STACK_SIZE / 2;
        }
        (void)sigfillset(&all);
        r = sys_sigmask(SIG_SETMASK, &all, &own);
        c->mask = c->params->mask ? *c->params->mask : own;
        c->namespaces_made = c->plan->join->namespaces;
        if (r >= 0)
                r = is_direct ? enter_directly(c) : send_somebody(c, stack + STACK_SIZE);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        if (stack)
                (void)munmap(stack, STACK_SIZE);
        c->exec_error = 0;
        /* The session's end is also that of who had gone in as far as that. */
        if (r >= 0 && c->joined_pidfd < 0)
                r = -ESRCH;
        if (r < 0)
                return fail(c, r, err);
        *ret_pidfd = TAKE_FD(c->joined_pidfd);
        if (!c->plan->join->is_nested)
                return c->joined_pid;
        /* It may have come to its end already, and is nobody's to wait for here. */
        r = number_of_pidfd(*ret_pidfd);
        return r < 0 ? 0 : r;
}

void launch_end_session(const struct nsrun_plan *plan, const struct launch *l, int status) {
        _cleanup_close_ int init = -EBADF;

        /* With a pid namespace of its own the kernel has ended them all. */
        if (!l->is_join || !plan->is_scoped || !WIFSIGNALED(status))
                return;
        init = record_open_process(&plan->join->init);
        if (init >= 0)
                (void)sys_pidfd_send_signal(init, SIGKILL);
}
