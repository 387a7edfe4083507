/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The policies that come with nsrun, as they are compiled when nsrun is built: seccomp/compile
 * writes shipped.c from seccomp/NAME.json. */
#pragma once

#include <linux/filter.h>

#include "base/macro.h"

struct seccomp_shipped {
        const char *name;
        const char *description;        /* what the policy is for, in one line */
        const char *json;               /* the policy's file, as it was written */
        const struct sock_filter *code; /* the filter for the architecture that nsrun was built for */
        size_t n;
};

extern const struct seccomp_shipped seccomp_shipped[];
extern const size_t n_seccomp_shipped;
