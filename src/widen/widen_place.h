/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where in a running sandbox something can be mounted. */
#pragma once

#include "plan/plan.h"

struct widen_place {
        int folder;  /* of the mount point */
        char *shown; /* the mount point: the path, or the first folder of its way that is missing */
        bool makes;  /* it is made */
};

/* Looks for it in the sandbox whose root is given.  Nothing that the command could move is above it, and it
 * is made on a tmpfs of the sandbox's own alone.  *ret is the caller's.  Stage MOUNT. */
int widen_place_find(int root, const char *path, struct widen_place *ret, struct nsrun_error *err);
/* The folder of a mount point that was made, to remove that; or -errno. */
int widen_place_made(int root, const char *shown);
