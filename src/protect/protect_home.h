/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The home's symlinks: the host's programs obey what they lead to, so a repository of such files is a
 * project, too. */
#pragma once

#include "rules/resolved.h"

/* Whether it is a folder of the host that the command may write to.  Not /tmp's. */
bool protect_is_writable(const struct resolved *s, const struct resolved_rule *rule);

/* Whether a path lies in such a folder. */
bool protect_can_be_written(const struct resolved *s, const char *path);
/* Adds a path that lies in such a folder to *to, once.  -ENOMEM. */
int protect_take_target(const struct resolved *s, const char *path, char ***to);
/* Adds to *to each symlink that is met on the way of an absolute path and lies in such a folder, and where
 * it leads.  -ENOMEM. */
int protect_take_way(const struct resolved *s, const char *path, char ***to);
/* Whether programs on the host obey what lies at a path of the home, or what lies in it: by the same table,
 * and files whose names begin with a dot.  Absolute paths. */
bool protect_home_is_obeyed(const char *home, const char *path);
/* Adds those that symlinks of the home lead to: those of its hidden names, and in the folders of a table.
 * -ENOMEM. */
int protect_home_targets(const struct resolved *s, char ***ret);
