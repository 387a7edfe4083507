/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which lines of two texts differ: Myers' algorithm in linear space.  Knows nothing of files. */
#pragma once

#include "base/macro.h"

struct line {
        const char *text; /* in the text that was cut */
        size_t length;    /* with its newline */
        uint64_t hash;
        bool is_changed; /* has no counterpart in the other text */
};

struct lines {
        struct line *list;
        size_t n;
};

/* How many lines a text has; n may be 0. */
size_t lines_count(const char *text, size_t n);
/* Cuts a text into lines, which point into it.  -ENOMEM. */
int lines_cut(const char *text, size_t n, struct lines *ret);
void lines_clear(struct lines *l);
#define _cleanup_lines_ _cleanup_(lines_clear)

/* Marks what differs.  The least there is; where that would take too long, more.  -ENOMEM. */
int lines_compare(struct lines *a, struct lines *b);
