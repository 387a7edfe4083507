/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names: what lies in a writable folder and is obeyed by programs that the user runs there later
 * (git, editors, shells, package managers, other agents). */
#pragma once

#include "options.h"
#include "resolved.h"

/* --protect and --no-protect. */
int protect_apply_option(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err);

/* nsrun's own list, relative to the top of a writable folder; ends with NULL. */
extern const char *const protect_names[];

enum {
        PROTECT_REPOSITORIES_MAX = 500, /* with submodules' git dirs */
};

/* Adds a read-only rule for each protected name that is there, and fills s->protected.  All other rules are
 * known, one for each target.  -E2BIG with *err filled: a glob of --protect names more than can be looked
 * through; -ENOMEM. */
int protect_add_rules(struct resolved *s, struct nsrun_error *err);
/* Whether a path, relative to any folder, is or lies below one of nsrun's own list in some folder of it.  By
 * a second name of such a file what lies under the first could be written. */
bool protect_covers(const char *path);
/* For protect_stubs.c.  Adds one rule, unless another shows something else at `target`.  -ENOMEM. */
int protect_add_rule(struct resolved *s, enum policy_access access, const char *source, const char *target,
                     bool is_directory);
/* Makes the host's `source` read-only wherever a writable rule shows it.  -ENOMEM. */
int protect_add_everywhere(struct resolved *s, const char *source, bool is_directory);
