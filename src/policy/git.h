/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox needs for `git commit`: the git dirs outside the project that its
 * .git file leads to, and the name to commit under.  Runs nothing that writes. */
#pragma once

#include "policy.h"
#include "workspace/gitdir.h"

/* Adds the default rules for a worktree's or a submodule's git dirs, and fills *ret
 * where there are some.  The project has been decided.  -EPERM with *err filled:
 * the .git file isn't believed. */
int git_add_rules(struct nsrun_policy *p, struct gitdir *ret, struct nsrun_error *err);

/* Fills p->identity, unless the environment says it all.  The rules are resolved.
 * `common_dir` is git_add_rules()'s, or NULL. */
int git_find_identity(struct nsrun_policy *p, const char *common_dir, struct nsrun_error *err);
