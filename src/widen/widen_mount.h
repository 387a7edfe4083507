/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is mounted in a running sandbox, and taken away: in processes that nothing in there can look at,
 * which have the lock (`file`, the plan's) for as long as they live. */
#pragma once

#include "running/granted.h"

/* Attaches the tree at g->shown, in that folder, and says so.  -ELOOP: a symlink stands there; -ESTALE: the
 * command has moved the mount point away, and the tree with it; another -errno. */
int widen_attach(const struct inside *inside, int file, const struct granted *g, int folder, int tree);

/* Takes the tree away, wherever it is. */
int widen_detach(const struct inside *inside, int file, int tree);

/* Removes the empty file or folder `path` in the folder, on which something was mounted.  `is_mounted`: an
 * empty folder of nsrun's own is mounted there still, which goes before, if nobody stands in it. */
int widen_remove_point(const struct inside *inside, int file, int folder, const char *path, bool is_mounted);
