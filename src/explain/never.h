/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What no reason proposes to expose, to make writable or to uncover, whatever a command fails for. */
#pragma once

#include "plan/plan.h"

/* Of a path (absolute, normalised) in a folder of keys, of a secret's name, of an agent's folder, of the
 * system's state, or that the repository's configuration names: *ret is what is said instead; NULL: it may
 * be proposed.  Of a secret it is the same whether it exists or not.  -ENOMEM. */
int explain_never(const struct nsrun_plan *plan, const char *path, bool to_write, char **ret);
