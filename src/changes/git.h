/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which changes a person's next git command would obey: hooks, configuration, and where to look for
 * either; in `.git`, whatever lies in a git dir that wasn't there, and what makes a folder of another
 * name one. */
#pragma once

#include "changes.h"
#include "tree.h"

/* One of the folders above the path that git_view_obeys() was asked about last. */
struct git_folder {
        size_t length;        /* of its part of the path */
        bool is_named;        /* ".git" */
        bool was_one, is_one; /* a git dir, on the host; with all of the changes */
        bool had_head;        /* on the host */
};

struct git_view {
        const struct changes *c;
        struct tree base;
        char *above; /* the overlay's own place in a git dir above it, "" or "hooks"; NULL: in none */
        bool top_is_named;
        char *path;
        struct git_folder *folders;
        size_t n;
};

/* `top` is the host's path of layer->base_fd; `c` and the layer stay the caller's.  -ENOMEM. */
int git_view_open(struct git_view *v, const struct changes_layer *layer, const char *top,
                  const struct changes *c);
void git_view_clear(struct git_view *v);

/* Whether git would obey what is at `path`; of a change also where it came from.  1, 0, -ENOMEM. */
int git_view_obeys(struct git_view *v, const char *path);
int git_view_obeys_change(struct git_view *v, const struct change *change);

/* Whether a change is of what git keeps in a git dir that the host has and a person reads nothing in: logs,
 * objects that are added.  Not of what a commit moves: the index, HEAD, refs; nor of what is deleted.  1, 0,
 * -ENOMEM. */
int git_view_keeps(struct git_view *v, const struct change *change);
