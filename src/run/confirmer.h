/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that says whether a command may run: found once, and judged, as it runs on the host.
 * It is executed in cli/confirm.c. */
#pragma once

#include "policy/policy.h"

struct confirmer {
        const char *program; /* as it was given */
        char *path;          /* after: what is executed, canonical */
};

/* Finds it, and refuses one that a command of the policy, which has its command by now, or of the session
 * that it names could have put there. */
int confirmer_find(struct confirmer *c, struct nsrun_policy *policy, struct nsrun_error *err);

/* What can't be asked, with its name. */
int confirmer_error(const struct confirmer *c, int r, struct nsrun_error *err);
