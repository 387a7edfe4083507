/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan by which a running sandbox is shown one more path of the host's. */
#pragma once

#include "running/granted.h"

/* The plan of what the option shows of `path`, as it was typed: its operations are those of the folders on
 * the way, of the path, and of what lies over parts of that.  *ret is for plan_free(), *ret_path the path
 * inside. `granted`: what the sandbox, whose plan is `running`, was granted already.  -errno with *err
 * filled: what refuses the option at a start refuses it here; and what the sandbox has there, or below,
 * would be covered. */
int widen_plan(const struct nsrun_plan *running, const struct granted_list *granted, const char *option,
               const char *path, struct nsrun_plan **ret, char **ret_path, struct nsrun_error *err);
/* Whether somebody has to look after what it shows while that is shown. */
bool widen_plan_needs_keeping(const struct nsrun_plan *plan, const char *path);
