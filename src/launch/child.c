/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the lives of a launch's child have in common: first the supervisor's side, before the clone; then the
 * child's, which makes async-signal-safe calls alone: no allocation, no stdio. */
#include "child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/causes.h"
#include "base/file.h"
#include "harden.h"
#include "init_exec.h"
#include "report.h"

#define STACKS_SIZE ((size_t)CHILD_STACKS * CHILD_STACK_SIZE)

static char *make_stacks(void) {
        void *stacks = mmap(NULL, STACKS_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return stacks == MAP_FAILED ? NULL : stacks;
}

void child_free(struct child *c) {
        struct init *init = &c->reaper.init;

        for (size_t i = 0; i < ARRAY_SIZE(c->stdio); i++)
                close_fdp(&c->stdio[i]);
        for (size_t i = 0; i < ARRAY_SIZE(c->lifted); i++)
                close_fdp(&c->lifted[i]);
        close_fdp(&init->report_fd);
        close_fdp(&init->supervisor_fd);
        close_fdp(&init->listener_socket);
        close_fdp(&init->control_fd);
        close_fdp(&init->session_fd);
        close_fdp(&init->reaper_socket);
        close_fdp(&init->proc_fd);
        close_fdp(&c->init_fd);
        close_fdp(&c->init_data_fd);
        free(c->owned_filter);
        free(c->filters);
        free(c->keep);
        free(c->reaper.held);
        init_exec_free(c);
        free(c->reaper.shell_argv);
        if (c->stacks)
                (void)munmap(c->stacks, STACKS_SIZE);
}

int child_refuse_folders(const struct child *c, struct nsrun_error *err) {
        static const char *const names[] = {"standard input", "standard output", "standard error"};
        const int *stdio = c->params->stdio;

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

/* Makes a socket pair, over which the child sends a descriptor: a report can't carry one. */
int child_open_socket(int *ret_own, int *ret_child, struct nsrun_error *err) {
        int ends[2], r = sys_socketpair(ends);

        if (r >= 0) {
                *ret_own = ends[0];
                *ret_child = ends[1];
                r = fd_lift(ret_own);
        }
        if (r >= 0)
                r = fd_lift(ret_child);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no sockets to hear of the command by",
                                 NULL);
        return 0;
}

int child_open_listener(struct child *c, struct launch *l, struct nsrun_error *err) {
        if ((!c->params->wants_denials || !c->plan->seccomp.code) && !c->params->watches)
                return 0;
        return child_open_socket(&l->listener_socket, &c->reaper.init.listener_socket, err);
}

int child_open_control(struct child *c, struct launch *l, struct nsrun_error *err) {
        int *fd = &c->reaper.init.control_fd, r;

        r = *fd = sys_eventfd();
        if (r >= 0)
                r = fd_lift(fd);
        if (r >= 0) {
                l->control_fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
                r = l->control_fd < 0 ? -errno : 0;
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, causes[CAUSE_NO_PIDFD].what,
                                 FILTER_HINT_FOR(r, "eventfd2"));
        return 0;
}

/* Fills what struct init has for every life, from the launch's params.  The child itself finds out
 * the umask. */
static void set_init(struct child *c) {
        const struct launch_params *params = c->params;
        struct reaper *p = &c->reaper;

        p->init.lock_fd = params->lock_fd;
        p->init.terminal_fd = params->terminal_fd;
        p->init.wants_started = params->wants_started;
        p->init.has_own_stdio = params->stdio;
        p->init.n_passed = (uint32_t)params->n_pass_fds;
        p->passed = params->pass_fds;
        p->argv = c->plan->argv;
        p->env = c->plan->env;
        p->file = c->plan->argv ? c->plan->argv[0] : NULL;
        if (c->plan->raw) {
                p->file = c->plan->raw->file;
                p->filters = c->plan->raw->filters;
                p->n_filters = c->plan->raw->n_filters;
        }
}

enum init_terminal child_terminal(const struct child *c) {
        if (c->params->has_own_terminal)
                return INIT_TERMINAL_OWN;
        return c->plan->new_session ? INIT_TERMINAL_SESSION : INIT_TERMINAL_GROUP;
}

int child_prepare(struct child *c, unsigned n_ours, struct nsrun_error *err) {
        int r;

        set_init(c);
        c->stacks = make_stacks();
        c->reaper.shell_argv = calloc(strv_length(c->plan->argv) + 3, sizeof(char *));
        c->keep = calloc(c->params->n_pass_fds + CHILD_OWN_MAX, sizeof(int));
        if (!c->stacks || !c->reaper.shell_argv || !c->keep)
                return error_oom(err);
        c->reaper.stack_top = child_stack_top(c, CHILD_STACK_COMMAND);
        limits_prepare(c, n_ours);
        r = filter_prepare(c, err);
        return r < 0 || !c->params->init_path ? r : init_exec_prepare(c, err);
}

int child_block_signals(struct child *c, sigset_t *ret_own, struct nsrun_error *err) {
        sigset_t all;
        int r;

        (void)sigfillset(&all);
        r = sys_sigmask(SIG_SETMASK, &all, ret_own);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL, "signals can't be blocked", NULL);
        /* What a caller blocks for itself would keep its own deadline and ^C from the command.  bubblewrap's
         * commands have the caller's mask. */
        if (c->plan->raw)
                c->reaper.init.mask = *ret_own;
        else
                (void)sigemptyset(&c->reaper.init.mask);
        return 0;
}

int child_clone(struct child *c, int *ret_pidfd) {
        if (c->params->cgroup && !c->joins_cgroup) {
                int pid = sys_clone_into_cgroup(c->namespaces, c->params->cgroup->fd, ret_pidfd);

                if (pid != -EOPNOTSUPP)
                        return pid;
                c->joins_cgroup = true;
        }
        return sys_clone_namespaces(c->namespaces, ret_pidfd);
}

/* ---------------------------------------------------------------- the child */

int child_set_hostname(struct child *c) {
        const char *name = c->plan->hostname;
        int r = name ? sys_sethostname(name, strlen(name)) : 0;

        /* One that is too long is the caller's fault, and no namespace's. */
        if (r < 0)
                return error_set(&c->reaper.error, r == -EINVAL ? NSRUN_STAGE_USAGE : NSRUN_STAGE_NAMESPACE,
                                 r, name, "the host name can't be set",
                                 r == -EINVAL ? "64 bytes are the most" : NULL);
        return 0;
}

/* The supervisor has opened cgroup.procs: since 5.16 the kernel judges the write by the opener's
 * rights and cgroup namespace. */
int child_join_cgroup(struct child *c) {
        ssize_t n = sys_write(c->params->cgroup->procs_fd, "0", 1);

        if (n < 0)
                return error_set(&c->reaper.error, NSRUN_STAGE_NAMESPACE, (int)n, "cgroup.procs",
                                 "the sandbox can't enter its cgroup", NULL);
        return 0;
}

/* From here on the descriptor table is the child's alone.  Descriptors that the command gets stay
 * open across an exec. */
int child_take_descriptors(struct child *c) {
        for (int fd = 0; fd <= 2; fd++) {
                int r = c->stdio[fd] >= 0 ? sys_dup_to(c->stdio[fd], fd) : 0;

                if (r < 0)
                        return error_set(&c->reaper.error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "the command's standard streams can't be set", NULL);
        }
        for (size_t i = 0; i < c->params->n_pass_fds; i++) {
                int r = sys_dup_to(c->params->pass_fds[i], c->params->pass_fds[i]);

                if (r < 0)
                        return error_set(&c->reaper.error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "a descriptor can't be passed to the command", NULL);
        }
        return 0;
}

int child_close_descriptors(struct child *c, const int *own, size_t n) {
        size_t n_passed = c->params->n_pass_fds;

        memcpy(c->keep, own, n * sizeof(*own));
        if (n_passed > 0)
                memcpy(c->keep + n, c->params->pass_fds, n_passed * sizeof(*own));
        return harden_descriptors(c->keep, n + n_passed, &c->reaper.error);
}

void child_wipe_command_line(const struct child *c) {
        if (c->params->command_line)
                memset(c->params->command_line, 0, c->params->command_line_size);
}
