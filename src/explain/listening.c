/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See listening.h.  The files are those of proc_net(5): an address is in hexadecimal digits, each four bytes
 * of it in the machine's order. */
#include "listening.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

#define STATE_LISTEN 0x0a

enum {
        DIGITS = 8 /* of four bytes */
};

/* Of the groups of digits all but the last are 0, or an IPv4 address has ::ffff: before it; the last is 0,
 * or a loopback address. */
static bool is_within_loopback(const char *digits) {
        unsigned group[4] = {0};
        size_t n = strlen(digits) / DIGITS;

        for (size_t i = 0; i < n && i < ARRAY_SIZE(group); i++)
                if (sscanf(digits + i * DIGITS, "%8x", &group[i]) != 1)
                        return false;
        if (n == 1)
                return group[0] == 0 || *(const unsigned char *)group == 127;
        if (n != ARRAY_SIZE(group) || group[0] != 0 || group[1] != 0)
                return false;
        if (group[2] != 0)
                return *(const unsigned char *)&group[3] == 127 || group[3] == 0;
        return group[3] == 0 || ((const unsigned char *)&group[3])[3] == 1;
}

static bool table_has(const char *folder, const char *name, unsigned port, size_t *left) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[64], line[256];

        if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
                return false;
        f = fopen(path, "re");
        while (f && (!left || *left > 0) && fgets(line, sizeof(line), f)) {
                char digits[4 * DIGITS + 1];
                unsigned at, state;

                if (left)
                        (*left)--;
                if (sscanf(line, " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", digits, &at, &state) == 3 &&
                    at == port && state == STATE_LISTEN && is_within_loopback(digits))
                        return true;
        }
        return false;
}

bool listening_at_loopback(const char *folder, unsigned port, size_t *left) {
        return table_has(folder, "tcp", port, left) || table_has(folder, "tcp6", port, left);
}
