/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The run directory of a run, the program's or the library's.  launch/ fills in the overlays'
 * layers. */
#include "run_directory.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/sys.h"
#include "resolve/instance_folders.h"

/* Makes the folder of all run directories, and that of nsrun's state, if the plan hides it and it doesn't
 * exist: launch/ leaves a tmpfs out that would hide nothing, so that a command could make the folder,
 * and other runs would believe what is in it. */
static int make_hidden_base(const struct plan_op *op, struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL, *state = NULL;
        struct nsrun_error why = {0};
        int r = exposed_find_base(&state, &why);

        if (r >= 0 && streq(op->source, state)) {
                r = exposed_make_base();
                (void)error_set(&why, NSRUN_STAGE_WORKSPACE, r, state, "the state folder can't be made",
                                NULL);
        } else {
                r = rundir_open_base(&fd, &path, &why);
        }
        /* Where nsrun may not make it, the command, which has nsrun's uid, may not either. */
        if (r >= 0 || r == -EROFS || r == -EACCES)
                return 0;
        if (err)
                *err = why;
        return r;
}

static int make_hidden_bases(const struct nsrun_plan *plan, struct nsrun_error *err) {
        int r = 0;

        for (size_t i = 0; i < plan->n_ops && r >= 0; i++)
                if (plan->ops[i].is_hiding && access(plan->ops[i].source, F_OK) < 0)
                        r = make_hidden_base(&plan->ops[i], err);
        return r;
}

/* Makes a mount point in --home's folder, which is mounted at `home`. */
static int make_in_home(const struct nsrun_plan *plan, const struct plan_op *op, const char *home,
                        struct nsrun_error *err) {
        const char *below = home ? path_below(op->target, home) : NULL;
        _cleanup_free_ char *path = below ? path_join(plan->own_home, below) : NULL;

        return path ? instance_make(path, op->is_directory, "a mount point in the folder of --home", err)
                    : error_oom(err);
}

/* The folder of --home: nobody else has a look at what is new. */
static int make_home(const char *path, struct nsrun_error *err) {
        static const char what[] = "the folder of --home";
        _cleanup_free_ char *parent = path_parent(path);
        int r = parent ? instance_make(parent, true, what, err) : error_oom(err);

        if (r < 0)
                return r;
        (void)sys_mkdirat(AT_FDCWD, path, 0700);
        return instance_make(path, true, what, err);
}

/* The folders of an instance, or of --home, and the mount points in them. */
static int make_prepared(const struct nsrun_plan *plan, struct nsrun_error *err) {
        int r = plan->instance   ? instance_make_dirs(plan->instance, plan->workspace, err)
                : plan->own_home ? make_home(plan->own_home, err)
                                 : 0;
        const char *home = NULL;

        for (size_t i = 0; i < plan->n_ops && r >= 0; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (plan->own_home && op->kind == PLAN_BIND && streq(op->source, plan->own_home))
                        home = op->target;
                else if (op->makes_on_host)
                        r = plan->own_home ? make_in_home(plan, op, home, err)
                                           : instance_make(op->target, op->is_directory,
                                                           "a mount point in the instance", err);
        }
        return r;
}

static bool has_scratch(const struct nsrun_plan *plan) {
        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].is_in_rundir && !streq(plan->ops[i].target, PLAN_PRIVATE))
                        return true;
        return false;
}

/* Whether a run directory would be for nothing but default caches' overlays, git's configuration and
 * protected names: launch/ can have the layers of the first in memory, the second is read-only then, and the
 * third are renamed where they are. */
static bool can_do_without_rundir(const struct nsrun_plan *plan) {
        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].kind == PLAN_OVERLAY &&
                    (plan->ops[i].was_asked_for || plan->ops[i].origin == PLAN_BY_AGENT))
                        return false;
        return !has_scratch(plan) && !plan->has_stubs;
}

/* --strict: the first default cache whose overlay would be in memory, or what else is lacking, and why. */
static int refuse_memory(const struct nsrun_plan *plan, const struct nsrun_error *why,
                         struct nsrun_error *err) {
        _cleanup_free_ char *hint = nsrun_error_format(why);
        size_t i = 0;

        if (!hint)
                return error_oom(err);
        while (i + 1 < plan->n_ops && plan->ops[i].kind != PLAN_OVERLAY)
                i++;
        if (plan->ops[i].kind != PLAN_OVERLAY)
                return degraded_refuse(err, DEGRADED_GIT_CONFIG, plan->private[0], hint);
        return degraded_refuse(err, DEGRADED_CACHE_IN_MEMORY, plan->ops[i].target, hint);
}

static int disk_make_rundir(const struct nsrun_plan *plan, bool has_versions, struct rundir *u,
                            struct nsrun_error *err) {
        struct nsrun_error why = {0};
        int r;

        if (!can_do_without_rundir(plan))
                return rundir_make(u, err);
        r = rundir_make(u, &why);
        if (r < 0 && r != -ENOMEM && plan->refuses_degraded &&
            (has_versions || (plan->has_overlays && plan->backing == POLICY_BACKING_DISK)))
                return refuse_memory(plan, &why, err);
        return r == -ENOMEM ? error_oom(err) : 0;
}

bool disk_needs_rundir(const struct nsrun_plan *plan) {
        return plan_needs_rundir(plan) || has_scratch(plan) ||
               (plan->rundir && (plan->refuses_degraded || rundir_any_uncarried()));
}

int disk_prepare(const struct nsrun_plan *plan, bool is_in_memory, struct rundir *u,
                 struct launch_params *params, struct nsrun_error *err) {
        bool has_versions = plan->private && plan->rundir && !is_in_memory;
        int r = plan->join ? 0 : make_prepared(plan, err);

        /* The lock keeps the session from being idle until the plan is freed. */
        if (r >= 0 && plan->join)
                r = records_hold(&plan->join->folder, err);
        if (r >= 0 && plan->join)
                records_touch(plan->join->folder.activity_fd);
        if (r >= 0 && !plan->join)
                r = exposed_add(plan->exposes, err);
        if (r >= 0 && !plan->join)
                r = make_hidden_bases(plan, err);
        if (r >= 0 && !is_in_memory && (has_versions || disk_needs_rundir(plan)))
                r = disk_make_rundir(plan, has_versions, u, err);
        u->is_shown = plan->is_session;
        if (r >= 0 && plan->rundir && has_scratch(plan))
                r = rundir_make_scratch(u, err);
        params->rundir_fd = u->dir_fd;
        params->rundir_path = u->path;
        params->lock_fd = u->lock_fd;
        return r;
}
