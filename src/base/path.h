/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths as strings: lexical work alone, no look at the file system but in
 * path_canonical(). */
#pragma once

#include "macro.h"

bool path_is_absolute(const char *path);

/* Whether a name of that length can exist: no part is longer than NAME_MAX, and it fits in PATH_MAX. */
bool path_is_possible(const char *path);

/* "/a/./b//c/../d/" -> "/a/b/d".  Purely lexical; `path` must be absolute.
 * Returns NULL for want of memory.  ".." at the top stays at the top. */
char *path_normalise(const char *path);

/* `path` itself where absolute, else base + "/" + path; then normalised. */
char *path_join(const char *base, const char *path);

/* "FOLDER/NAME", or with "" for the folder NAME, for the caller to free; NULL for want of memory. */
char *path_append(const char *folder, const char *name);

/* Whether `path` is `root` or lies beneath it.  Both normalised. */
bool path_is_beneath(const char *path, const char *root);

/* Whether it is one of `n` paths, or lies beneath one. */
bool path_is_beneath_any(const char *path, const char *const *roots, size_t n);

/* The part of `path` below `root` without a leading slash ("" for root itself),
 * or NULL where it is not beneath. */
const char *path_below(const char *path, const char *root);

/* Orders so that a parent always comes before what lies beneath it, and siblings
 * by bytes ("/a", "/a/b", "/a-b"). */
int path_compare(const char *a, const char *b);

/* What follows the last slash. */
const char *path_basename(const char *path);
/* The parent of a normalised path, "/" for a top-level one; NULL for no memory. */
char *path_parent(const char *path);

/* Cuts the last part off a normalised path; false, and nothing is changed: it is "/". */
bool path_up(char *path);

/* What realpath(3) says, through one open: 0 and *ret_path owned by the caller,
 * or -errno; -ETIMEDOUT: what is mounted there doesn't answer (responds.h).  *ret_mode (may be NULL) gets
 * the st_mode of what was found. */
int path_canonical(const char *path, char **ret_path, unsigned *ret_mode);
/* The same for a normalised path whose folder is known to be canonical: one look where it is no symlink. */
int path_canonical_in(const char *path, char **ret_path, unsigned *ret_mode);

/* What an absolute path will lead to when all of it exists: as far as it does its links
 * count, those that lead nowhere, too, and the rest is taken by its letters.  -ENOMEM; -ETIMEDOUT: what
 * is mounted there doesn't answer (responds_fail() says so). */
int path_canonical_to_be(const char *path, char **ret_path);

/* "/home/u/.npm" -> "home-u-.npm": a folder's name for a path.  A slash becomes
 * '-', and a '-' or '%' in the path "%2d" or "%25", so that two paths never share a name. A
 * result over 200 bytes is cut and ends in "-" and a 16-digit hash (FNV-1a, 64
 * bits) of the whole. */
char *path_slug(const char *path);
