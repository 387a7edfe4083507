/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The programs' paths, as configure decided them. */
#include "programs.h"

#include <stdlib.h>

static const char *programs_find(const char *variable, const char *installed) {
        const char *path = secure_getenv(variable);

        return path ? path : installed;
}

const char *program_init(void) {
        return programs_find("NSRUN_INIT", NSRUN_INIT_PATH);
}

const char *program_net(void) {
        return programs_find("NSRUN_NET", NSRUN_NET_PATH);
}

const char *program_monitor(void) {
        return programs_find("NSRUN_MONITOR", NSRUN_MONITOR_PATH);
}
