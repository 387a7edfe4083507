/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a process gets into a session unseen.  Whoever runs in there can list the processes of its pid
 * namespace and read a good deal of each without any right over it: mounts, network tables, the command
 * line.  So a process that isn't in that pid namespace enters all others, and its child is born in it with
 * nothing of the host's: undumpable, and with an empty command line. */
#include "enter.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "harden.h"
#include "init_handover.h"
#include "mount.h"
#include "reaper_outside.h"

/* Closes the descriptors that the reaper has of the process that made it. */
static int shed_descriptors(const struct entering *e) {
        const struct init *init = &e->reaper->init;
        const int own[] = {init->report_fd,  init->supervisor_fd, init->listener_socket,
                           init->control_fd, init->proc_fd,       init->is_outside ? init->session_fd : -1};
        int r;

        if (!e->builder)
                return init->is_outside ? 0 : sys_close(init->session_fd);
        r = builder_take_descriptors(e->builder);
        return r < 0 ? r : BUILDER_CLOSE_DESCRIPTORS(e->builder, own);
}

/* Until it has dropped its capabilities a reaper has all of the session's user namespace, which keep
 * commands from tracing it, and it stays undumpable after that. */
nsrun_no_asan static int settle(const struct entering *e) {
        struct nsrun_error *err = &e->reaper->error;
        bool is_outside = e->reaper->init.is_outside;
        int r = is_outside
                        ? outside_enter(e->reaper, e->namespaces, e->builder ? e->builder->b.session : NULL)
                        : sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);

        if (r < 0 && is_outside)
                return r;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_HARDENING, r, NULL, "the command's reaper can't be one",
                                 NULL);
        r = shed_descriptors(e);
        /* "." is the session's root by now.  Who isn't in the pid namespace doesn't find all of /proc that
         * the command does. */
        if (is_outside)
                e->reaper->directory = e->directory;
        else if (r >= 0)
                r = mount_enter_directory(AT_FDCWD, e->directory, err);
        if (r >= 0)
                r = harden_no_new_privileges(err);
        if (r >= 0 && e->reaper->init.session_is_scoped)
                r = harden_scope(HARDEN_SCOPE_ALL, err);
        return r < 0 ? r : harden_capabilities(err);
}

/* Clones the reaper, in which it returns 0. */
nsrun_no_asan static int clone_reaper(struct entering *e, uint64_t flags) {
        int pid = sys_clone_namespaces(flags, &e->pidfd);

        e->pid = pid;
        return pid;
}

/* Waits until the supervisor has the reaper's pidfd, so that no command runs before.  If the
 * supervisor can't have it, it closes its end of the socket. */
static void await_supervisor(int socket) {
        char word;

        if (sys_read(socket, &word, 1) != 1)
                _exit(125);
        (void)sys_close(socket);
}

nsrun_no_asan static _Noreturn void be_reaper(struct entering *e) {
        if (settle(e) < 0)
                report_failure(e->reaper->init.report_fd, -1, &e->reaper->error);
        if (!e->builder)
                await_supervisor(e->reaper->init.reaper_socket);
        init_finish(e->reaper);
}

/* Runs in the session's pid namespace, since only a process that is in one can make another below
 * it (pid_namespaces(7)).  It clones the reaper and ends, so that the reaper becomes a child of the
 * session's pid 1. */
nsrun_no_asan static int go_further(void *entering) {
        struct entering *e = entering;

        e->result = clone_reaper(e, CLONE_NEWPID);
        if (e->result == 0)
                be_reaper(e);
        _exit(0);
}

/* The mount namespace's root becomes this process's root and working directory. */
nsrun_no_asan static void enter_session(struct entering *e) {
        const struct init *init = &e->reaper->init;
        /* The pid namespace is for this process's children: a reaper outside of it enters it itself. */
        uint64_t later = init->is_outside ? CLONE_NEWPID : 0;
        siginfo_t info;
        int r;

        e->namespaces = later;
        e->result = sys_setns(init->session_fd, init->session_namespaces & ~later);
        if (e->result < 0)
                return;
        if (!init->is_nested) {
                e->result = clone_reaper(e, CLONE_PARENT);
                if (e->result == 0)
                        be_reaper(e);
        } else {
                r = sys_vfork(go_further, e, e->inner_stack, true);
                if (r < 0)
                        e->result = r;
                else
                        (void)sys_waitid(P_PID, (id_t)r, &info, WEXITED);
        }
        /* If the session ends now the kernel kills this process's child, and there is no pidfd. */
        if (e->result >= 0 && e->pidfd < 0)
                e->result = -ESRCH;
}

nsrun_no_asan int enter_go_in(void *entering) {
        struct entering *e = entering;
        struct builder *b = e->builder;

        b->reaper.init.umask = umask(0);
        e->result = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (e->result >= 0 && b->b.facts.cgroup_procs_fd >= 0)
                e->result = builder_join_cgroup(b);
        if (e->result >= 0)
                enter_session(e);
        _exit(0);
}

nsrun_no_asan int enter_become_init(void *builder) {
        struct builder *b = builder;
        const struct init *init = &b->reaper.init;
        const int own[] = {init->report_fd,       init->supervisor_fd, init->control_fd,
                           init->listener_socket, init->session_fd,    init->reaper_socket,
                           init->proc_fd,         b->b.facts.init_fd,  b->b.facts.init_data_fd};
        int r = builder_take_descriptors(b);

        b->reaper.init.umask = umask(0);
        /* First, and not by CLONE_INTO_CGROUP later: from inside of the session's cgroup namespace its
         * cgroup can't be named where namespaces are delegation boundaries (nsdelegate, systemd's way). */
        if (r >= 0 && b->b.facts.cgroup_procs_fd >= 0)
                r = builder_join_cgroup(b);
        if (r >= 0)
                r = BUILDER_CLOSE_DESCRIPTORS(b, own);
        b->reaper.exec_error = r < 0 ? r : init_exec(b);
        _exit(125);
}

nsrun_no_asan _Noreturn void enter_run(struct builder *b) {
        struct entering e = {.reaper = &b->reaper, .builder = b, .directory = b->b.cwd};
        int r;

        b->reaper.init.umask = umask(0);
        r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (r < 0)
                (void)error_set(&b->reaper.error, NSRUN_STAGE_HARDENING, r, NULL,
                                "the reaper can't be made undumpable", NULL);
        if (r >= 0 && b->b.facts.cgroup_procs_fd >= 0)
                r = builder_join_cgroup(b);
        if (r < 0)
                report_failure(b->reaper.init.report_fd, -1, &b->reaper.error);
        e.namespaces = b->reaper.init.session_namespaces;
        be_reaper(&e);
}

_Noreturn void enter_alone(struct reaper *p, const char *directory) {
        static char stack[BUILDER_STACK_SIZE] __attribute__((__aligned__(16)));
        struct entering e = {
                .reaper = p, .directory = directory, .inner_stack = stack + sizeof(stack), .pidfd = -EBADF};

        enter_session(&e);
        if (e.result >= 0)
                e.result = sys_send_fd(p->init.reaper_socket, e.pidfd);
        /* Reports a bare errno: the supervisor knows what it means for a session. */
        if (e.result < 0) {
                p->error.error = -e.result;
                report_failure(p->init.report_fd, -1, &p->error);
        }
        _exit(0);
}
