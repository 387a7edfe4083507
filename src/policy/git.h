/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox needs for `git commit`: the git dirs outside the project that its
 * .git file leads to, and the name to commit under. */
#pragma once

#include "resolved.h"

/* Adds the default rules for a worktree's or a submodule's git dirs.  The project has
 * been decided.  -EPERM with *err filled: the .git file isn't believed. */
int git_add_rules(struct resolved *s, struct nsrun_error *err);

/* Fills s->identity, unless the environment says it all.  s->writable is known. */
int git_find_identity(struct resolved *s, struct nsrun_error *err);
