/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's running sandbox: for hosts with threads and signals of their
 * own, so this file touches neither. */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "cgroup.h"
#include "disk.h"
#include "isolation.h"
#include "policy/environment.h"
#include "programs.h"

struct nsrun_sandbox {
        struct launch launch;
        struct umbrella umbrella;
        struct cgroup cgroup;
        bool has_ended;
        bool has_status;
        bool is_plain; /* no sandbox: the launch is the command itself */
        int status;    /* wait(2)'s, of the command */
        char **notes;  /* in the order in which they came; NULL: none */
};

static int keep_note(struct nsrun_sandbox *s, const struct nsrun_error *note, struct nsrun_error *err) {
        return strv_consume(&s->notes, nsrun_error_format(note)) < 0 ? error_oom(err) : 0;
}

/* Takes reports until one is about the command's start or its end, or pid 1 is
 * gone.  1: such a one; 0: gone. */
static int take_report(struct nsrun_sandbox *s, struct nsrun_error *err) {
        for (;;) {
                struct launch_report report;
                int r;

                r = launch_read_report(&s->launch, &report);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "pid 1's report can't be read",
                                         NULL);
                if (r == 0)
                        return 0;
                if (report.kind == LAUNCH_FAILED) {
                        if (err && err->stage == NSRUN_STAGE_NONE)
                                *err = report.error;
                        return -report.error.error;
                }
                if (report.kind == LAUNCH_NOTE) {
                        r = keep_note(s, &report.error, err);
                        if (r < 0)
                                return r;
                }
                if (report.kind == LAUNCH_EXITED) {
                        s->has_status = true;
                        s->status = report.status;
                }
                if (report.kind == LAUNCH_STARTED || report.kind == LAUNCH_EXITED)
                        return 1;
        }
}

/* Waits for pid 1, which a host that ignores SIGCHLD never sees: the pidfd does. */
static void reap_init(struct nsrun_sandbox *s) {
        /* In a session its reaper may stay, for what the command left behind. */
        if (!s->has_ended && !(s->launch.is_nested && s->has_status)) {
                int status = launch_wait(&s->launch);

                if (s->is_plain && !s->has_status) {
                        s->has_status = true;
                        s->status = status;
                }
        }
        s->has_ended = true;
}

nsrun_public int nsrun_start(const struct nsrun_plan *plan, struct nsrun_sandbox **ret,
                             struct nsrun_error *error) {
        struct launch_params params = {
                .terminal_fd = -1, .wants_started = true, .init_path = program_init()};
        struct nsrun_sandbox *s;
        int r;

        s = calloc(1, sizeof(*s));
        if (!s)
                return error_oom(error);
        s->launch = LAUNCH_INIT;
        s->umbrella = UMBRELLA_INIT;
        s->cgroup = CGROUP_INIT;
        s->has_ended = true;
        if (plan->seccomp_cache)
                seccomp_remember(&plan->seccomp, plan->seccomp_cache);
        r = disk_prepare(plan, &s->umbrella, &params, error);
        /* A host's own cgroup is the host's. */
        if (r >= 0)
                r = cgroup_prepare(plan, false, &s->cgroup, &params, error);
        if (r >= 0 && params.n_processes > 0)
                r = keep_note(s, &cgroup_by_rlimit, error);
        if (r >= 0)
                r = launch_start(plan, &params, &s->launch, error);
        if (r >= 0) {
                s->has_ended = false;
                r = take_report(s, error);
                if (r == 0)
                        r = error_set(error, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                      "the sandbox was killed while it was being built", NULL);
        }
        if (r < 0) {
                (void)nsrun_sandbox_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

static int spawn_plainly(const struct nsrun_policy *p, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        int r;

        r = posix_spawn_file_actions_init(&actions);
        if (r != 0)
                return -r;
        if (p->project)
                r = posix_spawn_file_actions_addchdir_np(&actions, p->project);
        if (r == 0)
                r = posix_spawnp(ret, p->argv[0], &actions, NULL, p->argv, environment_inherited(p));
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

int sandbox_start_plainly(const struct nsrun_policy *p, struct nsrun_sandbox **ret,
                          struct nsrun_error *err) {
        static const struct nsrun_error note = {
                .what = "isolation is disabled: the command runs with no sandbox at all"};
        struct nsrun_sandbox *s;
        pid_t pid = -1;
        int r;

        if (!p->argv) {
                (void)error_set(err, NSRUN_STAGE_USAGE, 0, NULL, "no command", NULL);
                return -EINVAL;
        }
        s = calloc(1, sizeof(*s));
        if (!s)
                return error_oom(err);
        s->launch = LAUNCH_INIT;
        s->umbrella = UMBRELLA_INIT;
        s->cgroup = CGROUP_INIT;
        s->has_ended = true;
        s->is_plain = true;
        r = keep_note(s, &note, err);
        if (r >= 0) {
                r = spawn_plainly(p, &pid);
                if (r < 0)
                        (void)error_set(err, NSRUN_STAGE_EXEC, r, p->argv[0],
                                        "the command can't be executed", NULL);
        }
        if (r >= 0) {
                s->launch.pid = pid;
                s->launch.pidfd = r = sys_pidfd_open(pid);
                s->has_ended = r < 0;
                if (r < 0)
                        (void)error_set(err, NSRUN_STAGE_SUPERVISE, r, p->argv[0],
                                        "the command can't be watched", NULL);
        }
        if (r < 0) {
                (void)nsrun_sandbox_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

nsrun_public const char *const *nsrun_sandbox_notes(const struct nsrun_sandbox *sandbox) {
        static const char *const none[] = {NULL};

        return sandbox->notes ? (const char *const *)sandbox->notes : none;
}

nsrun_public int nsrun_sandbox_pidfd(const struct nsrun_sandbox *sandbox) {
        return sandbox->launch.pidfd;
}

nsrun_public int nsrun_sandbox_kill(const struct nsrun_sandbox *sandbox, int signal) {
        if (sandbox->has_ended)
                return -ESRCH;
        return launch_signal(&sandbox->launch, signal);
}

nsrun_public int nsrun_sandbox_wait(struct nsrun_sandbox *sandbox, struct nsrun_exit *ret,
                                    struct nsrun_error *error) {
        int r = 1;

        while (!sandbox->has_status && !sandbox->is_plain && r > 0)
                r = take_report(sandbox, error);
        if (r < 0)
                return r;
        reap_init(sandbox);
        if (!sandbox->has_status)
                return error_set(error, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                 "the sandbox was killed, and the command with it", NULL);
        if (WIFSIGNALED(sandbox->status))
                *ret = (struct nsrun_exit){.code = -1, .signal = WTERMSIG(sandbox->status)};
        else
                *ret = (struct nsrun_exit){.code = WEXITSTATUS(sandbox->status)};
        return 0;
}

nsrun_public struct nsrun_sandbox *nsrun_sandbox_free(struct nsrun_sandbox *sandbox) {
        if (!sandbox)
                return NULL;
        if (!sandbox->has_ended) {
                (void)launch_signal(&sandbox->launch, SIGKILL);
                reap_init(sandbox);
        }
        cgroup_remove(&sandbox->cgroup);
        umbrella_remove(&sandbox->umbrella);
        launch_close(&sandbox->launch);
        strv_free(sandbox->notes);
        free(sandbox);
        return NULL;
}
