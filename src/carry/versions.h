/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command has a version of its own of: made before it starts, and looked at when it has ended. */
#pragma once

#include "killed.h"
#include "launch/launch.h"

struct version;

struct versions {
        struct version *files; /* plan->private's */
        size_t n;
        int place;           /* the run directory, or the folder in memory that stands for it */
        int folder;          /* the PLAN_PRIVATE_FOLDER in it */
        char *rundir;        /* NULL: there was no need of one yet */
        struct plan_op *ops; /* of those in memory, the files that are made with the sandbox */
        size_t n_ops;
        bool is_in_memory;
        bool has_attributes;     /* a tmpfs keeps those that overlayfs needs, as far as that was asked */
        struct kept_by *kept_by; /* the caller's */
        bool has_kept;           /* something of the project may be kept aside at the beginning */
        bool has_looked;         /* versions_look_at_places() has */
        bool has_old;            /* some of what is kept aside is to be dropped */
        bool is_session; /* what the command got is in the run directory, for all of the session's commands
                          */
};

#define VERSIONS_INIT                             \
        (struct versions) {                       \
                .place = -EBADF, .folder = -EBADF \
        }

/* Where nothing is kept aside and there is no need of a run directory a run has its versions in memory, and
 * a kill loses them with all else that is there.  1: *ret is filled; 0: they are to be on
 * disk; -ENOMEM. */
int versions_begin_in_memory(const struct nsrun_plan *plan, struct kept_by *kept_by, struct versions *ret);
/* Takes them over from the launch, once the sandbox is built or gone. */
void versions_receive(struct versions *versions, const struct launch *l);
/* Makes the command's versions in the run directory: the host's, and what is kept aside with it; in a
 * session that runs they are there.  -errno with *err filled. */
int versions_begin(const struct nsrun_plan *plan, const struct rundir *rundir, struct kept_by *kept_by,
                   struct versions *ret, struct nsrun_error *err);
/* Has a kill lose no folder. */
void versions_write_down(const struct versions *versions, const struct killed *killed);
/* `u`: the run's directory, which is made where the first need of one is here.  Carries to the host what may
 * be, keeps the rest aside, and calls `found` for each file of which there is something to be said: 0 or
 * -errno.  Once; one that is VERSIONS_INIT has nothing to look at. */
int versions_end(struct versions *versions, struct rundir *u,
                 int (*found)(void *data, const struct nsrun_error *note), void *data);
/* To be called when the host's files may have been replaced, which every one may be that lies in a folder of
 * the command's: what git would obey in the new one is taken out, and kept aside.  `ends`: the sandbox is
 * gone. -errno with *err filled: somebody can write there still, and the sandbox is to be ended. */
int versions_judge(struct versions *versions, struct rundir *u, bool ends, struct nsrun_error *err);
/* To be called when no command runs any more, before what came to be is swept; once counts: whether what
 * stands for folders that the host hasn't is there still. */
void versions_look_at_places(struct versions *versions);
/* In a session its monitor does this of folders, and of what was judged, when the sandbox is gone; else
 * versions_end(). */
int versions_end_folders(struct versions *versions, struct rundir *u,
                         int (*found)(void *data, const struct nsrun_error *note), void *data);
/* Keeps aside what a running session's commands have changed in such folders so far; `path`: its run
 * directory's. */
int versions_look(const struct nsrun_plan *plan, const char *path);
void versions_clear(struct versions *versions);
