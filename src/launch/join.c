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
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "boundary/decimal.h"
#include "boundary/enter.h"
#include "boundary/harden.h"
#include "boundary/reaper_outside.h"
#include "child.h"
#include "plan/record.h"

static int join_fail(const struct child *c, const struct builder *b, int r, struct nsrun_error *err) {
        const char *id = c->plan->join->folder.id;

        if (b->reaper.error.stage != NSRUN_STAGE_NONE) {
                if (err && err->stage == NSRUN_STAGE_NONE)
                        *err = b->reaper.error;
                return r;
        }
        return outside_explain(r, id, record_has_exited(c->plan->join->init.pid), err);
}

/* Reads nsrun-init's report of why it has sent no pidfd. */
static int hear_failure(struct child *c, struct builder *b, const struct launch *l) {
        struct launch_report report;
        int r;

        if (b->reaper.exec_error < 0)
                return b->reaper.exec_error;
        /* While this process has the pipe's writing end open, reading would never end. */
        close_fdp(&c->b.facts.init.report_fd);
        r = launch_read_report(l, &report);
        if (r <= 0 || report.kind != LAUNCH_FAILED)
                return r < 0 ? r : -EIO;
        b->reaper.error = report.error;
        return -report.error.error;
}

/* For a library's host: nsrun-init enters the session. */
static int join_by_init(struct child *c, struct builder *b, struct launch *l) {
        siginfo_t info;
        int r, pid = sys_vfork(enter_become_init, b, builder_stack_top(b, BUILDER_STACK_OUTER), false);

        if (pid < 0)
                return pid;
        close_fdp(&c->b.facts.init.reaper_socket);
        l->pidfd = r = sys_receive_fd(c->socket);
        if (r >= 0)
                r = (int)sys_write(c->socket, "", 1);
        /* A reaper that waits in await_supervisor() ends when this closes. */
        (void)shutdown(c->socket, SHUT_RDWR);
        if (r == -EPIPE)
                r = hear_failure(c, b, l);
        (void)sys_waitid(P_PID, (id_t)pid, &info, WEXITED);
        if (r < 0 && l->pidfd >= 0)
                (void)sys_waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED);
        return r;
}

/* For the nsrun program, whose memory is its own.  The reaper gets a copy of this process's memory, its
 * command line included: that is empty meanwhile.  It stays empty where a process of enter.c has been in the
 * session's pid namespace with this very memory: whoever opened that process's /proc/PID/cmdline may read it
 * when the process is gone. */
static int join_directly(struct child *c, struct builder *b, struct launch *l, struct nsrun_error *err) {
        struct entering e = {.reaper = &b->reaper,
                             .builder = b,
                             .directory = b->b.cwd,
                             .inner_stack = builder_stack_top(b, BUILDER_STACK_INNER),
                             .pidfd = -EBADF};
        size_t n = b->own.command_line ? b->own.command_line_size : 0;
        _cleanup_free_ char *command_line = malloc(n + 1);
        siginfo_t info;
        int r;

        if (!command_line)
                return error_oom(err);
        if (n > 0) {
                memcpy(command_line, b->own.command_line, n);
                memset(b->own.command_line, 0, n);
        }
        if (b->reaper.init.is_outside) {
                r = e.pid = sys_fork_to_enter(0, &e.pidfd);
                if (r == 0)
                        boundary_run(c->bytes, c->n_bytes, &b->own);
        } else {
                r = sys_vfork(enter_go_in, &e, builder_stack_top(b, BUILDER_STACK_OUTER), true);
        }
        if (n > 0 && !b->reaper.init.is_nested)
                memcpy(b->own.command_line, command_line, n);
        if (r < 0)
                return r;
        if (!b->reaper.init.is_outside)
                (void)sys_waitid(P_PID, (id_t)r, &info, WEXITED);
        /* LeakSanitizer forks a tracer at this process's end, which must be able to see it. */
        if (NSRUN_HAS_ASAN)
                (void)sys_prctl(PR_SET_DUMPABLE, 1, 0);
        l->pidfd = e.pidfd;
        l->pid = e.pid;
        return e.result;
}

/* Makes the reaper, by the record as both sides open it. */
static int join_make(struct child *c, struct launch *l, struct nsrun_error *err) {
        const struct plan_join *join = c->plan->join;
        const struct boundary_own own = child_own(c);
        _cleanup_(builder_close) struct builder b = {.memory = NULL};
        int r = builder_open(&b, c->bytes, c->n_bytes, &own, err);

        if (r < 0)
                return r;
        r = c->params->init_path ? join_by_init(c, &b, l) : join_directly(c, &b, l, err);
        if (r < 0)
                return join_fail(c, &b, r, err);
        l->namespaces = join->namespaces;
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

/* Commands that aren't kept apart are kept from the host's signals by the session's pid namespace, and from
 * its abstract sockets where the session has a network of its own. */
static uint64_t command_scopes(const struct nsrun_plan *plan) {
        if (!plan->is_scoped)
                return 0;
        if (plan->join->isolates_commands)
                return HARDEN_SCOPE_ALL;
        return plan->join->namespaces & CLONE_NEWNET ? 0 : HARDEN_SCOPE_SOCKETS;
}

static void describe_reaper(struct child *c, struct init *init) {
        const struct nsrun_plan *plan = c->plan;
        const struct plan_join *join = plan->join;
        const uint64_t *inodes = join->namespace_inodes;

        c->b.facts.life = BOUNDARY_JOIN;
        c->b.facts.cgroup_procs_fd = c->params->cgroup ? c->params->cgroup->procs_fd : -EBADF;
        c->b.session = (char *)(uintptr_t)join->folder.id;
        init->has_command = true;
        init->terminal = child_terminal(c);
        init->leftovers = c->params->lingers      ? INIT_LEFTOVERS_LINGER
                          : join->kills_leftovers ? INIT_LEFTOVERS_KILL
                                                  : INIT_LEFTOVERS_LEAVE;
        init->is_nested = join->is_nested;
        init->is_outside = !join->isolates_commands;
        init->kills_when_released = join->kills_leftovers;
        init->kills_on_failure = true;
        init->command_dies_with_it = true;
        init->command_scopes = command_scopes(plan);
        init->refuses_magic_links = true;
        init->runs_scripts = true;
        init->session_pid = join->init.pid;
        init->session_namespaces = join->namespaces | CLONE_NEWUSER | CLONE_NEWPID;
        init->session_is_scoped = plan->is_scoped && join->isolates_commands;
        init->namespaces =
                (struct launch_namespaces){inodes[0], inodes[1], inodes[2], inodes[3], inodes[4], inodes[5]};
}

static int open_proc(int *ret, struct nsrun_error *err) {
        int r = *ret = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, "/proc",
                                 "the host's processes can't be listed",
                                 "nsrun needs a mounted /proc to start from");
        return 0;
}

static int join_describe(struct child *c, struct launch *l, struct nsrun_error *err) {
        const struct plan_join *join = c->plan->join;
        static const struct builder nobody;
        struct init *init = &c->b.facts.init;
        int r;

        describe_reaper(c, init);
        r = init->session_fd = record_open_process(&join->init);
        if (r < 0)
                return join_fail(c, &nobody, r, err);
        if (!join->isolates_commands)
                r = open_proc(&init->proc_fd, err);
        if (r >= 0 && c->params->init_path)
                r = child_open_socket(&c->socket, &init->reaper_socket, err);
        /* Before its first report is read: of a join's refusal nobody looks for the cause as of a start's.
         */
        l->is_join = true;
        return r;
}

/* Two processes are nsrun's: the session's pid 1 and the command's reaper. */
const struct child_life join_life = {.refuses_folders = true,
                                     .has_control = true,
                                     .has_listener = true,
                                     .n_ours = 2,
                                     .describe = join_describe,
                                     .make = join_make};
