/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trial of those parts of a plan that may be had in a lesser way.  None of the host's folders is shown but
 * the caches, below overlays, and nothing is executed.  */
#include "degraded_trial.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/stream.h"
#include "base/sys.h"
#include "run.h"

/* ------------------------------------------------------------------- the plan of the trial */

/* /proc with what covers parts of it, and the caches. */
static bool is_tried(const struct plan_op *op) {
        return path_is_beneath(op->target, "/proc") || (op->kind == PLAN_OVERLAY && !op->was_asked_for);
}

/* Whether an operation has folders of its own beneath its mount point. */
static bool has_folders(const struct plan_op *op) {
        return op->kind == PLAN_OVERLAY || op->kind == PLAN_PROC;
}

/* Adds an operation; NULL for want of memory. */
static struct plan_op *foretell_add(struct nsrun_plan *trial, enum plan_op_kind kind, const char *target) {
        struct plan_op *ops = reallocarray(trial->ops, trial->n_ops + 1, sizeof(*ops)), *op;

        if (!ops)
                return NULL;
        trial->ops = ops;
        op = &ops[trial->n_ops];
        *op = (struct plan_op){.kind = kind, .target = strdup(target), .mode = 0755};
        trial->n_ops += op->target != NULL;
        return op->target ? op : NULL;
}

/* Whether there is an operation at the path, or one above it that has folders of its own. */
static bool foretell_has(const struct nsrun_plan *trial, const char *path) {
        for (size_t i = 0; i < trial->n_ops; i++)
                if (streq(trial->ops[i].target, path) ||
                    (has_folders(&trial->ops[i]) && path_is_beneath(path, trial->ops[i].target)))
                        return true;
        return false;
}

static int foretell_add_tried(struct nsrun_plan *trial, const struct plan_op *op) {
        _cleanup_free_ char *path = strdup(op->target);
        struct plan_op *own;

        if (!path)
                return -ENOMEM;
        for (char *slash = path; (slash = strchr(slash + 1, '/')); *slash = '/') {
                *slash = '\0';
                if (!foretell_has(trial, path) && !foretell_add(trial, PLAN_DIR, path))
                        return -ENOMEM;
        }
        own = foretell_add(trial, op->kind, op->target);
        if (!own)
                return -ENOMEM;
        trial->has_overlays |= op->kind == PLAN_OVERLAY;
        own->makes_target = true;
        for (size_t i = 0; i + 1 < trial->n_ops; i++)
                if (has_folders(&trial->ops[i]) && path_is_beneath(op->target, trial->ops[i].target))
                        own->makes_target = false;
        own->origin = op->origin;
        own->can_be_empty = op->can_be_empty;
        own->is_device = op->is_device;
        own->is_directory = op->kind == PLAN_OVERLAY;
        own->size = op->size;
        own->proc = op->proc;
        if ((op->source && !(own->source = strdup(op->source))) ||
            (op->text && !(own->text = strdup(op->text))))
                return -ENOMEM;
        return 0;
}

static int make_trial(const struct nsrun_plan *plan, struct nsrun_plan **ret) {
        _cleanup_plan_ struct nsrun_plan *trial = calloc(1, sizeof(*trial));

        if (!trial || !(trial->cwd = strdup("/")) || !(trial->seccomp_name = strdup("none")))
                return -ENOMEM;
        trial->root_size = plan->root_size;
        trial->asked_proc = plan->asked_proc;
        trial->net = plan->net == POLICY_NET_HOST ? POLICY_NET_HOST : POLICY_NET_NONE;
        trial->backing = plan->backing;
        trial->landlock = POLICY_LANDLOCK_OFF;
        trial->uid = plan->uid;
        trial->gid = plan->gid;
        trial->host_uid = plan->host_uid;
        trial->host_gid = plan->host_gid;
        trial->new_session = true;
        trial->is_session = true;
        trial->refuses_degraded = plan->refuses_degraded;
        if (plan->private && plan->is_session &&
            (strv_copy(plan->private, &trial->private) < 0 || !(trial->rundir = strdup(plan->rundir))))
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_ops; i++)
                if (is_tried(&plan->ops[i]) && foretell_add_tried(trial, &plan->ops[i]) < 0)
                        return -ENOMEM;
        *ret = TAKE_PTR(trial);
        return 0;
}

/* ------------------------------------------------------------------------------- the trial */

/* The folders that the trial would make, the innermost first. */
static int list_missing(char ***ret) {
        _cleanup_free_ char *path = NULL;
        int r = rundir_find_base(&path, NULL);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        while (path && access(path, F_OK) < 0 && errno == ENOENT) {
                char *parent = path_parent(path);

                r = strv_consume(ret, path);
                path = parent;
                if (r < 0 || !parent)
                        return -ENOMEM;
        }
        return 0;
}

static int foretell_try(const struct nsrun_plan *trial, char ***degraded_list, struct nsrun_error *err) {
        int null = null_open(O_RDWR | O_NOCTTY, err), stdio[] = {null, null, null};
        int r = null < 0 ? null : 0;
        const struct run_params params = {
                .launch = {
                        .stdio = stdio, .terminal_fd = -1, .wants_started = true, .dies_with_thread = true}};
        _cleanup_strv_ char **missing = NULL;
        struct run run = RUN_INIT;

        if (r >= 0 && list_missing(&missing) < 0)
                r = error_oom(err);
        if (r >= 0)
                r = run_begin(trial, &params, &run, err);
        if (r >= 0)
                r = run_await_start(&run, NULL, err);
        STRV_FOREACH (entry, run.degraded) {
                const char *path = NULL;
                const struct degraded *row = degraded_read(*entry, &path);

                if (r >= 0 && row && degraded_add(degraded_list, row, path) < 0)
                        r = error_oom(err);
        }
        run_end(&run);
        if (null >= 0)
                (void)sys_close(null);
        STRV_FOREACH (folder, missing)
                (void)rmdir(*folder);
        return r;
}

/* What bounds the number of processes. */
static int foretell_limits(struct nsrun_plan *plan, struct nsrun_error *err) {
        struct launch_params params = {.rundir_fd = -1};
        struct cgroup cgroup = CGROUP_INIT;
        int r;

        if (plan->limits.pids == 0)
                return 0;
        r = cgroup_prepare(plan, true, &cgroup, &params, err);
        if (r >= 0 && params.n_processes > 0 &&
            degraded_add(&plan->degraded, &degraded[DEGRADED_PIDS], NULL) < 0)
                r = error_oom(err);
        cgroup_remove(&cgroup);
        return r;
}

int foretell_degraded(struct nsrun_plan *plan, struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *trial = NULL;
        struct nsrun_error why = {0};
        int r;

        if (plan->plain || plan->join)
                return 0;
        if (make_trial(plan, &trial) < 0)
                return error_oom(err);
        r = foretell_try(trial, &plan->degraded, &why);
        if (r >= 0)
                r = foretell_limits(plan, &why);
        if (r >= 0)
                return 0;
        if (r == -ENOMEM || degraded_is_refusal(&why)) {
                if (err)
                        *err = why;
                return r;
        }
        plan->untold = nsrun_error_format(&why);
        return plan->untold ? 0 : error_oom(err);
}
