/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names: what lies in a writable folder and is obeyed by programs that the user runs there later
 * (git, editors, shells, package managers, other agents). */
#pragma once

#include <sys/stat.h>

#include "base/macro.h"

/* nsrun's own list, relative to the top of a writable folder; ends with NULL. */
extern const char *const protect_names[];
/* Whether a path, relative to any folder, is or lies below one of nsrun's own list in some folder of it.  By
 * a second name of such a file what lies under the first could be written. */
bool protect_covers(const char *path);
/* Whether one would lie below it, in some folder: ".hg" is above ".hg/hgrc". */
bool protect_is_above(const char *path);
/* The length of the folder's path in which that is so; 0: in none below the top. */
size_t protect_folder_of(const char *path);
/* Whether one of the globs names `name`, a path below a folder, or a folder that it is in. */
bool protect_is_among_open(char *const *no_protect, const char *name);
/* Whether such a name is one of those that programs take for a folder: where that is empty it says nothing.
 */
bool protect_is_folder(const char *name);
/* Whether one of "FOLDER//GLOB" names a path: what it is in FOLDER; else NULL. */
const char *protect_name_of(char *const *names, const char *path);
/* What the mode has of what stands for a protected folder that a command has made and the host isn't to see
 * (sweep/placeholder.h), and its attribute, whose it is, as carry/killed.h has it; whether `name`, beneath
 * `root`, is such a one, with nothing in it, or gone by now: not there.  `owner`, PATH_MAX bytes (may be
 * NULL): that attribute. */
#define PROTECT_PLACEHOLDER_MODE S_ISVTX
#define PROTECT_PLACEHOLDER_OF   "user.nsrun.placeholder"
bool protect_is_placeholder(int root, const char *name, char *owner);
/* The same (O_PATH), whatever is in it.  -ENOENT: it is gone by now; -EINVAL: it is none. */
int protect_open_placeholder(int root, const char *name, char *owner);
