/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits as they are asked for.  How they are kept is launch/'s (rlimits) and run/'s
 * (the cgroup). */
#pragma once

#include "options.h"

/* --limit: option_spec.apply for a struct nsrun_policy. */
int limits_apply_option(void *target, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err);

/* Refuses what the kernel would not give: a limit above the caller's own hard one. */
int refuse_limits(const struct nsrun_policy *p, struct nsrun_error *err);
