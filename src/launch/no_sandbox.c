/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command without a sandbox (struct nsrun_plan's `plain` says why there is none): what
 * boundary/no_sandbox.c is told.  So pipes, signals, deadlines and ends are as in a sandbox; nothing else
 * is. */
#include <sys/resource.h>

#include "child.h"

static void describe_plain(struct child *c) {
        struct boundary_facts *f = &c->b.facts;
        struct init *init = &f->init;

        f->life = BOUNDARY_PLAIN;
        f->cgroup_procs_fd = c->params->cgroup ? c->params->cgroup->procs_fd : -EBADF;
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
        describe_plain(c);
        r = child_write(c, err);
        if (r >= 0)
                r = child_block_signals(c, &own, err);
        if (r < 0)
                return r;
        r = child_clone(c, &l->pidfd);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no process for the command",
                                 r == -EAGAIN ? error_limit_hint(RLIMIT_NPROC, 64) : NULL);
        l->pid = r;
        l->is_plain = true;
        return 0;
}
