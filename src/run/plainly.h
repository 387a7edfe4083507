/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's isolation needs of a sandbox object besides nsrun.h. */
#pragma once

#include "nsrun.h"

/* Starts the policy's command with no sandbox at all: what "enabled": false asks for, and
 * nothing else does. */
int sandbox_start_plainly(const struct nsrun_policy *p, const struct nsrun_start_options *options,
                          struct nsrun_sandbox **ret, struct nsrun_error *err);
