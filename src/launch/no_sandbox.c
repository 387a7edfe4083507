/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command without a sandbox (struct nsrun_plan's `plain` says why there is none): what
 * boundary/no_sandbox.c is told.  So pipes, signals, deadlines and ends are as in a sandbox; nothing else
 * is. */
#include <sys/resource.h>

#include "child.h"

static int plain_describe(struct child *c, struct launch *l, struct nsrun_error *err) {
        struct boundary_facts *f = &c->b.facts;
        struct init *init = &f->init;

        if (c->params->n_processes > 0)
                return error_set(err, NSRUN_STAGE_HARDENING, -EOPNOTSUPP, NULL,
                                 "--limit pids: without a sandbox only a cgroup could count the command's "
                                 "processes",
                                 c->params->processes_hint);
        l->is_plain = true;
        f->life = BOUNDARY_PLAIN;
        f->cgroup_procs_fd = c->params->cgroup ? c->params->cgroup->procs_fd : -EBADF;
        init->has_command = true;
        init->terminal = child_terminal(c);
        init->leftovers = c->params->lingers ? INIT_LEFTOVERS_LINGER : INIT_LEFTOVERS_KILL;
        init->is_plain = true;
        init->kills_on_failure = true;
        init->command_dies_with_it = true;
        init->runs_scripts = true;
        return 0;
}

static int plain_make(struct child *c, struct launch *l, nsrun_unused struct nsrun_error *err) {
        return child_clone(c, l);
}

static int plain_explain(nsrun_unused const struct child *c, int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no process for the command",
                         r == -EAGAIN ? error_limit_hint(RLIMIT_NPROC, 64) : NULL);
}

const struct child_life plain_life = {.has_control = true,
                                      .n_ours = 1,
                                      .describe = plain_describe,
                                      .make = plain_make,
                                      .explain = plain_explain};
