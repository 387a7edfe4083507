/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is to be kept aside when a run has ended, written down while it lasts: whoever comes after a kill
 * keeps it. */
#pragma once

#include "disk/rundir.h"
#include "kept_by.h"

/* Begins it in the run directory at `rundir`, or in a session that runs opens it: a descriptor for
 * killed_add(). */
int killed_begin(const char *rundir, const struct kept_by *kept_by);
/* Adds a protected folder, whose layer's name in the run directory `what` is; or what was renamed from
 * `path` to the name `what` in its folder. */
void killed_add(int fd, const char *what, const char *path);
/* Keeps all of it aside, of a run directory whose owner is dead.  -ENOMEM. */
int killed_keep(const struct rundir *u, int (*found)(void *data, const struct nsrun_error *note),
                void *data);
