/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See opener.h. */
#include "opener.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/null.h"
#include "base/spawn.h"

/* Those that run on when nsrun ends are init's. */
static void opener_reap(struct opener *o) {
        size_t kept = 0;

        for (size_t i = 0; i < o->n; i++)
                if (waitpid(o->pids[i], NULL, WNOHANG) == 0)
                        o->pids[kept++] = o->pids[i];
        o->n = kept;
}

int opener_open(struct opener *o, const char *link) {
        char *const argv[] = {(char *)(uintptr_t)o->program, (char *)(uintptr_t)link, NULL};
        _cleanup_close_ int null_fd = null_open(O_RDWR, NULL);
        int r;

        opener_reap(o);
        if (null_fd < 0 || o->n == OPENED_MOST)
                return null_fd < 0 ? null_fd : -EBUSY;
        r = spawn_apart(&(struct spawn){.program = o->program,
                                        .argv = argv,
                                        .env = environ,
                                        .folder = "/",
                                        .null_fd = null_fd},
                        &o->pids[o->n]);
        if (r >= 0)
                o->n++;
        return r;
}
