/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "widen_plan.h"

#include "base/array.h"
#include "base/path.h"
#include "explain/never.h"
#include "explain/path.h"
#include "plan/build.h"
#include "plan/verify.h"

static int widen_refuse(const char *path, const char *what, const char *hint, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), path, what, hint);
}

bool widen_has_namespaces(const struct nsrun_plan *plan) {
        const char *changes = "";
        const struct seccomp_shipped *shipped = seccomp_find_shipped(plan->seccomp_name, &changes);

        return !shipped || *changes || (!streq(shipped->name, "default") && !streq(shipped->name, "strict"));
}

/* The operation that shows what was asked for. */
static const struct plan_op *find_shown(const struct nsrun_plan *plan, const char *option,
                                        const char *path) {
        enum plan_origin origin = streq(option, "rw") ? PLAN_BY_WRITABLE : PLAN_BY_READABLE;

        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (streq(op->target, path) && (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY) &&
                    op->origin == origin)
                        return op;
        }
        return NULL;
}

/* Whether the sandbox has at the path what is asked for. */
static bool has_already(const struct plan_op *cover, const struct plan_op *op) {
        const char *below = path_below(op->target, cover->target);
        _cleanup_free_ char *source = cover->source && below ? path_join(cover->source, below) : NULL;

        return cover->kind == PLAN_BIND && source && streq(source, op->source) && op->kind == PLAN_BIND &&
               (op->is_read_only || !cover->is_read_only);
}

/* Whether the sandbox leaves room for it. */
static int judge_room(const struct nsrun_plan *running, const struct plan_op *op, struct nsrun_error *err) {
        const struct plan_op *cover = explain_covering(running, op->target);
        bool is_hosts = false;

        for (size_t i = 0; i < running->n_ops; i++) {
                const struct plan_op *other = &running->ops[i];
                const char *below = path_below(other->target, op->target);

                if (below && *below && other->kind != PLAN_DIR)
                        return widen_refuse(other->target,
                                            "the sandbox has this, and what lies around it would cover it",
                                            "name what is wanted beside it", err);
                is_hosts |= path_is_beneath(op->target, other->target) &&
                            (other->kind == PLAN_BIND || other->kind == PLAN_OVERLAY);
        }
        if (cover && cover->kind != PLAN_DIR && cover->kind != PLAN_BIND && cover->kind != PLAN_OVERLAY &&
            (cover->kind != PLAN_TMPFS || cover->is_hiding))
                return widen_refuse(op->target, "the sandbox hides what lies here", NULL, err);
        if (!is_hosts)
                return 0;
        if (cover->origin == PLAN_BY_PROTECTED)
                return widen_refuse(op->target, "the sandbox protects what lies here",
                                    "--no-protect, where the sandbox is started, lets it be written", err);
        /* Whoever has that elsewhere, the command among them, could move what is mounted there, and with it
         * what else is mounted in it. */
        return has_already(cover, op)
                       ? widen_refuse(op->target, "the sandbox has it already", NULL, err)
                       : widen_refuse(op->target, "the sandbox shows a folder of the host's around it",
                                      "name a path beside that, or start the sandbox with the option", err);
}

/* Nothing looks after what is shown later: what has to be covered or hidden in it isn't shown. */
static int judge_parts(const struct nsrun_plan *plan, const char *path, struct nsrun_error *err) {
        size_t n = 0;

        for (size_t i = 0; i < plan->n_ops; i++)
                n += path_is_beneath(plan->ops[i].target, path);
        return n > 1 ? widen_refuse(path,
                                    "the sandbox must be started anew to show this: something in it is kept "
                                    "from commands",
                                    "name a path in it, or start the sandbox with the option", err)
                     : 0;
}

/* No two grants cover each other. */
static int judge_granted(const struct granted_list *granted, const char *path, struct nsrun_error *err) {
        for (size_t i = 0; i < granted->n; i++) {
                const char *other = granted->items[i].path;

                if (!granted->items[i].is_live ||
                    (!path_is_beneath(other, path) && !path_is_beneath(path, other)))
                        continue;
                return widen_refuse(other,
                                    streq(other, path) ? "the sandbox was granted this"
                                    : path_is_beneath(path, other)
                                            ? "the sandbox was granted this, and so has what lies in it"
                                            : "the sandbox was granted this, which lies in that",
                                    "take it back first: nsrun revoke", err);
        }
        return 0;
}

static int add_way(struct plan_op **ops, size_t *n, const char *path, size_t length) {
        if (ARRAY_GROW(*ops, *n) < 0)
                return -ENOMEM;
        (*ops)[*n] = (struct plan_op){.kind = PLAN_DIR, .target = strndup(path, length), .mode = 0755};
        return (*ops)[(*n)++].target ? 0 : -ENOMEM;
}

/* Leaves of the plan the folders on the way, and what is at the path: that very folder or file, of which
 * stat(2) has said this.  What a command would have a version of its own of is the host's, read-only. */
static int keep_part(struct nsrun_plan *plan, const char *path, const struct stat *st) {
        struct plan_op *ops = NULL;
        size_t n = 0;
        int r = 0;

        for (const char *slash = path; (slash = strchr(slash + 1, '/')) && r >= 0;)
                r = add_way(&ops, &n, path, (size_t)(slash - path));
        for (size_t i = 0; i < plan->n_ops; i++) {
                struct plan_op *op = &plan->ops[i];

                if (r < 0 || !streq(op->target, path) || (r = ARRAY_GROW(ops, n)) < 0) {
                        plan_op_clear(op);
                        continue;
                }
                op->makes_target = true;
                op->is_copied = false;
                if (op->kind == PLAN_BIND) {
                        free(op->text);
                        op->text = NULL;
                } else {
                        op->base_dev = st->st_dev;
                        op->base_ino = st->st_ino;
                }
                ops[n++] = *op;
        }
        free(plan->ops);
        plan->ops = ops;
        plan->n_ops = n;
        strv_freep(&plan->private);
        return r;
}

static int make_policy(const struct nsrun_plan *running, const char *option, const char *path,
                       struct nsrun_policy **ret, struct nsrun_error *err) {
        struct nsrun_policy *policy = NULL;
        int r = nsrun_policy_new(&policy) < 0 ? error_oom(err) : nsrun_policy_set(policy, option, path, err);

        *ret = policy;
        if (r < 0)
                return r;
        policy->no_project = true;
        policy->backing = POLICY_BACKING_TMPFS;
        return strv_copy(running->protect, &policy->protect) < 0 ||
                               strv_copy(running->no_protect, &policy->no_protect) < 0
                       ? error_oom(err)
                       : 0;
}

int widen_allows(const struct nsrun_plan *running, struct nsrun_error *err) {
        if (running->is_strict)
                return widen_refuse(NULL, "with --protect=strict a sandbox is shown nothing more",
                                    "start it with the option", err);
        /* What is hidden could have other names there. */
        if (running->hide || running->hidden)
                return widen_refuse(NULL, "with --hide a sandbox is shown nothing more",
                                    "start it with the option", err);
        /* It could move a mount point from one that hasn't that mount, and keep what is taken back. */
        if (widen_has_namespaces(running))
                return widen_refuse(
                        running->seccomp_name,
                        "with this filter, which may let the command make namespaces, a sandbox is "
                        "shown nothing more",
                        "start it with the option", err);
        return 0;
}

int widen_plan(const struct nsrun_plan *running, const struct granted_list *granted, const char *option,
               const char *path, const struct stat *st, struct nsrun_plan **ret, char **ret_path,
               struct nsrun_error *err) {
        struct nsrun_policy *policy = NULL;
        /* A plan without a command isn't whole. */
        struct policy_request request = {.argv = (char *[]){(char[]){"true"}, NULL}};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_free_ char *canonical = NULL;
        const struct plan_op *op;
        int r = widen_allows(running, err);

        if (r < 0)
                return r;
        r = make_policy(running, option, path, &policy, err);
        request.policy = policy;
        if (r >= 0)
                r = plan_make(&request, &plan, err);
        (void)nsrun_policy_free(policy);
        if (r >= 0)
                r = plan_verify(plan, err);
        if (r < 0)
                return r;
        r = path_canonical(path, &canonical, NULL);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, path, "it can't be found", NULL);
        op = find_shown(plan, option, canonical);
        if (!op)
                return widen_refuse(canonical, "every sandbox has it, or it is the sandbox's own", NULL,
                                    err);
        r = streq(option, "rw") && !S_ISREG(st->st_mode)
                    ? widen_refuse(
                              canonical,
                              "a running sandbox is shown no folder writable, since nobody would look after what the command makes there",
                              "name a file, or start the sandbox with --rw", err)
                    : judge_room(running, op, err);
        if (r >= 0 && explain_has_key_file(running, canonical))
                r = widen_refuse(canonical, "a key that stays outside lies there (--key)", NULL, err);
        if (r >= 0)
                r = judge_parts(plan, canonical, err);
        if (r >= 0)
                r = judge_granted(granted, canonical, err);
        if (r >= 0 && keep_part(plan, canonical, st) < 0)
                r = error_oom(err);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(plan);
        *ret_path = TAKE_PTR(canonical);
        return 0;
}
