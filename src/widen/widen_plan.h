/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan by which a running sandbox is shown one more path of the host's. */
#pragma once

#include <sys/stat.h>

#include "running/granted.h"

/* Whether the command can have made mount namespaces of its own: only the shipped filters "default" and
 * "strict", as they are, let it make none for sure. */
bool widen_has_namespaces(const struct nsrun_plan *plan);

/* Whether a sandbox of that plan can be shown more at all. */
int widen_allows(const struct nsrun_plan *running, struct nsrun_error *err);

/* The plan of what the option shows of `path`, as it was typed, which was `st` before: its operations are
 * those of the folders on the way, and one for the path.  *ret is for plan_free(), *ret_path the path
 * inside. `granted`: what the sandbox, whose plan is `running`, was granted already.  -errno with *err
 * filled: what refuses the option at a start refuses it here; and what the sandbox has there, or below,
 * would be covered; or something in it would have to be. */
int widen_plan(const struct nsrun_plan *running, const struct granted_list *granted, const char *option,
               const char *path, const struct stat *st, struct nsrun_plan **ret, char **ret_path,
               struct nsrun_error *err);
