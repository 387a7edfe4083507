/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command left in the sandbox's own home, which is gone with the sandbox: told, so that nobody looks
 * for it in vain. */
#pragma once

#include "plan/plan.h"

struct dropped {
        char *home;   /* the home's path; NULL: the sandbox makes none */
        char **made;  /* what the plan itself has there, relative to it */
        char **paths; /* what is gone, whole paths; NULL: nothing */
};

int dropped_begin(const struct nsrun_plan *plan, struct dropped *d);
/* Takes the list of a LAUNCH_DROPPED.  1 with a note where there is something to tell; 0; -ENOMEM. */
int dropped_take(struct dropped *d, const char *list, struct nsrun_error *ret_note);
void dropped_clear(struct dropped *d);
