/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The run directory: one folder per run, $XDG_CACHE_HOME/nsrun/workspace-XXXXXX (else
 * ~/.cache/nsrun), 0700, with everything that a run puts on disk.  A lock that its owner holds for
 * life tells a live one from a dead one. */
#pragma once

#include "base/error.h"

struct rundir {
        int base_fd; /* the folder of all run directories */
        int dir_fd;  /* this run directory, O_RDONLY|O_DIRECTORY */
        int lock_fd; /* "lock" in it, with flock LOCK_EX; the sandbox's pid 1 shares it, so it is held until
                        both are gone */
        char *path;  /* absolute and canonical */
        bool is_shown; /* another process may hold on to it, as of a session's (session/overlays.c), or of
                          what was moved to it (carry/killed.h): it is removed, and never a spare one */
        bool has_uncarried; /* rundir_sweep()'s: some, dead or alive */
        bool has_others;    /* another run is alive */
};

/* The value of a struct rundir that has no folder. */
#define RUNDIR_INIT                                                    \
        (struct rundir) {                                              \
                .base_fd = -EBADF, .dir_fd = -EBADF, .lock_fd = -EBADF \
        }

/* What mends a folder that can't be made on a read-only file system: all of them, since the next would be
 * refused in turn. */
#define RUNDIR_READ_ONLY_FIX                                                                                 \
        "set XDG_RUNTIME_DIR, XDG_CACHE_HOME and XDG_STATE_HOME to folders of your own that can be written " \
        "(a service with ProtectSystem=strict: name them in ReadWritePaths=)"

/* What mends that a folder can't be made or opened, if a folder of the user's own on the way there, or it
 * itself, has a mode that keeps him out: "chmod u+rwx FOLDER".  NULL: it isn't that, or no memory. */
char *rundir_mode_fix(int r, const char *path);

/* The folder of all programs' caches, absolute, as the environment spells it.  -ENOENT: neither the
 * environment nor passwd names one. */
int rundir_find_cache_home(char **ret, struct nsrun_error *err);
/* Makes a folder and those above it, each 0700, as the XDG specification wants them.  `path` is the same
 * again when it returns. */
int rundir_make_folders(char *path);
/* The canonical path of the folder of all run directories, which need not exist.  -ENOENT: as for
 * rundir_find_cache_home(). */
int rundir_find_base(char **ret, struct nsrun_error *err);
/* The canonical path of nsrun's folder in the one that `find` finds. */
int rundir_find_in(int (*find)(char **ret, struct nsrun_error *err), char **ret, struct nsrun_error *err);
/* Opens that folder, or what is at `below` in it, for reading; a symlink in its place isn't followed.
 * -ENOENT: it isn't there, or there is no such environment. */
int rundir_open_in(int (*find)(char **ret, struct nsrun_error *err), const char *below);
/* The same of the folder of all run directories. */
int rundir_open_there(void);
/* Opens the folder of all run directories, which is made if it is missing.  -EPERM: another user
 * owns it or may write to it. */
int rundir_open_base(int *ret_fd, char **ret_path, struct nsrun_error *err);
/* The name of a run directory before its own six letters are chosen. */
#define RUNDIR_NAME "workspace-XXXXXX"
/* The scratch folder in a run directory, which is a sandbox's /tmp. */
#define RUNDIR_SCRATCH "scratch"
/* The file in one that says what of it is to be carried to the host (carry/agent_state.h): with that a
 * dead run directory isn't removed. */
#define RUNDIR_CARRIED "carried"
/* Likewise, what of it is to be kept aside (carry/killed.h). */
#define RUNDIR_KEPT "kept"
/* The folder in one of what was taken from projects, and may be the user's own: with something in it the run
 * directory stays, and is another dead one. */
#define RUNDIR_AWAY "away"
/* Removes dead run directories, then takes a spare one, or makes one, and locks it.  Stage WORKSPACE; a
 * failure leaves nothing behind. */
int rundir_make(struct rundir *ret, struct nsrun_error *err);
/* Makes the scratch folder, empty and with /tmp's mode, once in a run directory's life.  -EEXIST:
 * the name is taken, and what has it is never used.  Stage WORKSPACE. */
int rundir_make_scratch(const struct rundir *u, struct nsrun_error *err);
/* Removes everything in the run directory but a filled RUNDIR_AWAY; empty, it is left as a spare one, or
 * removed where there are enough.  Closes the descriptors, and leaves a RUNDIR_INIT behind; for NULL or a
 * RUNDIR_INIT it does nothing.  If something can't be removed the lock stays, and a later sweep tries again.
 */
void rundir_remove(struct rundir *u);
/* Closes the descriptors alone. */
void rundir_close(struct rundir *u);
/* Removes run directories whose owner is dead, spare ones, and folders without a lock that are older than
 * seven days; ignores failures.  `base_fd` is the folder of all run directories, open for reading.  Whether
 * there is one with RUNDIR_CARRIED or RUNDIR_KEPT. */
bool rundir_sweep(int base_fd);
/* Whether an entry of that folder is the directory of a run, which may be dead; */
bool rundir_is_name(const char *name);
/* one with such a file. */
bool rundir_is_uncarried(int base_fd, const char *name);
/* Whether there is one of those now. */
bool rundir_any_uncarried(void);
/* Sweeps the folder of all run directories, if there is one.  -EPERM: another user owns it or may
 * write to it. */
int rundir_sweep_all(struct nsrun_error *err);
/* The path of what is kept for a project's runs of an overlay's layer, in `base`, the folder of all run
 * directories; NULL for want of memory. */
char *rundir_rest(const char *base, const char *project, const char *layer);
#define _cleanup_rundir_ _cleanup_(rundir_remove)
