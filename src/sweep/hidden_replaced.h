/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hidden names that somebody on the host replaced: the mount in front of one goes with the file or folder
 * that it was, as when an editor saves by a rename, and what came in its place can be read inside. */
#pragma once

#include "plan/plan.h"

/* Refuses (-ESTALE) a command that joins a session one of whose hidden names was replaced since it began. */
int hidden_refuse(const struct nsrun_plan *plan, struct nsrun_error *err);
/* Remembers the hidden names of a sandbox of its own when it begins.  -ESTALE: one isn't any more what the
 * plan found. */
int hidden_begin(const struct nsrun_plan *plan, char ***ret, struct nsrun_error *err);
/* Calls `found` for each of them that was replaced meanwhile, or may be shown under another name: 0 or
 * -errno. */
int hidden_end(char *const *hidden, int (*found)(void *data, const struct nsrun_error *note), void *data);
