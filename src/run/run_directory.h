/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must be on disk before a plan is launched. */
#pragma once

#include "disk/rundir.h"
#include "launch/launch.h"

/* Whether there must be one for more than the command's private versions: for layers and folders of the
 * plan's, or to look at what other runs have left. */
bool disk_needs_rundir(const struct nsrun_plan *plan);
/* Makes the run directory and the scratch folder in it, if the plan needs them, and puts them into
 * `params`; else *u stays RUNDIR_INIT.  `is_in_memory`: the command's private versions are.  Marks a joined
 * session as in use.  The caller removes the run directory, also after a failure. */
int disk_prepare(const struct nsrun_plan *plan, bool is_in_memory, struct rundir *u,
                 struct launch_params *params, struct nsrun_error *err);
