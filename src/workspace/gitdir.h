/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the git dir of a project is whose .git is a file: a linked worktree, or a
 * submodule.  The file is the command's to write, so it is believed only where the
 * git dir itself, which the command can't write, names the project in turn. */
#pragma once

#include "base/macro.h"

struct gitdir {
        char *dot_git;    /* the project's .git file */
        char *git_dir;    /* canonical */
        char *common_dir; /* canonical; NULL: the git dir is a whole repository (a submodule's) */
};

/* Looks at `project` (canonical).  0: .git is no file, or it leads into the project
 * itself: there is nothing to expose.  1: *ret is filled.  -EPERM: it isn't believed,
 * and *ret_why and *ret_hint (static) say why and what to do.  -ENOMEM. */
int gitdir_find(const char *project, struct gitdir *ret, const char **ret_why, const char **ret_hint);
void gitdir_clear(struct gitdir *g);
#define _cleanup_gitdir_ _cleanup_(gitdir_clear)
