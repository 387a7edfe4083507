/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --cap-add and --cap-drop: names of capabilities, and what a row of them comes to.  Sets none. */
#include <strings.h>

#include "base/names.h"
#include "options.h"

/* The bits that "CAP_KILL" (in any case), a number or "ALL" stands for; 0 for any other word. */
static uint64_t bits_of(const char *name) {
        unsigned long number;
        char *end;
        int found;

        if (strcasecmp(name, "all") == 0)
                return UINT64_MAX;
        if (*name >= '0' && *name <= '9') {
                errno = 0;
                number = strtoul(name, &end, 0);
                return errno != 0 || *end || number > 63 ? 0 : UINT64_C(1) << number;
        }
        if (strncasecmp(name, "cap_", 4) != 0)
                return 0;
        found = capability_find(name + 4);
        return found < 0 ? 0 : UINT64_C(1) << found;
}

int bwrap_capability(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        uint64_t bits = bits_of(values[0]);

        if (bits == 0)
                return bwrap_refuse(p, -EINVAL, "unknown cap: %s", values[0]);
        if (streq(option->name, "--cap-add")) {
                p->config->caps_added |= bits;
        } else {
                p->config->caps_kept &= ~bits;
                p->config->caps_added &= ~bits;
        }
        return 0;
}
