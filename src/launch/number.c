/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decimal text for the child, where stdio is not safe. */
#include "internal.h"

char *number_format(char to[24], uint64_t n) {
        char digits[24];
        size_t i = 0, j = 0;

        do
                digits[i++] = (char)('0' + n % 10);
        while ((n /= 10) > 0);
        while (i > 0)
                to[j++] = digits[--i];
        to[j] = '\0';
        return to;
}
