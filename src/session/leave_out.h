/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a commit leaves in the session unless it was asked for: what programs on the host would obey, and
 * what git ignores. */
#pragma once

#include "overlays.h"
#include "protect/protect_answer.h"

/* What the host's files say of an overlay. */
struct leave_out {
        char *user_ignores; /* the text of the user's own file of patterns for git, or NULL */
        struct protect_answer protected;
};

/* A diff or a commit of one overlay. */
struct taking {
        struct chosen *chosen;
        const struct changes_layer *layer;
        struct leave_out says;
        bool with_ignored;
        bool by_person;                /* the caller's paths are what a person named at a terminal */
        struct changes_report *report; /* where notes go */
};

/* Reads what the host has now of the overlay that is t->chosen; with a->err filled on failure. */
int leave_out_read(const struct asking *a, struct taking *t);
void leave_out_clear(struct taking *t);

/* Whether programs on the host obey what is at `path`, absolute or relative to the overlay; `data` is a
 * struct taking. */
bool leave_out_is_protected(void *data, const char *path);

/* Marks in ret[c->n] what git ignores and the caller's paths don't name.  -ENOMEM. */
int leave_out_mark(const struct taking *t, const struct changes *c, bool *ret);

/* Marks in ret[c->n] what programs on the host would obey (protected names, git's hooks and configuration)
 * and no person named; of those alone that are marked in is_asked[c->n], unless that is NULL.  -ENOMEM. */
int leave_out_mark_orders(const struct taking *t, const struct changes *c, const bool *is_asked, bool *ret);

/* Marks in ret[c->n] what git keeps for itself (git_view_keeps()) and the caller's paths don't name.
 * -ENOMEM. */
int leave_out_mark_kept(const struct taking *t, const struct changes *c, bool *ret);

/* For struct changes_filter; `data` is a struct taking. */
int leave_out_some(void *data, const struct changes *c, bool *is_chosen);

/* "1,996 paths": how many there are, for the caller to free; NULL for want of memory. */
char *leave_out_count(size_t n);
