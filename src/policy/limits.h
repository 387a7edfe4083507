/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits as they are asked for.  boundary/limits.c sets the rlimits among them, run/cgroup.c the
 * others. */
#pragma once

#include "policy.h"

/* Refuses an rlimit above the caller's own hard limit, which the kernel would not give. */
int refuse_limits(const struct nsrun_policy *p, struct nsrun_error *err);
