/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's resource limits by name.  Only the names: which values are allowed
 * is policy/'s, and setting them launch/'s. */
#pragma once

#include "macro.h"

#define RLIMITS_COUNT 16

struct rlimit_kind {
        const char *name; /* as prlimit(1) has it, but "cputime" for RLIMIT_CPU: "cpu" is a share */
        int resource;     /* RLIMIT_* */
        bool is_bytes;
};

/* Sorted by name. */
extern const struct rlimit_kind rlimit_kinds[RLIMITS_COUNT];

const char *rlimit_name(int resource);
