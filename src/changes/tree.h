/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reaching into a tree that somebody hostile may be changing: never through a symlink, never onto another
 * mount, however deep. Knows nothing of what is committed. */
#pragma once

#include <sys/stat.h>

#include "base/macro.h"

/* A path longer than this is reported, and not followed: every path is kept whole. */
#define TREE_PATH_MAX (16U * 1024)

/* Opens `path` beneath `root` ("" is the root itself).  -ELOOP: a symlink is in the way;
 * -EXDEV: something is mounted there. */
int tree_open(int root, const char *path, int flags);

/* The folder that was opened last, so that one thing in it after another is cheap. */
struct tree {
        int root;
        int fd;     /* of `path` */
        char *path; /* NULL: none yet */
};
/* A descriptor of the folder, which stays the tree's; gone at the next call. */
int tree_folder(struct tree *t, const char *path);
/* The folder that `path` lies in, and the last name of it, which is part of `path`. */
int tree_parent(struct tree *t, const char *path, const char **ret_name);
/* Forgets: what was opened may be elsewhere now. */
void tree_forget(struct tree *t);
#define _cleanup_tree_ _cleanup_(tree_forget)

/* lstat(2) of `path`; -ENOENT also where a part of the way is no folder. */
int tree_stat(struct tree *t, const char *path, struct stat *ret);

/* The names in a folder, sorted by bytes; NULL-terminated. */
int tree_names(int fd, char ***ret);

/* Orders a folder before what lies in it, siblings by bytes. */
int tree_compare(const char *a, const char *b);
/* Whether `path` is `folder` or lies in it; "" holds everything. */
bool tree_is_beneath(const char *path, const char *folder);
