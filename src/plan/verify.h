/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A look at a finished plan before anything of it is done, so that a mistake in what made it (policy/,
 * plan/, bwrap/, oci/) is a refusal and not a hole.  It knows no policy: only what every plan must keep. */
#pragma once

#include "plan.h"

/* -EINVAL: the plan would open what it must not, "internal error: operation N (KIND) …", where N counts as
 * `nsrun plan` lists the mounts.  Stage PLAN.  No user should ever see it. */
int plan_verify(const struct nsrun_plan *plan, struct nsrun_error *err);
