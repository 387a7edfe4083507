/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a command without a sandbox (struct nsrun_plan's `plain` says why there is none): a
 * reaper on the host, and the command as the caller itself would have started it.  So pipes,
 * signals, deadlines and ends are as in a sandbox; nothing else is. */
#include <sys/prctl.h>
#include <sys/resource.h>

#include "child.h"
#include "init_exec.h"
#include "report.h"

static int plain_settle(struct child *c) {
        const struct init *init = &c->reaper.init;
        const int own[] = {init->report_fd, init->supervisor_fd, init->control_fd, c->init_fd,
                           c->init_data_fd};
        struct nsrun_error *err = &c->reaper.error;
        int r = c->joins_cgroup ? child_join_cgroup(c) : 0;

        if (r >= 0)
                r = CHILD_CLOSE_DESCRIPTORS(c, own);
        if (r < 0)
                return r;
        r = sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the command's reaper can't be one",
                                 NULL);
        r = sys_chdir(c->plan->cwd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_EXEC, r, c->plan->cwd,
                                 "the command's working directory can't be entered", NULL);
        return 0;
}

nsrun_no_asan static _Noreturn void plain_run(struct child *c) {
        int r = child_take_descriptors(c);

        c->reaper.init.umask = umask(0);
        if (r >= 0)
                r = plain_settle(c);
        if (r >= 0 && c->init_fd >= 0)
                r = init_exec(c);
        if (r < 0)
                report_failure(c->reaper.init.report_fd, -1, &c->reaper.error);
        init_finish(&c->reaper);
}

static void describe_plain(const struct child *c, struct init *init) {
        init->has_command = true;
        init->terminal = child_terminal(c);
        init->leftovers = c->params->lingers ? INIT_LEFTOVERS_LINGER : INIT_LEFTOVERS_KILL;
        init->is_plain = true;
        init->kills_on_failure = true;
        init->command_dies_with_it = true;
        init->runs_scripts = true;
}

int plain_start(struct child *c, struct launch *l, struct nsrun_error *err) {
        sigset_t own;
        int r;

        if (c->params->n_processes > 0)
                return error_set(err, NSRUN_STAGE_HARDENING, -EOPNOTSUPP, NULL,
                                 "--limit pids: without a sandbox only a cgroup could count the command's "
                                 "processes",
                                 c->params->processes_hint);
        r = child_open_control(c, l, err);
        if (r >= 0)
                r = child_prepare(c, 1, err);
        if (r < 0)
                return r;
        describe_plain(c, &c->reaper.init);
        r = child_block_signals(c, &own, err);
        if (r < 0)
                return r;
        r = child_clone(c, &l->pidfd);
        if (r == 0)
                plain_run(c);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no process for the command",
                                 r == -EAGAIN ? error_limit_hint(RLIMIT_NPROC, 64) : NULL);
        l->pid = r;
        l->is_plain = true;
        return 0;
}
