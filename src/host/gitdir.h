/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the git dir of a project is.  A .git that is a file (in a linked worktree or a submodule)
 * is the command's to write.  So it is believed only if the git dir that it names, which the
 * command can't write, names the project in turn. */
#pragma once

#include "gitconfig.h"

struct gitdir {
        char *dot_git;    /* the project's .git, file or folder */
        char *git_dir;    /* canonical; NULL: .git is missing, or a symlink */
        char *common_dir; /* canonical; NULL: the git dir is a whole repository */
};

/* Looks at `project` (canonical) and fills *ret.  1: .git is a file that leads to git dirs outside
 * the project, which nsrun must expose; 0: it doesn't, or is no file.  -EPERM: .git isn't believed;
 * *ret_why and *ret_hint (static) say why and what to do.  -ENOMEM. */
int gitdir_find(const char *project, struct gitdir *ret, const char **ret_why, const char **ret_hint);
/* Calls `found` for each entry of a plain file of configuration in a folder, bounded: gitconfig_parse()'s
 * result, or read_small_file()'s. */
int gitdir_read_config(int dir, const char *name,
                       int (*found)(void *data, const struct gitconfig_entry *entry), void *data);
/* Reads a file of one line that holds `prefix` and a path, which is relative to `base`: *ret, not
 * normalised.  -EBADMSG: it holds something else; -EFBIG, -ENOMEM, open(2)'s. */
int gitdir_read_pointer(int dir, const char *name, const char *prefix, const char *base, char **ret);
/* Where the .git file of `folder`, a descriptor of the folder at `path`, leads to; canonical, for the caller
 * to free.  Nothing outside `within` is opened: -EXDEV.  -EBADMSG: it is no such file; -ENOMEM and others.
 */
int gitdir_of_file(int folder, const char *path, const char *within, char **ret);
void gitdir_clear(struct gitdir *g);
#define _cleanup_gitdir_ _cleanup_(gitdir_clear)
