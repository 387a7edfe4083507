/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names: what lies in a writable folder and is obeyed by programs that the user runs there later
 * (git, editors, shells, package managers, other agents). */
#pragma once

#include "rules/resolved.h"

/* Adds a read-only rule for each protected name that is there, and fills s->protected.  All other rules are
 * known, one for each target.  -E2BIG with *err filled: a glob of --protect names more than can be looked
 * through; -ENOMEM. */
int protect_add_rules(struct resolved *s, struct nsrun_error *err);
