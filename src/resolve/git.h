/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox needs for `git commit`: the git dirs outside the project that its
 * .git file leads to, and the name to commit under. */
#pragma once

#include "rules/resolved.h"

/* Adds nsrun's rules for the git dirs of a worktree or a submodule.  s->project must be known.
 * -EPERM with *err filled: the .git file isn't believed. */
int git_add_rules(struct resolved *s, struct nsrun_error *err);

/* Fills s->identity, unless the environment has all of it already, s->git_settings and s->git_ignores.
 * s->writable must be known. */
int git_find_identity(struct resolved *s, struct nsrun_error *err);
