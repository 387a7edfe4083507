/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares what bwrap-run.c reports of a command line under nsrun-bwrap and under bubblewrap. */
#pragma once

#include "bwrap-run.h"

/* A difference that is meant. */
struct excuse {
        enum bwrap_user by;
        const char *args; /* patterns of fnmatch(3): the case */
        const char *line; /* and "-LINE" that bubblewrap alone has, or "+LINE" that nsrun-bwrap has */
        const char *reason;
        bool may_be_idle; /* what asks for it is this machine's */
        bool is_used;
};

/* How often the two differ without one of the excuses, each difference printed.  `expects`: bubblewrap
 * itself must end as the case says, too. */
size_t bwrap_differs(const struct site *s, const char *judge, const struct bwrap_case *c,
                     struct excuse *excuses, size_t n_excuses, bool expects);
/* Fails if an excuse was never needed. */
void expect_no_idle(const struct excuse *excuses, size_t n);
/* Whether bubblewrap runs anything here. */
bool bwrap_works_here(const struct site *s, const char *judge);
