/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that nothing confines, and those that a session confines already: what may be asked for beside.
 */
#pragma once

#include "rules/resolved.h"

/* What "no-sandbox" means, for its user. */
extern const char policy_no_sandbox_warning[];

/* Resolves a policy without a sandbox, because "no-sandbox" was set or isolation is disabled.
 * -EINVAL: what can't be had without one. */
int policy_resolve_plain(struct resolved *s, struct nsrun_error *err);

/* Refuses (-EPERM) options with --session that were decided when the session was
 * started. */
int policy_resolve_session(const struct nsrun_policy *p, struct nsrun_error *err);
