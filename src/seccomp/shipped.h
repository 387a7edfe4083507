/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The policies that come with nsrun, compiled when nsrun was built: shipped.c is
 * written by seccomp/compile from seccomp/NAME.json. */
#pragma once

#include <linux/filter.h>

#include "base/macro.h"

struct seccomp_shipped {
        const char *name;
        const char *description;        /* one line */
        const char *json;               /* the policy as it was written */
        const struct sock_filter *code; /* for this architecture */
        size_t n;
};

extern const struct seccomp_shipped seccomp_shipped[];
extern const size_t n_seccomp_shipped;
