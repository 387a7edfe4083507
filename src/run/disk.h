/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan needs on disk before it is launched. */
#pragma once

#include "disk/rundir.h"
#include "launch/launch.h"

/* Makes the run directory, with its scratch folder, where the plan has need of them, and tells
 * `params` of it; else *u stays an RUNDIR_INIT.  The run directory is the caller's to
 * remove, also after a failure. */
int disk_prepare(const struct nsrun_plan *plan, struct rundir *u, struct launch_params *params,
                 struct nsrun_error *err);
