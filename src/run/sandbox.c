/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's running sandbox.  Its callers have threads and signals of their own, so this file
 * changes neither. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "plainly.h"
#include "policy/environment.h"
#include "programs.h"
#include "run.h"
#include "start.h"

struct nsrun_sandbox {
        struct run run;
        bool is_plain; /* the command runs with no sandbox: run.launch is the command itself */
};

static struct nsrun_sandbox *sandbox_new(void) {
        struct nsrun_sandbox *s = calloc(1, sizeof(*s));

        if (s)
                s->run = RUN_INIT;
        return s;
}

nsrun_public int nsrun_start(const struct nsrun_plan *plan, const struct nsrun_start_options *options,
                             struct nsrun_sandbox **ret, struct nsrun_error *error) {
        struct nsrun_start_options own;
        struct run_params params = {
                .launch = {.terminal_fd = -1, .wants_started = true, .init_path = program_init()}};
        struct nsrun_sandbox *s;
        int r;

        r = start_read_options(options, &own, error);
        if (r < 0)
                return r;
        if (own.stdio[0] >= 0 || own.stdio[1] >= 0 || own.stdio[2] >= 0)
                params.launch.stdio = own.stdio;
        params.launch.pass_fds = own.pass_fds;
        params.launch.n_pass_fds = own.n_pass_fds;
        s = sandbox_new();
        if (!s)
                return error_oom(error);
        /* may_move stays false: the process is the host program's, and so is its cgroup. */
        r = run_begin(plan, &params, &s->run, error);
        if (r >= 0)
                r = run_await_start(&s->run, NULL, error);
        if (r < 0) {
                (void)nsrun_sandbox_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

/* Lists what the child does before the exec.  The descriptors for 0, 1 and 2 are first copied to
 * numbers beyond 2 (`copies`), so that no dup2(2) overwrites one that is still needed. */
static int prepare_plain_files(const struct nsrun_policy *p, const struct nsrun_start_options *options,
                               int copies[3], posix_spawn_file_actions_t *actions) {
        int r = p->project ? posix_spawn_file_actions_addchdir_np(actions, p->project) : 0;

        for (int fd = 0; fd <= 2 && r == 0; fd++) {
                if (options->stdio[fd] < 0)
                        continue;
                copies[fd] = fcntl(options->stdio[fd], F_DUPFD_CLOEXEC, 3);
                r = copies[fd] < 0 ? errno : posix_spawn_file_actions_adddup2(actions, copies[fd], fd);
        }
        /* dup2(2) of a descriptor onto itself: posix_spawn(3) then clears its close-on-exec flag. */
        for (size_t i = 0; i < options->n_pass_fds && r == 0; i++)
                r = posix_spawn_file_actions_adddup2(actions, options->pass_fds[i], options->pass_fds[i]);
        return -r;
}

static int spawn_plainly(const struct nsrun_policy *p, const struct nsrun_start_options *options,
                         pid_t *ret) {
        posix_spawn_file_actions_t actions;
        int copies[3] = {-EBADF, -EBADF, -EBADF}, r;

        r = posix_spawn_file_actions_init(&actions);
        if (r != 0)
                return -r;
        r = prepare_plain_files(p, options, copies, &actions);
        if (r == 0)
                r = -posix_spawnp(ret, p->argv[0], &actions, NULL, p->argv, environment_inherited(p));
        (void)posix_spawn_file_actions_destroy(&actions);
        for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
                close_fdp(&copies[i]);
        return r;
}

static int start_plain_command(const struct nsrun_policy *p, const struct nsrun_start_options *options,
                               struct run *run, struct nsrun_error *err) {
        static const struct nsrun_error note = {
                .what = "isolation is disabled: the command runs with no sandbox at all"};
        int r;

        if (strv_consume(&run->notes, nsrun_error_format(&note)) < 0)
                return error_oom(err);
        r = spawn_plainly(p, options, &run->launch.pid);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_EXEC, r, p->argv[0], "the command can't be executed",
                                 NULL);
        r = run->launch.pidfd = sys_pidfd_open(run->launch.pid);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, p->argv[0], "the command can't be watched",
                                 NULL);
        run->is_gone = false;
        return 0;
}

int sandbox_start_plainly(const struct nsrun_policy *p, const struct nsrun_start_options *options,
                          struct nsrun_sandbox **ret, struct nsrun_error *err) {
        struct nsrun_start_options own;
        struct nsrun_sandbox *s;
        int r;

        if (!p->argv) {
                (void)error_set(err, NSRUN_STAGE_USAGE, 0, NULL, "no command", NULL);
                return -EINVAL;
        }
        r = start_read_options(options, &own, err);
        if (r < 0)
                return r;
        s = sandbox_new();
        if (!s)
                return error_oom(err);
        s->is_plain = true;
        r = start_plain_command(p, &own, &s->run, err);
        if (r < 0) {
                (void)nsrun_sandbox_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

nsrun_public const char *const *nsrun_sandbox_notes(const struct nsrun_sandbox *sandbox) {
        static const char *const none[] = {NULL};

        return sandbox->run.notes ? (const char *const *)sandbox->run.notes : none;
}

nsrun_public int nsrun_sandbox_pidfd(const struct nsrun_sandbox *sandbox) {
        return sandbox->run.launch.pidfd;
}

nsrun_public int nsrun_sandbox_kill(const struct nsrun_sandbox *sandbox, int signal) {
        return sandbox->run.is_gone ? -ESRCH : launch_signal(&sandbox->run.launch, signal);
}

/* Waits until the command has ended, and all that it started.  run->has_exited says whether the
 * command's own status is known; the pidfd tells the end also in a host that ignores SIGCHLD. */
static int sandbox_await_end(struct nsrun_sandbox *s, struct nsrun_error *err) {
        struct run *run = &s->run;
        int r = 1;

        while (!run->has_exited && !s->is_plain && r > 0) {
                struct launch_report report;

                r = run_take_report(run, &report, err);
        }
        if (r < 0)
                return r;
        if (s->is_plain && !run->is_gone) {
                run->status = run_wait(run);
                run->has_exited = true;
        }
        (void)run_wait(run);
        return 0;
}

nsrun_public int nsrun_sandbox_wait(struct nsrun_sandbox *sandbox, struct nsrun_exit *ret,
                                    struct nsrun_error *error) {
        int r = sandbox_await_end(sandbox, error), status = sandbox->run.status;

        if (r < 0)
                return r;
        if (!sandbox->run.has_exited)
                return error_set(error, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                 "the sandbox was killed, and the command with it", NULL);
        if (WIFSIGNALED(status))
                *ret = (struct nsrun_exit){.code = -1, .signal = WTERMSIG(status)};
        else
                *ret = (struct nsrun_exit){.code = WEXITSTATUS(status)};
        return 0;
}

nsrun_public struct nsrun_sandbox *nsrun_sandbox_free(struct nsrun_sandbox *sandbox) {
        if (sandbox)
                run_end(&sandbox->run);
        free(sandbox);
        return NULL;
}
