/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two paths that configure decided. */
#include "programs.h"

#include <stdlib.h>

static const char *find(const char *variable, const char *installed) {
        const char *path = secure_getenv(variable);

        return path ? path : installed;
}

const char *program_init(void) {
        return find("NSRUN_INIT", NSRUN_INIT_PATH);
}

const char *program_keeper(void) {
        return find("NSRUN_KEEPER", NSRUN_KEEPER_PATH);
}
