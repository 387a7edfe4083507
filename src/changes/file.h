/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two files compared, one copied: contents and user.* attributes.  Knows nothing of paths
 * but for names in an open folder. */
#pragma once

#include <sys/stat.h>

#include "base/sha256.h"

/* For reading; never waits, never follows.  -EINVAL: no regular file any more. */
int file_open(int dir, const char *name);
/* The same, with what fstat(2) says of it. */
int file_open_stat(int dir, const char *name, struct stat *ret);

/* Whether the contents are the same: 1, 0, or -errno. */
int file_same_content(int a, int b);
/* Adds a digest's view of the content: each 4 KiB that aren't all zeros, with their place, and the size.
 * What is a hole isn't read, nor what lies behind the size at the beginning. */
int file_hash_content(int fd, struct sha256 *sum);
/* The same for a text in memory. */
void file_hash_text(const char *text, size_t n, struct sha256 *sum);
/* Adds the user.* attributes but overlayfs's own, sorted. */
int file_hash_attributes(int fd, struct sha256 *sum);
/* A symlink's text, which the caller frees. */
int file_link_text(int dir, const char *name, char **ret);

/* Copies the content with its holes, sharing blocks where the file system can, to an empty file.  `st` is
 * from's. */
int file_copy(int from, int to, const struct stat *st);

/* Whether there are any: 1, 0, or -errno. */
int file_has_attributes(int fd);

/* overlayfs's own attributes, in both spellings (user. and trusted.): the value's length,
 * -ENODATA for none. */
ssize_t file_overlay_mark(int fd, const char *name, char *to, size_t size);

/* Whether the user.* attributes but overlayfs's own are the same: 1, 0, or -errno. */
int file_same_attributes(int a, int b);
/* Makes them the same; what is new has none yet.  A file system without them has none to copy. */
int file_copy_attributes(int from, int to, bool is_new);

/* Makes the access ACL the same, O_PATH descriptors will do: 1, or 0 where there is none now, or
 * -errno.  -EINVAL also: it names somebody whom this user namespace doesn't know. */
int file_copy_acl(int from_path, int to_path);
/* Whether it is the same: 1, 0, or -errno. */
int file_same_acl(int a_path, int b_path);
