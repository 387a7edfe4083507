/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A raw plan (struct plan_raw): what boundary/raw/ is told, and the clone. */
#include <sched.h>

#include "child.h"

/* Clones the child.  If that fails it tries again without the namespaces that the plan calls
 * optional. */
static int raw_make(struct child *c, struct launch *l, nsrun_unused struct nsrun_error *err) {
        const struct plan_raw *raw = c->plan->raw;
        struct boundary_facts *f = &c->b.facts;
        bool dies = c->params->dies_with_thread;
        int r = 0;

        f->namespaces = raw->namespaces;
        f->init.command_dies_with_it = dies && !(f->namespaces & CLONE_NEWPID);
        if (raw->setup.join_pidfd >= 0 && (raw->setup.join_namespaces & CLONE_NEWPID))
                r = sys_setns(raw->setup.join_pidfd, CLONE_NEWPID);
        if (r < 0)
                return r;
        r = child_clone(c, l);
        if (r < 0 && (raw->namespaces & raw->optional)) {
                f->namespaces &= ~raw->optional;
                f->init.command_dies_with_it = dies && !(f->namespaces & CLONE_NEWPID);
                r = child_clone(c, l);
        }
        return r;
}

static int raw_explain(nsrun_unused const struct child *c, int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL, "Creating new namespace failed", NULL);
}

static void format_map(char to[48], unsigned inside, unsigned outside) {
        (void)snprintf(to, 48, "%u %u 1\n", inside, outside);
}

/* What the reaper holds open: what was given, and the files that it will lock. */
static int hold_descriptors(struct child *c, struct nsrun_error *err) {
        const struct plan_raw *raw = c->plan->raw;
        size_t n = raw->n_held_fds + strv_length(raw->lock_files);

        c->held = calloc(n + 1, sizeof(*c->held));
        if (!c->held)
                return error_oom(err);
        for (size_t i = 0; i < n; i++)
                c->held[i] = i < raw->n_held_fds ? raw->held_fds[i] : -EBADF;
        c->b.held = c->held;
        c->b.n_held = n;
        return 0;
}

static void describe_identity(const struct nsrun_plan *plan, struct init_identity *id) {
        *id = plan->raw->identity;
        id->makes_userns = plan->raw->setup.disables_userns || id->is_late;
        id->new_session = plan->new_session;
        id->uid = plan->uid;
        id->gid = plan->gid;
        id->self_fd = -EBADF;
        format_map(id->uid_map, plan->uid, id->is_late ? 0 : plan->uid);
        format_map(id->gid_map, plan->gid, id->is_late ? 0 : plan->gid);
}

static int raw_describe(struct child *c, nsrun_unused struct launch *l, struct nsrun_error *err) {
        const struct nsrun_plan *plan = c->plan;
        const struct plan_raw *raw = plan->raw;
        struct boundary_facts *f = &c->b.facts;

        f->life = BOUNDARY_RAW;
        /* What belongs to a process that can't be looked into is its user namespace's root's: the caller's,
         * who so can open its environment, although no other process can read its memory. */
        format_map(f->uid_map, raw->identity.is_late ? 0 : plan->uid, plan->host_uid);
        format_map(f->gid_map, raw->identity.is_late ? 0 : plan->gid, plan->host_gid);
        describe_identity(plan, &f->init.identity);
        f->init.has_command = true;
        f->init.terminal = INIT_TERMINAL_CALLER;
        f->init.filters_by_prctl = true;
        f->init.sheds_inherited = true;
        f->init.command_scopes = raw->scopes;
        f->init.leftovers = INIT_LEFTOVERS_REAP;
        f->init.refuses_magic_links = raw->refuses_magic_links;
        f->init.outlives_supervisor = !c->params->dies_with_thread;
        f->raw = raw->setup;
        f->raw.uid = plan->uid;
        f->raw.has_root_outside = plan->host_uid == 0;
        c->b.file_label = raw->file_label;
        c->b.exec_label = raw->exec_label;
        c->b.directories = raw->directories;
        c->b.pwd = raw->pwd;
        c->b.lock_files = raw->lock_files;
        c->b.filters = raw->filters;
        c->b.n_filters = raw->n_filters;
        return hold_descriptors(c, err);
}

const struct child_life raw_life = {.has_listener = true,
                                    .n_ours = 1,
                                    .describe = raw_describe,
                                    .make = raw_make,
                                    .explain = raw_explain};
