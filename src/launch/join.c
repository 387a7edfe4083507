/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command of a session: its reaper is born in the session's namespaces (enter.c) and goes on as pid 1 of
 * any sandbox does.  The commands of a session are one user's processes on one machine: they may signal,
 * trace and see each other.  A reaper is in all of the session's namespaces but its pid namespace, where
 * nothing can reach it (outside.h).
 *
 * With --isolate-commands they are told apart by a Landlock domain each: the reaper enters one that scopes
 * signals, and the command another one below it.  So nothing that runs in the session can send the reaper a
 * signal, and the reaper's kill(-1) reaches all that its command ever started, in one step of the kernel's
 * and whoever it was reparented to, and nobody else.  Without Landlock's scopes (before 6.12) the reaper is
 * pid 1 of a pid namespace below the session's, to the same effect. */
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "enter.h"
#include "harden.h"
#include "init_exec.h"
#include "number.h"
#include "outside.h"
#include "plan/record.h"
#include "report.h"

static int join_fail(struct child *c, int r, struct nsrun_error *err) {
        const char *id = c->plan->join->folder.id;

        if (c->reaper.error.stage != NSRUN_STAGE_NONE) {
                if (err && err->stage == NSRUN_STAGE_NONE)
                        *err = c->reaper.error;
                return r;
        }
        return outside_explain(r, id, record_has_exited(c->plan->join->init.pid), err);
}

/* For a library: executes nsrun-init outside of the session, which then enters it.  So nothing of
 * the host program's threads, memory and command line gets in. */
nsrun_no_asan static int become_init(void *child) {
        struct child *c = child;
        const struct init *init = &c->reaper.init;
        const int own[] = {init->report_fd,       init->supervisor_fd, init->control_fd,
                           init->listener_socket, init->session_fd,    init->reaper_socket,
                           init->proc_fd,         c->init_fd,          c->init_data_fd};
        int r = child_take_descriptors(c);

        c->reaper.init.umask = umask(0);
        /* First, and not by CLONE_INTO_CGROUP later: from inside of the session's cgroup namespace its
         * cgroup can't be named where namespaces are delegation boundaries (nsdelegate, systemd's way). */
        if (r >= 0 && c->params->cgroup)
                r = child_join_cgroup(c);
        if (r >= 0)
                r = CHILD_CLOSE_DESCRIPTORS(c, own);
        c->reaper.exec_error = r < 0 ? r : init_exec(c);
        _exit(125);
}

/* Reads nsrun-init's report of why it has sent no pidfd. */
static int hear_failure(struct child *c, const struct launch *l) {
        struct launch_report report;
        int r;

        if (c->reaper.exec_error < 0)
                return c->reaper.exec_error;
        /* While this process has the pipe's writing end open, reading would never end. */
        close_fdp(&c->reaper.init.report_fd);
        r = launch_read_report(l, &report);
        if (r <= 0 || report.kind != LAUNCH_FAILED)
                return r < 0 ? r : -EIO;
        c->reaper.error = report.error;
        return -report.error.error;
}

static int join_by_init(struct child *c, struct launch *l, struct nsrun_error *err) {
        _cleanup_close_ int socket = -EBADF;
        siginfo_t info;
        int r, pid;

        r = child_open_socket(&socket, &c->reaper.init.reaper_socket, err);
        if (r < 0)
                return r;
        pid = sys_vfork(become_init, c, child_stack_top(c, CHILD_STACK_OUTER), false);
        if (pid < 0)
                return pid;
        close_fdp(&c->reaper.init.reaper_socket);
        l->pidfd = r = sys_receive_fd(socket);
        if (r >= 0)
                r = (int)sys_write(socket, "", 1);
        /* A reaper that waits in await_supervisor() ends when this closes. */
        close_fdp(&socket);
        if (r == -EPIPE)
                r = hear_failure(c, l);
        (void)sys_waitid(P_PID, (id_t)pid, &info, WEXITED);
        if (r < 0 && l->pidfd >= 0)
                (void)sys_waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED);
        return r;
}

/* For the nsrun program, whose memory is its own: a process that shares the memory enters the
 * session, makes the reaper and ends. */
nsrun_no_asan static int go_in(void *entering) {
        struct entering *e = entering;
        struct child *c = e->child;

        c->reaper.init.umask = umask(0);
        e->result = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (e->result >= 0 && c->params->cgroup)
                e->result = child_join_cgroup(c);
        if (e->result >= 0)
                enter_session(e);
        _exit(0);
}

/* For the nsrun program, too: a reaper outside of the session's pid namespace needs nobody to make it there.
 */
nsrun_no_asan static _Noreturn void go_outside(struct child *c) {
        struct entering e = {.reaper = &c->reaper, .child = c, .directory = c->plan->cwd};
        int r;

        c->reaper.init.umask = umask(0);
        r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (r < 0)
                (void)error_set(&c->reaper.error, NSRUN_STAGE_HARDENING, r, NULL,
                                "the reaper can't be made undumpable", NULL);
        if (r >= 0 && c->params->cgroup)
                r = child_join_cgroup(c);
        if (r < 0)
                report_failure(c->reaper.init.report_fd, -1, &c->reaper.error);
        enter_as_reaper(&e);
}

/* The reaper gets a copy of this process's memory, its command line included: that is empty meanwhile.  It
 * stays empty where go_further() has been in the session's pid namespace with this very memory: whoever
 * opened that process's /proc/PID/cmdline may read it when the process is gone. */
static int join_directly(struct child *c, struct launch *l, struct nsrun_error *err) {
        struct entering e = {.reaper = &c->reaper,
                             .child = c,
                             .directory = c->plan->cwd,
                             .inner_stack = child_stack_top(c, CHILD_STACK_INNER),
                             .pidfd = -EBADF};
        size_t n = c->params->command_line ? c->params->command_line_size : 0;
        _cleanup_free_ char *command_line = malloc(n + 1);
        siginfo_t info;
        int r;

        if (!command_line)
                return error_oom(err);
        if (n > 0)
                memcpy(command_line, c->params->command_line, n);
        child_wipe_command_line(c);
        if (c->reaper.init.is_outside) {
                r = e.pid = sys_fork_to_enter(&e.pidfd);
                if (r == 0)
                        go_outside(c);
        } else {
                r = sys_vfork(go_in, &e, child_stack_top(c, CHILD_STACK_OUTER), true);
        }
        if (n > 0 && !c->reaper.init.is_nested)
                memcpy(c->params->command_line, command_line, n);
        if (r < 0)
                return r;
        if (!c->reaper.init.is_outside)
                (void)sys_waitid(P_PID, (id_t)r, &info, WEXITED);
        /* LeakSanitizer forks a tracer at this process's end, which must be able to see it. */
        if (NSRUN_HAS_ASAN)
                (void)sys_prctl(PR_SET_DUMPABLE, 1, 0);
        l->pidfd = e.pidfd;
        l->pid = e.pid;
        return e.result;
}

/* Commands that aren't kept apart are kept from the host's signals by the session's pid namespace, and from
 * its abstract sockets where the session has a network of its own. */
static uint64_t command_scopes(const struct nsrun_plan *plan) {
        if (!plan->is_scoped)
                return 0;
        if (plan->join->isolates_commands)
                return HARDEN_SCOPE_ALL;
        return plan->join->namespaces & CLONE_NEWNET ? 0 : HARDEN_SCOPE_SOCKETS;
}

static void describe_reaper(const struct child *c, struct init *init) {
        const struct nsrun_plan *plan = c->plan;
        const struct plan_join *join = plan->join;
        const uint64_t *inodes = join->namespace_inodes;

        init->has_command = true;
        init->terminal = child_terminal(c);
        init->leftovers = c->params->lingers      ? INIT_LEFTOVERS_LINGER
                          : join->kills_leftovers ? INIT_LEFTOVERS_KILL
                                                  : INIT_LEFTOVERS_LEAVE;
        init->is_nested = join->is_nested;
        init->is_outside = !join->isolates_commands;
        init->kills_when_released = join->kills_leftovers;
        init->kills_on_failure = true;
        init->refuses_degraded = plan->refuses_degraded;
        init->command_dies_with_it = true;
        init->command_scopes = command_scopes(plan);
        init->refuses_magic_links = true;
        init->runs_scripts = true;
        init->lock_fd = -EBADF;
        init->session_pid = join->init.pid;
        init->session_namespaces = join->namespaces | CLONE_NEWUSER | CLONE_NEWPID;
        init->session_is_scoped = plan->is_scoped && join->isolates_commands;
        init->namespaces =
                (struct launch_namespaces){inodes[0], inodes[1], inodes[2], inodes[3], inodes[4], inodes[5]};
}

static int open_proc(int *ret, struct nsrun_error *err) {
        int r = *ret = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);

        if (r >= 0)
                r = fd_lift(ret);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, "/proc",
                                 "the host's processes can't be listed",
                                 "nsrun needs a mounted /proc to start from");
        return 0;
}

int join_start(struct child *c, struct launch *l, struct nsrun_error *err) {
        const struct plan_join *join = c->plan->join;
        sigset_t own;
        int r;

        r = child_refuse_folders(c, err);
        if (r >= 0)
                r = child_open_control(c, l, err);
        if (r >= 0)
                r = child_open_listener(c, l, err);
        /* Two processes are nsrun's: the session's pid 1 and the command's reaper. */
        if (r >= 0)
                r = child_prepare(c, 2, err);
        if (r < 0)
                return r;
        describe_reaper(c, &c->reaper.init);
        r = c->reaper.init.session_fd = record_open_process(&join->init);
        if (r >= 0)
                r = fd_lift(&c->reaper.init.session_fd);
        if (r < 0)
                return join_fail(c, r, err);
        if (!join->isolates_commands)
                r = open_proc(&c->reaper.init.proc_fd, err);
        if (r < 0)
                return r;
        r = child_block_signals(c, &own, err);
        if (r < 0)
                return r;
        /* Before its first report is read: of a join's refusal nobody looks for the cause as of a start's.
         */
        l->is_join = true;
        r = c->params->init_path ? join_by_init(c, l, err) : join_directly(c, l, err);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        if (r < 0)
                return join_fail(c, r, err);
        c->namespaces = join->namespaces;
        l->namespaces = c->namespaces;
        l->is_nested = join->is_nested;
        /* The plan may be freed before the command ends, so that the launch has a copy of its lock. */
        l->activity_fd = fcntl(join->folder.activity_fd, F_DUPFD_CLOEXEC, 3);
        /* The pid that enter.c got is of another pid namespace, or came from another process's
         * memory: ask the pidfd.  The reaper may also have ended already. */
        if (l->is_nested || l->pid <= 0) {
                r = number_of_pidfd(l->pidfd);
                l->pid = r < 0 ? 0 : r;
        }
        return 0;
}
