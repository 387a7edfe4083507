/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The umbrella of a run, whether the program's or the library's.  What is put into its
 * overlays is launch's doing. */
#include "disk.h"

#include "policy/instance.h"

int disk_prepare(const struct nsrun_plan *plan, struct umbrella *u, struct launch_params *params,
                 struct nsrun_error *err) {
        int r = plan->instance && !plan->join ? instance_make_dirs(plan->instance, err) : 0;

        /* Until the launch is closed, and the plan freed, the session isn't idle. */
        if (r >= 0 && plan->join)
                r = records_hold(&plan->join->folder, err);
        if (r >= 0 && plan->join)
                records_touch(&plan->join->folder);
        if (r >= 0 && plan_needs_umbrella(plan))
                r = umbrella_make(u, err);
        if (r >= 0 && plan->umbrella)
                r = umbrella_make_playground(u, err);
        params->umbrella_fd = u->dir_fd;
        params->umbrella_path = u->path;
        params->lock_fd = u->lock_fd;
        return r;
}
