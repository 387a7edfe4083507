/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which changes git ignores, by the rules that the host has: those that the session changed don't count
 * until they are committed themselves, so that nothing in the session can hide a change.  No git is run: in
 * the user's repository it would do what the configuration says. */
#pragma once

#include "changes.h"

struct ignored_question {
        const struct changes_layer *layer;
        const char *top;    /* the host's path of layer->base_fd, canonical */
        const char *global; /* the text of the user's own file of patterns (core.excludesFile), or NULL */
        /* Paths, absolute, that no pattern ignores; may be NULL. */
        bool (*is_protected)(void *data, const char *path);
        void *data;
};

/* Marks in ret[c->n] what git ignores of the changes that `paths` selects; what one of `paths` itself names
 * is not marked.  Of several repositories the innermost that the host has decides; outside of one nothing is
 * ignored.  What is tracked, on the host or by the session's own index, is never ignored.  Marked together
 * with what is in them are a new folder that has nothing else in it, and a removed or replaced one, which
 * couldn't be removed without it.  -ENOMEM. */
int ignored_mark(const struct ignored_question *q, const struct changes *c, char *const *paths, bool *ret);
