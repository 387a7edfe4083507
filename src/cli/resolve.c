/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun resolve`: where a path that is meant for the sandbox leads on the host, and
 * whether a command there could read or write it.  Opens nothing and runs nothing. */
#include "workspace/resolve.h"

#include "base/path.h"
#include "option.h"
#include "plan/plan.h"

struct resolve_options {
        bool is_read;
        bool is_write;
};

OPTION_FLAG(apply_read, struct resolve_options, is_read);
OPTION_FLAG(apply_write, struct resolve_options, is_write);

const struct option_spec resolve_options[] = {
        {"read", 0, NULL, OPTION_COMPLETES_NOTHING, "What is asked", "resolve the paths for reading",
         apply_read},
        {"write", 0, NULL, OPTION_COMPLETES_NOTHING, "What is asked", "resolve the paths for writing",
         apply_write},
};
const size_t n_resolve_options = ARRAY_SIZE(resolve_options);

/* What a plan's operation means to whoever looks at the host.  An overlay's writes
 * never reach it: for a tool out here its folder may only be read. */
static int cli_resolve_add_op(struct workspace *w, const struct plan_op *op, struct nsrun_error *err) {
        bool is_writable = op->kind == PLAN_BIND && !op->is_read_only;

        if (op->is_in_rundir)
                return workspace_hide(w, op->target,
                                      "a run's scratch folder is not on the host before the run begins",
                                      err);
        if (op->kind == PLAN_HIDE)
                return workspace_hide(w, op->target, "the path is hidden", err);
        if ((op->kind == PLAN_BIND && !op->is_device) || op->kind == PLAN_OVERLAY)
                return workspace_add_bind(w, is_writable ? WORKSPACE_WRITE : WORKSPACE_READ, op->source,
                                          op->target, err);
        if (op->kind == PLAN_DIR || op->kind == PLAN_SYMLINK || op->kind == PLAN_COVER)
                return 0;
        return workspace_hide(w, op->target, NULL, err);
}

static int make_workspace(const struct nsrun_plan *plan, struct workspace *ret, struct nsrun_error *err) {
        _cleanup_workspace_ struct workspace w = {0};
        int r = 0;

        /* The project first: relative paths begin there. */
        if (plan->project)
                r = workspace_add_bind(&w, WORKSPACE_READ, plan->project, NULL, err);
        for (size_t i = 0; i < plan->n_ops && r >= 0; i++)
                r = cli_resolve_add_op(&w, &plan->ops[i], err);
        if (r < 0)
                return r;
        *ret = w;
        w = (struct workspace){0};
        return 0;
}

static int resolve_one(const struct nsrun_plan *plan, const struct workspace *w,
                       enum workspace_access access, const char *path) {
        _cleanup_free_ char *host = NULL, *visible = NULL;
        struct nsrun_error err = {0};
        int r;

        if (!plan->project && *path && !path_is_absolute(path))
                r = error_set(&err, NSRUN_STAGE_POLICY, -EPERM, path, "a relative path without a project",
                              NULL);
        else
                r = workspace_resolve(w, access, path, &host, &err);
        if (r < 0)
                return option_fail(&err);
        /* A script gets the path as it is; a person's terminal obeys no bytes of it. */
        visible = isatty(STDOUT_FILENO) ? str_visible(host) : strdup(host);
        if (!visible) {
                (void)error_oom(&err);
                return option_fail(&err);
        }
        (void)printf("%s\n", visible);
        return 0;
}

static int resolve_all(struct nsrun_policy *policy, enum workspace_access access, char *const *paths,
                       bool *ret_has_refused, struct nsrun_error *err) {
        static const char *const command[] = {"true", NULL};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_workspace_ struct workspace w = {0};
        int r;

        if (policy->session)
                return error_set(
                        err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                        "a session's paths are not the host's: its overlays and its /tmp are its own",
                        "look inside: nsrun run --session ID -- cat PATH, or nsrun session diff ID");
        if (policy->no_sandbox)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                 "without a sandbox every path is the host's", "leave --no-sandbox out");
        /* The environment makes no difference to which files a command sees: without it nothing of it can be
         * refused. */
        r = nsrun_policy_set(policy, "clean-env", NULL, err);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, command, err);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0)
                r = make_workspace(plan, &w, err);
        for (; r >= 0 && *paths; paths++)
                *ret_has_refused |= resolve_one(plan, &w, access, *paths) != 0;
        return r;
}

static int check_and_resolve(struct invocation *i, struct nsrun_error *err) {
        const struct resolve_options *options = i->options;
        bool has_refused = false;
        int r;

        if (options->is_read == options->is_write)
                return option_usage_error(i->command, NULL, "one of --read and --write is needed", err);
        if (!*i->words)
                return option_usage_error(i->command, NULL, "no path", err);
        r = resolve_all(i->policy, options->is_write ? WORKSPACE_WRITE : WORKSPACE_READ, i->words,
                        &has_refused, err);
        i->status = has_refused;
        return r;
}

COMMAND_MAIN(resolve, &(struct resolve_options){0}, .run = check_and_resolve);
