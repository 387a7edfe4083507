/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel has numbers for, by name: capabilities, signals, resource limits.  Only the names: which
 * limits are allowed is policy/'s, and setting them launch/'s. */
#pragma once

#include "macro.h"

/* The number of "kill" (CAP_KILL), in any case; -1: there is none of that name. */
int capability_find(const char *name);
/* The number of "TERM", "SIGTERM" (in any case) or "15"; 0: there is none. */
int signal_parse(const char *text);

#define RLIMITS_COUNT 16

struct rlimit_kind {
        const char *name; /* as prlimit(1) has it, but "cputime" for RLIMIT_CPU: "cpu" is a share */
        int resource;     /* RLIMIT_* */
        bool is_bytes;
};

/* Sorted by name. */
extern const struct rlimit_kind rlimit_kinds[RLIMITS_COUNT];

const char *rlimit_name(int resource);
