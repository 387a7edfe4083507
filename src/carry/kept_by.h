/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* By what command something is kept aside, and for which project. */
#pragma once

#include "kept/kept.h"
#include "plan/plan.h"

struct kept_by {
        char *project;
        char *command; /* quoted for a shell; "": a session's, whose processes nobody tells apart */
        char *session; /* its id, or NULL */
        unsigned n;    /* how often something was kept */
        unsigned last; /* what number that has */
};

/* *ret, which may be NULL, is for kept_by_free().  -ENOMEM. */
int kept_by_new(const struct nsrun_plan *plan, struct kept_by **ret);
struct kept_by *kept_by_free(struct kept_by *kept_by);
/* What a name ends with of a copy of what the command went on with. */
#define KEPT_BY_COPY ".copy"
/* kept_put(): `what` without what is known here.  1: it is such a copy, and all of it is in what was put
 * last. */
int kept_by_put(struct kept_by *kept_by, const struct kept *what, int parent, const char *name);
/* Whether an entry is one that is kept of the path. */
bool kept_by_has(const struct kept_by *kept_by, const char *path, int parent, const char *name);
/* The command that shows in this folder what is kept of a project; NULL for want of memory. */
char *kept_by_review(const char *project);
/* Where something was: tells how much of the project's is kept. */
int kept_by_tell(const struct kept_by *kept_by, int (*found)(void *data, const struct nsrun_error *note),
                 void *data);
