/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration that a project proposes for itself, .nsrun.json: it is never in force, but a person may
 * take it over. */
#pragma once

#include "plan/plan.h"

#define PROPOSAL_FILE ".nsrun.json"

/* Shows what the proposal of the project would change, asks on the terminal, and on a yes writes it into the
 * user's configuration as the project's section, with its digest. */
int proposal_show(struct nsrun_policy *policy, struct nsrun_error *err);
/* Says on standard error that there is a proposal which isn't in force, or not as it is now. */
void proposal_note(const struct nsrun_policy *policy, const char *project);
