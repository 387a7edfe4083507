/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that says whether a command may run: found once, and judged, as it runs on the host.
 * It is executed in cli/confirm.c. */
#pragma once

#include "policy/resolved.h"

struct confirmer {
        const char *program; /* as it was given */
        char *path;          /* after: what is executed, canonical */
};

/* Finds it: a name without a slash by program_find().  Refuses one that the request's command, or an
 * earlier one of the session that its policy names, could have put there; NULL: without a sandbox. */
int confirmer_find(struct confirmer *c, const struct policy_request *request, struct nsrun_error *err);

/* What can't be asked, with its name. */
int confirmer_error(const struct confirmer *c, int r, struct nsrun_error *err);
