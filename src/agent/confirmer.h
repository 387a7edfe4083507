/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that says whether an agent's command may run: found and judged, since it runs on
 * the host.  cli/confirm.c executes it. */
#pragma once

#include "resolve/resolve.h"

struct confirmer {
        const char *program; /* as the user named it */
        char *path;          /* the canonical path that is executed; set by confirmer_find() */
};

/* Finds the program, by program_find() if its name has no slash.  Refuses one that could have been
 * written by the request's command, or by an earlier command of the session that the request's
 * policy names.  `request` is NULL if commands run without a sandbox. */
int confirmer_find(struct confirmer *c, const struct policy_request *request, struct nsrun_error *err);

/* Fills *err: the program can't be found or executed.  The message has the program's name. */
int confirmer_error(const struct confirmer *c, int r, struct nsrun_error *err);
