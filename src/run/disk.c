/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The run directory of a run, whether the program's or the library's.  What is put into its
 * overlays is launch's doing. */
#include "disk.h"

#include "policy/instance.h"

/* Where a rule shows the folder above that of the run directories, the sandbox hides the latter: for that
 * it must exist.  A command could make it otherwise, and other runs would put their directories there. */
static int make_hidden_base(const struct nsrun_plan *plan, struct nsrun_error *err) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                _cleanup_close_ int fd = -EBADF;
                _cleanup_free_ char *path = NULL;
                struct nsrun_error why = {0};
                int r;

                if (!plan->ops[i].is_hiding || access(plan->ops[i].source, F_OK) == 0)
                        continue;
                r = rundir_open_base(&fd, &path, &why);
                /* What may not be made by nsrun can't be made by its command either. */
                if (r >= 0 || r == -EROFS || r == -EACCES)
                        return 0;
                if (err)
                        *err = why;
                return r;
        }
        return 0;
}

int disk_prepare(const struct nsrun_plan *plan, struct rundir *u, struct launch_params *params,
                 struct nsrun_error *err) {
        int r = plan->instance && !plan->join ? instance_make_dirs(plan->instance, err) : 0;

        /* Until the launch is closed, and the plan freed, the session isn't idle. */
        if (r >= 0 && plan->join)
                r = records_hold(&plan->join->folder, err);
        if (r >= 0 && plan->join)
                records_touch(&plan->join->folder);
        if (r >= 0 && !plan->join)
                r = make_hidden_base(plan, err);
        if (r >= 0 && plan_needs_rundir(plan))
                r = rundir_make(u, err);
        if (r >= 0 && plan->rundir)
                r = rundir_make_scratch(u, err);
        params->rundir_fd = u->dir_fd;
        params->rundir_path = u->path;
        params->lock_fd = u->lock_fd;
        return r;
}
