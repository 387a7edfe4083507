/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a project begins, and which folders can't be one. */
#pragma once

#include "base/error.h"

/* Finds the git top level at or above `start` (canonical): the nearest folder that holds a `.git`
 * (folder or file), else `start` itself.  One that can't be a project ends the search: a home with a
 * `.git` for dotfiles is not the project of all that lies in it.  Runs no git.  `home` may be NULL; the
 * caller frees *ret. */
int project_find(const char *start, const char *home, char **ret);
/* The same; *ret_is_plain: it has a `.git` that is a folder, without a symlink on the way.  *ret_has_none,
 * which is false before: no folder at or above has one.  False: that isn't known. */
int project_find_git(const char *start, const char *home, char **ret, bool *ret_is_plain,
                     bool *ret_has_none);

/* Whether the folder holds a `.git`, for which project_find() takes it. */
bool project_has_git(const char *folder);

/* Why `path` (canonical) can't be a project: static text ("a system root",
 * "a home folder"), or NULL where it can.  `home` may be NULL. */
const char *project_denied(const char *path, const char *home);
/* Whether a home (canonical) in /usr or /opt, which are shown as they are, is none: nothing is made for one
 * that isn't there, and what the system has in /usr is no home of a daemon's (/usr/sbin). */
bool project_home_is_systems(const char *home);
/* Why `path` (canonical) can't be a writable root ("/", a system root, …): static text, or NULL if
 * it can. */
const char *writable_denied(const char *path);
