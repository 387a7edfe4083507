/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a running sandbox is to be shown besides: what boundary/grant.c is told, in a process of this one's.
 */
#include "child.h"

static int grant_describe(struct child *c, struct launch *l, struct nsrun_error *err) {
        const struct launch_grant *grant = c->params->grant;
        struct boundary_facts *f = &c->b.facts;

        f->life = BOUNDARY_GRANT;
        f->grant_user_fd = grant->user;
        f->root_size = c->plan->root_size;
        c->b.grant = grant->target;
        l->is_join = true;
        return child_open_socket(&l->versions_socket, &f->grant_socket, err);
}

static int grant_make(struct child *c, struct launch *l, nsrun_unused struct nsrun_error *err) {
        const struct boundary_own own = child_own(c);
        int r = sys_fork_to_enter(0, &l->pidfd);

        if (r == 0)
                boundary_run(c->bytes, c->n_bytes, &own);
        if (r > 0)
                l->pid = r;
        return r < 0 ? r : 0;
}

static int grant_explain(nsrun_unused const struct child *c, int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no process for the grant", NULL);
}

const struct child_life grant_life = {
        .n_ours = 1, .describe = grant_describe, .make = grant_make, .explain = grant_explain};
