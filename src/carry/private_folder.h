/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A protected folder, over which the command has an overlay of its own: what it changed is kept aside, and
 * there again in the project's next run. */
#pragma once

#include "kept_by.h"

struct private_folder {
        const char *path; /* on the host */
        int rundir;       /* where its layer is, PLAN_PRIVATE_LAYER and the number */
        size_t number;
        struct kept_by *kept_by;
        bool began_empty;              /* nothing was kept when the run began */
        const struct nsrun_plan *plan; /* at the beginning: what --hide names isn't given */
};

/* Fills the upper folder with what is kept, if that was copied as a folder; *ret_is_old: that was too old.
 * -ESTALE: --hide names some of it; -errno. */
int private_folder_begin(const struct private_folder *f, bool *ret_is_old);
/* The same of one that the host hasn't: puts a placeholder of that run directory's there, for the overlay to
 * lie on.  -ENOENT: nothing is kept; -EEXIST: something is there by now, or another sandbox has it; -ESTALE.
 */
int private_folder_place(const struct private_folder *f, const char *rundir, bool *ret_is_old);
/* The sandbox is gone: 1: something new is kept; 0: nothing; -errno: what the command wrote is lost. */
int private_folder_end(const struct private_folder *f);
/* The same while it is there, of a copy; what the command removed is told in the end. */
int private_folder_look(const struct private_folder *f);
