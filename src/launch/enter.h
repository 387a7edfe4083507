/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way into a session, for a process that has nothing else to do: it enters all of the session's
 * namespaces and makes the command's reaper, which is born in there. */
#pragma once

#include "child.h"

struct entering {
        struct reaper *reaper;
        struct child *child;   /* whose descriptors the reaper gets a copy of; NULL: of nsrun-init's */
        const char *directory; /* the command's working directory inside */
        char *inner_stack;     /* where the reaper has a pid namespace of its own */
        int result;            /* 0 or -errno, when enter_session() has returned */
        int pidfd;             /* the reaper's */
        pid_t pid;             /* as this process has it; of one in a pid namespace of its own no use */
};

/* The reaper is the parent's child then; it never returns. */
void enter_session(struct entering *e);
/* nsrun-init as that process: hands over the reaper's pidfd, or reports why there is none. */
_Noreturn void enter_alone(struct reaper *p, const char *directory);
