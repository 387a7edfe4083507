/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes away what git would obey in a repository that a command made: for --protect=strict. */
#pragma once

#include "base/macro.h"

/* Moves the hooks of a git dir, a descriptor that may be O_PATH, to hooks.aside-N, and its files of
 * configuration, for which others without what names a program (or a work tree, unless is_submodule) are put
 * there.  `carried`: gitorders_carried()'s flags.  -errno: some of it is still obeyed. */
int disarm_git_dir(int git_dir, unsigned carried, bool is_submodule);
/* Renames the entry `name` of a folder to NAME.aside-N.  -errno. */
int disarm_entry(int folder, const char *name);
