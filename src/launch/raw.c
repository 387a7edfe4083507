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
        if (raw->join_pidfd >= 0 && (raw->join_namespaces & CLONE_NEWPID))
                r = sys_setns(raw->join_pidfd, CLONE_NEWPID);
        r = r < 0 ? r : child_clone(c, l);
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
        const struct plan_raw *raw = plan->raw;

        id->is_late = raw->is_identity_late;
        id->makes_userns = raw->disables_userns || raw->is_identity_late;
        id->needs_no_userns = raw->asserts_no_userns;
        id->takes_uid = raw->takes_uid;
        id->takes_gid = raw->takes_gid;
        id->keeps_capabilities = raw->keeps_capabilities;
        id->keeps_through_exec = raw->keeps_through_exec;
        id->new_session = plan->new_session;
        id->uid = plan->uid;
        id->gid = plan->gid;
        id->capabilities = raw->capabilities;
        id->has_sets = raw->has_sets;
        id->bounding = raw->bounding;
        id->inheritable = raw->inheritable;
        id->ambient = raw->ambient;
        id->groups = raw->groups;
        id->userns_fd = raw->userns2_fd;
        id->block_fd = raw->block_fd;
        format_map(id->uid_map, plan->uid, raw->is_identity_late ? 0 : plan->uid);
        format_map(id->gid_map, plan->gid, raw->is_identity_late ? 0 : plan->gid);
}

static int raw_describe(struct child *c, nsrun_unused struct launch *l, struct nsrun_error *err) {
        const struct nsrun_plan *plan = c->plan;
        const struct plan_raw *raw = plan->raw;
        struct boundary_facts *f = &c->b.facts;

        f->life = BOUNDARY_RAW;
        /* What belongs to a process that can't be looked into is its user namespace's root's: the caller's,
         * who so can open its environment, although no other process can read its memory. */
        format_map(f->uid_map, raw->is_identity_late ? 0 : plan->uid, plan->host_uid);
        format_map(f->gid_map, raw->is_identity_late ? 0 : plan->gid, plan->host_gid);
        describe_identity(plan, &f->init.identity);
        f->init.has_command = true;
        f->init.terminal = INIT_TERMINAL_CALLER;
        f->init.filters_by_prctl = true;
        f->init.sheds_inherited = true;
        f->init.command_scopes = raw->scopes;
        f->init.leftovers = INIT_LEFTOVERS_REAP;
        f->init.refuses_magic_links = raw->refuses_magic_links;
        f->init.outlives_supervisor = !c->params->dies_with_thread;
        f->raw = (struct boundary_raw){.start_fd = raw->start_fd,
                                       .userns_block_fd = raw->userns_block_fd,
                                       .exec_fd = raw->exec_fd,
                                       .join_pidfd = raw->join_pidfd,
                                       .join_namespaces = raw->join_namespaces,
                                       .console_socket = raw->console.socket,
                                       .console_rows = raw->console.rows,
                                       .console_columns = raw->console.columns,
                                       .uid = plan->uid,
                                       .is_private = raw->is_private,
                                       .becomes_root = raw->becomes_root,
                                       .has_root_outside = plan->host_uid == 0,
                                       .has_reaper = raw->has_reaper,
                                       .needs_first_directory = raw->needs_first_directory,
                                       .disables_userns = raw->disables_userns};
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
