/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent wrote to the overlays over its folders: at the end its state is carried to the host, of
 * files of JSON member by member, and the rest is told.  The upper folders are the command's: no symlink is
 * followed, nothing else than a plain file is read, and what is read is bounded. */
#pragma once

#include "disk/rundir.h"
#include "plan/plan.h"

struct carried_folder;

struct carried {
        struct carried_folder *folders;
        size_t n;
        char *project;
        char **made;  /* folders in the project, those around others first: removed at the end if they are
                         empty */
        char **modes; /* of the files that are written where they are: "MODE:PATH" */
        struct timespec since;
};

/* Makes the agent's folders that aren't there yet, before anybody looks at the project: what it writes to
 * them, as its login, is to stay.  Fills ret->made. */
int carried_make(const struct nsrun_plan *plan, struct carried *ret, struct nsrun_error *err);
/* Puts the command's copies of files of JSON where the overlays' upper folders will be.  -ENOMEM, or what
 * the run directory's file system said, with *err filled. */
int carried_begin(const struct nsrun_plan *plan, const struct rundir *u, struct carried *ret,
                  struct nsrun_error *err);
/* The sandbox is gone: carries, tells what isn't carried, and clears *carried. */
void carried_end(struct carried *carried, const struct rundir *u,
                 int (*found)(void *data, const struct nsrun_error *note), void *data);
void carried_clear(struct carried *carried);
/* What runs that were killed have left, carried, and their run directories removed: the same, but for
 * members of JSON, of which the host gets those that it has none of.  -ENOMEM. */
int carried_recover(const struct rundir *u, int (*found)(void *data, const struct nsrun_error *note),
                    void *data);
