/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The run directory: one folder per run, $XDG_CACHE_HOME/nsrun/workspace-XXXXXX (else
 * ~/.cache/nsrun), 0700, that holds everything a run puts on disk.  A lock held
 * for life tells a live one from a dead one. */
#pragma once

#include "base/error.h"

struct rundir {
        int base_fd; /* the folder that holds all run directories */
        int dir_fd;  /* this one, O_RDONLY|O_DIRECTORY */
        int lock_fd; /* flock LOCK_EX on "lock" inside; shared with init, so it ends with the last of both */
        char *path;  /* absolute and canonical */
};

/* No run directory yet. */
#define RUNDIR_INIT                                                    \
        (struct rundir) {                                              \
                .base_fd = -EBADF, .dir_fd = -EBADF, .lock_fd = -EBADF \
        }

/* The folder of all programs' caches as the environment spells it, absolute.  -ENOENT: nobody
 * names one. */
int rundir_find_cache_home(char **ret, struct nsrun_error *err);
/* The canonical path of the folder that holds all run directories, or will.  -ENOENT: nobody
 * names a cache folder. */
int rundir_find_base(char **ret, struct nsrun_error *err);
/* Opens it, made where it is missing.  -EPERM: it isn't ours alone. */
int rundir_open_base(int *ret_fd, char **ret_path, struct nsrun_error *err);
/* What every run directory is called there before it has its own six letters. */
#define RUNDIR_NAME "workspace-XXXXXX"
/* The folder in it that is a sandbox's /tmp. */
#define RUNDIR_SCRATCH "scratch"
/* Sweeps dead siblings, then makes a new run directory and locks it.  Stage
 * WORKSPACE; on failure nothing stays behind. */
int rundir_make(struct rundir *ret, struct nsrun_error *err);
/* Makes the scratch folder, empty and with /tmp's mode, once in a run directory's life: what is
 * there already is never taken (-EEXIST).  Stage WORKSPACE. */
int rundir_make_scratch(const struct rundir *u, struct nsrun_error *err);
/* Removes the folder and everything in it and closes the fds.  Does nothing to
 * NULL or an RUNDIR_INIT, which it leaves behind.  Where something can't be
 * removed the lock stays, and a later sweep tries again. */
void rundir_remove(struct rundir *u);
/* Reclaims run directories whose owner is dead, and any without a lock older than seven
 * days.  Best effort.  `base_fd` is the folder that holds them, open for reading. */
void rundir_sweep(int base_fd);
/* The same in the cache folder, where there is one.  -EPERM: it isn't ours alone. */
int rundir_sweep_all(struct nsrun_error *err);
#define _cleanup_rundir_ _cleanup_(rundir_remove)
