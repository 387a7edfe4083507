/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of a repository's configuration is an order to git: keys that name a program, another folder of hooks
 * or another file of configuration.  And whether there are hooks. */
#pragma once

#include "gitconfig.h"

/* Whether an entry names a program, or what may name one. */
bool gitorders_names_program(const struct gitconfig_entry *entry);

/* Calls `found` for each entry of the git dir's own files (config, and config.worktree) in order.
 * `found`'s first result that is not 0, or -errno: a file can't be read, or git would not read it. */
int gitorders_read(int git_dir, int (*found)(void *data, const struct gitconfig_entry *entry), void *data);

/* What orders a git dir carries: NULL, or words for the user. */
const char *gitorders_carried(int git_dir);
