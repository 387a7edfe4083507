/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names of git dirs: a repository's own, those in it, and one elsewhere in the writable folder. */
#pragma once

#include "protect_find.h"

/* Adds the names of the git dir that .git is or leads to, and fills p->git_dir and p->git_fd.  -E2BIG,
 * -ENOMEM. */
int protect_git(struct protecting *p);
/* Protects the folder of hooks and the files that its configuration names, and what these name in turn; and
 * the folder of hooks that the user's own configuration names.  -ENOMEM. */
int protect_git_orders(const struct protecting *p);
/* The same of the project, where the command can't write to that. */
int protect_project_orders(struct protecting *p);
/* Where the linked worktree of a git dir in the writable folder is.  1: *ret_below, for the caller to free,
 * is where in that folder; 0: elsewhere, and what its own configuration names is protected. */
int protect_linked_worktree(const struct protecting *top, const char *git_dir, char **ret_below);
/* Lists the symlinks of all git dirs that are swept when the command has ended. */
int protect_list_links(struct resolved *s, struct nsrun_error *err);
