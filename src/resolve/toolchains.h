/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Toolchain folders of the host become rules; which of them don't, and why; and what the environment
 * points at that the sandbox doesn't show. */
#pragma once

#include "rules/resolved.h"

/* Adds rules for the rows of the configuration and of the table that are on this host, and fills
 * s->toolchains.  The rules of all else must be there. */
int toolchain_rules_add(struct resolved *s, struct nsrun_error *err);

/* Takes those rules out again whose folder is reached through a symlink that refuse_untrusted_link()
 * refuses.  s->writable must be filled. */
int toolchain_rules_distrust(struct resolved *s, struct nsrun_error *err);

/* Fills s->unseen.  The rules and s->env must be final. */
int toolchain_rules_find_unseen(struct resolved *s, struct nsrun_error *err);
