/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The paths that git tracks, as a repository's index has them. */
#pragma once

#include "base/macro.h"

struct tracked {
        char **paths;   /* strv_sort() is the caller's to call */
        size_t n, size; /* size: bytes that it all takes */
};

/* Adds those of the index in a git dir; without one there are none.  -ENOMEM; -EBADMSG, -EFBIG, -EINVAL and
 * open(2)'s: it can't be told what is tracked. */
int tracked_read(struct tracked *t, int git_dir);
void tracked_clear(struct tracked *t);

/* Whether `path`, relative to the top of the work tree, is tracked, or something is in it or above it. */
bool tracked_has(const struct tracked *t, const char *path);
