/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the lives have in common before the clone. */
#include "child.h"

#include <sys/mman.h>

#include "base/causes.h"
#include "base/file.h"

void child_free(struct child *c) {
        struct boundary_facts *f = &c->b.facts;
        struct init *init = &f->init;

        for (size_t i = 0; i < ARRAY_SIZE(f->stdio); i++)
                close_fdp(&f->stdio[i]);
        close_fdp(&c->socket);
        close_fdp(&init->report_fd);
        close_fdp(&init->supervisor_fd);
        close_fdp(&init->listener_socket);
        close_fdp(&init->control_fd);
        close_fdp(&f->versions_socket);
        close_fdp(&f->grant_socket);
        close_fdp(&init->session_fd);
        close_fdp(&init->reaper_socket);
        close_fdp(&init->proc_fd);
        close_fdp(&f->init_fd);
        close_fdp(&f->init_data_fd);
        free(c->owned_filter);
        free(c->filters);
        free(c->held);
        free(c->ops);
        free(c->bytes);
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
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no sockets to hear of the command by",
                                 NULL);
        return 0;
}

int child_open_listener(struct child *c, struct launch *l, struct nsrun_error *err) {
        if ((!c->params->wants_denials || !c->plan->seccomp.code) && !c->params->watches)
                return 0;
        return child_open_socket(&l->listener_socket, &c->b.facts.init.listener_socket, err);
}

int child_open_versions(struct child *c, struct launch *l, struct nsrun_error *err) {
        return c->params->has_versions
                       ? child_open_socket(&l->versions_socket, &c->b.facts.versions_socket, err)
                       : 0;
}

int child_open_control(struct child *c, struct launch *l, struct nsrun_error *err) {
        int *fd = &c->b.facts.init.control_fd, r;

        r = *fd = sys_eventfd();
        if (r >= 0) {
                l->control_fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
                r = l->control_fd < 0 ? -errno : 0;
        }
        if (r < 0)
                return error_cause_with(err, NSRUN_ERROR_NO_PIDFD, r, NULL, FILTER_HINT_FOR(r, "eventfd2"));
        return 0;
}

enum init_terminal child_terminal(const struct child *c) {
        if (c->params->has_own_terminal)
                return INIT_TERMINAL_OWN;
        return c->plan->new_session ? INIT_TERMINAL_SESSION : INIT_TERMINAL_GROUP;
}

/* A file in memory for the record, and the program that reads it. */
static int child_open_init(struct child *c, struct nsrun_error *err) {
        struct boundary_facts *f = &c->b.facts;
        int r;

        if (!c->params->init_path)
                return 0;
        r = f->init_fd = sys_open(AT_FDCWD, c->params->init_path, O_PATH, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, c->params->init_path,
                                 "nsrun-init can't be opened", "install nsrun completely");
        r = f->init_data_fd = sys_memfd("nsrun-init");
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no memory to tell nsrun-init by",
                                 NULL);
        return 0;
}

int child_prepare(struct child *c, unsigned n_ours, struct nsrun_error *err) {
        const struct launch_params *params = c->params;
        struct boundary_facts *f = &c->b.facts;
        int r;

        /* A session has it already. */
        f->init.lock_fd = c->plan->join ? -EBADF : params->lock_fd;
        f->init.terminal_fd = params->terminal_fd;
        f->init.wants_started = params->wants_started;
        f->init.has_own_stdio = params->stdio;
        f->init.refuses_degraded = c->plan->refuses_degraded;
        f->rundir_fd = params->rundir_fd;
        f->n_processes = params->n_processes;
        f->dies_with_thread = params->dies_with_thread;
        limits_prepare(c, n_ours);
        r = child_open_init(c, err);
        return r < 0 ? r : filter_prepare(c, err);
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
                c->b.facts.init.mask = *ret_own;
        else
                (void)sigemptyset(&c->b.facts.init.mask);
        return 0;
}

/* What the record has of the plan and the params as it stands there. */
static int child_fill(struct child *c) {
        const struct nsrun_plan *plan = c->plan;
        const struct launch_params *params = c->params;
        struct blueprint *b = &c->b;

        b->file = plan->raw ? plan->raw->file : plan->argv ? plan->argv[0] : NULL;
        b->cwd = plan->cwd;
        b->hostname = plan->hostname;
        b->rundir_path = (char *)(uintptr_t)params->rundir_path;
        b->init_path = (char *)(uintptr_t)params->init_path;
        b->processes_hint = (char *)(uintptr_t)params->processes_hint;
        b->argv = plan->argv;
        b->env = plan->env;
        b->passed = (int *)(uintptr_t)params->pass_fds;
        b->n_passed = params->n_pass_fds;
        /* A joining plan's operations are those that its session was made with. */
        b->ops = plan->join ? NULL : plan->ops;
        b->n_ops = plan->join ? 0 : plan->n_ops;
        if (params->n_files == 0)
                return 0;
        c->ops = malloc((plan->n_ops + params->n_files) * sizeof(*c->ops));
        if (!c->ops)
                return -ENOMEM;
        memcpy(c->ops, plan->ops, plan->n_ops * sizeof(*c->ops));
        memcpy(c->ops + plan->n_ops, params->files, params->n_files * sizeof(*c->ops));
        b->ops = c->ops;
        b->n_ops += params->n_files;
        return 0;
}

int child_write(struct child *c, struct nsrun_error *err) {
        int r = child_fill(c);

        if (r >= 0)
                r = blueprint_write(&c->b, &c->bytes, &c->n_bytes);
        if (r == -E2BIG)
                return error_set(err, NSRUN_STAGE_PLAN, r, NULL,
                                 "the command and the files that are made for it have more than a gigabyte",
                                 NULL);
        return r < 0 ? error_oom(err) : 0;
}

struct boundary_own child_own(const struct child *c) {
        return (struct boundary_own){.command_line = c->params->command_line,
                                     .command_line_size = c->params->command_line_size};
}

/* Before pid 1 can't be looked at: that waits for it. */
static void hold_namespaces(const struct launch_params *params, pid_t pid, volatile pid_t *looks) {
        params->held->mount_namespace = file_open_of_process(pid, "ns/mnt");
        if (params->holds_network)
                params->held->network = file_open_of_process(pid, "ns/net");
        sys_set_gone(looks);
}

void launch_let_go(struct launch_held *held) {
        close_fdp(&held->mount_namespace);
        close_fdp(&held->network);
}

nsrun_no_asan int child_clone(struct child *c, struct launch *l) {
        struct boundary_facts *f = &c->b.facts;
        struct boundary_own own = child_own(c);
        int pid = -EOPNOTSUPP;
        pid_t *looks = NULL;

        if (c->params->held && f->life == BOUNDARY_SANDBOX) {
                looks = mmap(NULL, sizeof(*looks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                             0);
                if (looks == MAP_FAILED)
                        return -errno;
                *looks = 1;
                own.looks = looks;
        }
        if (c->params->cgroup && !f->joins_cgroup) {
                blueprint_settle(c->bytes, f);
                pid = sys_clone_into_cgroup(f->namespaces, c->params->cgroup->fd, &l->pidfd);
                f->joins_cgroup = pid == -EOPNOTSUPP;
        }
        if (pid == -EOPNOTSUPP) {
                blueprint_settle(c->bytes, f);
                pid = sys_clone_namespaces(f->namespaces, &l->pidfd);
        }
        if (pid == 0)
                boundary_run(c->bytes, c->n_bytes, &own);
        if (pid > 0 && looks)
                hold_namespaces(c->params, pid, looks);
        if (looks)
                (void)munmap(looks, sizeof(*looks));
        if (pid < 0)
                return pid;
        l->pid = pid;
        l->namespaces = f->namespaces;
        return 0;
}
