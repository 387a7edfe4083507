/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which name a mistyped one was meant to be. */
#pragma once

#include <stddef.h>

struct nearest {
        const char *word; /* its first `length` bytes are what was typed */
        size_t length;
        const char *found; /* the candidate that is the nearest; NULL: none is near */
        size_t distance;
};

/* Compares a candidate, which stays the caller's.  It is near if no more letters than one in three are other
 * ones, left out, too many, or in the place of their neighbour. */
void nearest_try(struct nearest *n, const char *candidate);

#define NEAREST_SAID 64
/* "perhaps PREFIXname", in `to`; NULL: none is near. */
const char *nearest_say(const struct nearest *n, const char *prefix, char to[NEAREST_SAID]);
