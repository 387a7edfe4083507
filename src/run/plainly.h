/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting a command with no sandbox, which only the library's isolation (agent/isolation.c) may
 * ask for. */
#pragma once

#include "nsrun.h"

/* Starts the policy's command with no sandbox at all, for an isolation configuration with
 * "enabled": false. */
int sandbox_start_plainly(const struct nsrun_policy *p, const struct nsrun_start_options *options,
                          struct nsrun_sandbox **ret, struct nsrun_error *err);
