/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of resource limits.  Nothing here asks the kernel. */
#include "rlimits.h"

#include <sys/resource.h>

const struct rlimit_kind rlimit_kinds[RLIMITS_COUNT] = {
        {"as", RLIMIT_AS, true},
        {"core", RLIMIT_CORE, true},
        {"cputime", RLIMIT_CPU, false},
        {"data", RLIMIT_DATA, true},
        {"fsize", RLIMIT_FSIZE, true},
        {"locks", 10 /* RLIMIT_LOCKS: its header is the kernel's alone */, false},
        {"memlock", RLIMIT_MEMLOCK, true},
        {"msgqueue", RLIMIT_MSGQUEUE, true},
        {"nice", RLIMIT_NICE, false},
        {"nofile", RLIMIT_NOFILE, false},
        {"nproc", RLIMIT_NPROC, false},
        {"rss", RLIMIT_RSS, true},
        {"rtprio", RLIMIT_RTPRIO, false},
        {"rttime", RLIMIT_RTTIME, false},
        {"sigpending", RLIMIT_SIGPENDING, false},
        {"stack", RLIMIT_STACK, true},
};

const char *rlimit_name(int resource) {
        for (size_t i = 0; i < RLIMITS_COUNT; i++)
                if (rlimit_kinds[i].resource == resource)
                        return rlimit_kinds[i].name;
        return "?";
}
