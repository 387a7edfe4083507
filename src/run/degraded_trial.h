/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What this host denies a plan, for whoever is shown the plan before it runs. */
#pragma once

#include "plan/plan.h"

/* Adds to plan->degraded what a launch of the plan would find to be denied: makes the namespaces, the /proc
 * and the default caches' overlays of the plan in a sandbox without a command, and takes it away again.
 * Where that isn't possible plan->untold says why.  -EOPNOTSUPP with *err filled: --strict refuses the plan;
 * -ENOMEM. */
int foretell_degraded(struct nsrun_plan *plan, struct nsrun_error *err);
