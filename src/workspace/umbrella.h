/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The umbrella: one folder per run, $XDG_CACHE_HOME/nsrun/workspace-XXXXXX (else
 * ~/.cache/nsrun), 0700, that holds everything a run puts on disk.  A lock held
 * for life tells a live one from a dead one. */
#pragma once

#include "base/error.h"

struct umbrella {
        int base_fd; /* the folder that holds all umbrellas */
        int dir_fd;  /* this one, O_RDONLY|O_DIRECTORY */
        int lock_fd; /* flock LOCK_EX on "lock" inside; shared with init, so it ends with the last of both */
        char *path;  /* absolute and canonical */
};

/* No umbrella yet. */
#define UMBRELLA_INIT                                                  \
        (struct umbrella) {                                            \
                .base_fd = -EBADF, .dir_fd = -EBADF, .lock_fd = -EBADF \
        }

/* The folder of all programs' caches as the environment spells it, absolute.  -ENOENT: nobody
 * names one. */
int umbrella_find_cache_home(char **ret, struct nsrun_error *err);
/* The canonical path of the folder that holds all umbrellas, or will.  -ENOENT: nobody
 * names a cache folder. */
int umbrella_find_base(char **ret, struct nsrun_error *err);
/* Opens it, made where it is missing.  -EPERM: it isn't ours alone. */
int umbrella_open_base(int *ret_fd, char **ret_path, struct nsrun_error *err);
/* What every umbrella is called there before it has its own six letters. */
#define UMBRELLA_NAME "workspace-XXXXXX"
/* The folder in it that is a sandbox's /tmp. */
#define UMBRELLA_PLAYGROUND "playground"
/* Sweeps dead siblings, then makes a new umbrella and locks it.  Stage
 * WORKSPACE; on failure nothing stays behind. */
int umbrella_make(struct umbrella *ret, struct nsrun_error *err);
/* Makes the playground, empty and with /tmp's mode, once in an umbrella's life: what is
 * there already is never taken (-EEXIST).  Stage WORKSPACE. */
int umbrella_make_playground(const struct umbrella *u, struct nsrun_error *err);
/* Removes the folder and everything in it and closes the fds.  Does nothing to
 * NULL or an UMBRELLA_INIT, which it leaves behind.  Where something can't be
 * removed the lock stays, and a later sweep tries again. */
void umbrella_remove(struct umbrella *u);
/* Reclaims umbrellas whose owner is dead, and any without a lock older than seven
 * days.  Best effort.  `base_fd` is the folder that holds them, open for reading. */
void umbrella_sweep(int base_fd);
/* The same in the cache folder, where there is one.  -EPERM: it isn't ours alone. */
int umbrella_sweep_all(struct nsrun_error *err);
#define _cleanup_umbrella_ _cleanup_(umbrella_remove)
