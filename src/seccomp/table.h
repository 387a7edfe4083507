/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of system calls, which seccomp/tabulate writes when nsrun is built: seccomp/table.c
 * in the build folder. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "archs.h"

/* The name itself, not a pointer to it: pointers would have to be relocated at the start of every
 * run of a position-independent program, and a run seldom needs the table. */
struct syscall_row {
        char name[32];
        /* The call's number for each enum syscall_arch, x32's without its bit; -1 where the
         * architecture lacks the call.  A row of -1 alone is a call that only machines outside the
         * table have: policies may name it. */
        int32_t numbers[N_SYSCALL_ARCHS];
};

/* The rows, sorted by strcmp(3) of their names. */
extern const struct syscall_row syscall_table[];
extern const size_t n_syscall_table;
