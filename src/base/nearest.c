/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

#define LETTERS_MOST 40

static size_t least(size_t a, size_t b) {
        return a < b ? a : b;
}

/* The restricted Damerau-Levenshtein distance. */
static size_t distance_of(const char *a, size_t n_a, const char *b, size_t n_b) {
        size_t rows[3][LETTERS_MOST + 1]; /* of a's letter i - 2, i - 1 and i */

        for (size_t j = 0; j <= n_b; j++)
                rows[0][j] = j;
        for (size_t i = 1; i <= n_a; i++) {
                size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

                row[0] = i;
                for (size_t j = 1; j <= n_b; j++) {
                        row[j] = least(least(above[j], row[j - 1]) + 1,
                                       above[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = least(row[j], before[j - 2] + 1);
                }
        }
        return rows[n_a % 3][n_b];
}

void nearest_try(struct nearest *n, const char *candidate) {
        size_t length = strlen(candidate), distance;

        if (n->length > LETTERS_MOST || length > LETTERS_MOST)
                return;
        distance = distance_of(n->word, n->length, candidate, length);
        if (distance * 3 > n->length || (n->found && n->distance <= distance))
                return;
        n->found = candidate;
        n->distance = distance;
}

const char *nearest_say(const struct nearest *n, const char *prefix, char to[NEAREST_SAID]) {
        if (!n->found)
                return NULL;
        (void)snprintf(to, NEAREST_SAID, "perhaps %s%s", prefix, n->found);
        return to;
}
