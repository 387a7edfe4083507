/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules of protected names. */
#pragma once

#include "rules/resolved.h"

/* Adds one rule, unless another shows something else at `target`.  -ENOMEM. */
int protect_add_rule(struct resolved *s, enum policy_access access, const char *source, const char *target,
                     bool is_directory);
/* Makes the host's `source` read-only wherever a writable rule shows it.  -ENOMEM. */
int protect_add_everywhere(struct resolved *s, const char *source, bool is_directory);
