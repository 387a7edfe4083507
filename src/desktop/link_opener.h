/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --browser: the host's program that opens a link, started by the nsrun that a person has said yes to. */
#pragma once

#include <sys/types.h>

#define OPENED_MOST 32 /* that run at once; a browser's own program ends soon */

struct opener {
        const char *program; /* its path; NULL: none is started */
        pid_t pids[OPENED_MOST];
        size_t n;
};

/* Starts it with that one argument, a PATH of the system's folders, what of the caller's environment a
 * desktop's programs need, and no stream of the caller's.  -EBUSY: too many run; other negative errnos. */
int opener_open(struct opener *o, const char *link);
