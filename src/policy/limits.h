/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits as they are asked for.  boundary/limits.c sets the rlimits among them, run/cgroup.c the
 * others. */
#pragma once

#include "options.h"

/* Applies --limit: the option_spec.apply of a struct nsrun_policy. */
int limits_apply_option(void *target, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err);

/* Refuses an rlimit above the caller's own hard limit, which the kernel would not give. */
int refuse_limits(const struct nsrun_policy *p, struct nsrun_error *err);
