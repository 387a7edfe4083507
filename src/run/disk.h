/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan needs on disk before it is launched. */
#pragma once

#include "launch/launch.h"
#include "workspace/umbrella.h"

/* Makes the umbrella, with its playground, where the plan has need of them, and tells
 * `params` of it; else *u stays an UMBRELLA_INIT.  The umbrella is the caller's to
 * remove, also after a failure. */
int disk_prepare(const struct nsrun_plan *plan, struct umbrella *u, struct launch_params *params,
                 struct nsrun_error *err);
