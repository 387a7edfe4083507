/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the git dir of a project is.  Where .git is a file (of a linked worktree, or of a submodule) that
 * is the command's to write, so it is believed only where the git dir itself, which the command can't
 * write, names the project in turn. */
#pragma once

#include "base/macro.h"

struct gitdir {
        char *dot_git;    /* the project's .git */
        char *git_dir;    /* canonical; NULL: .git is missing, or a symlink */
        char *common_dir; /* canonical; NULL: the git dir is a whole repository */
};

/* Looks at `project` (canonical).  1: .git is a file that leads out of the project, to git dirs that are
 * for nsrun to expose; 0: it doesn't, or is no file; *ret is filled.  -EPERM: it isn't believed, and
 * *ret_why and *ret_hint (static) say why and what to do.  -ENOMEM. */
int gitdir_find(const char *project, struct gitdir *ret, const char **ret_why, const char **ret_hint);
void gitdir_clear(struct gitdir *g);
#define _cleanup_gitdir_ _cleanup_(gitdir_clear)
