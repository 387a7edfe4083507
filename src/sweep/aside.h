/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves what a command made, and programs on the host would obey, to another name. */
#pragma once

#include "base/macro.h"

/* Renames the entry `base` of the folder `parent` to BASE.aside-N in the folder `to`, of a long BASE what
 * fits, behind `dot`
 * ("" or
 * "."), which *ret is, for the caller to free.  A folder that the command has closed to its owner is opened
 * for it.  -ENOENT: there is none; -errno. */
int aside_move(int parent, const char *base, int to, const char *dot, char **ret);

/* Moves a rebase or a cherry-pick that is to be continued, and the hooks of a git dir, a descriptor that may
 * be O_PATH, to hooks.aside-N, and its files of configuration, for which others without what names a program
 * (or a work tree, unless is_submodule) are put there.  `carried`: gitorders_carried()'s flags.  -errno:
 * some of it is still obeyed.
 */
int disarm_git_dir(int git_dir, unsigned carried, bool is_submodule);
/* Renames the entry `name` of a folder to NAME.aside-N in the folder `to`.  -errno. */
int disarm_entry(int folder, const char *name, int to);
