/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one way in which arrays grow: twice as large at each power of two, so that the
 * number of items says how much room there is and no capacity is kept beside it. */
#pragma once

#include "macro.h"

/* `array` points to the pointer to `n` items of `size` bytes.  Items may have been taken off the end
 * since the last call.  -ENOMEM: the array is as it was. */
static inline int array_grow(void *array, size_t n, size_t size) {
        void *items, *grown;

        if (n > 0 && (n & (n - 1)) != 0)
                return 0;
        memcpy(&items, array, sizeof(items));
        grown = reallocarray(items, n > 0 ? 2 * n : 1, size);
        if (!grown)
                return -ENOMEM;
        memcpy(array, &grown, sizeof(grown));
        return 0;
}

/* Makes room for items[n].  0 or -ENOMEM. */
#define ARRAY_GROW(items, n) array_grow(&(items), (n), sizeof(*(items)))
