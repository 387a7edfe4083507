/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What git's index (gitformat-index) knows: which paths are tracked, and which of them are repositories in
 * sub-folders, its entries of mode 160000.  Pure. */
#pragma once

#include "base/sha256.h"

enum {
        GITINDEX_SHARED_SIZE = sizeof("sharedindex.") + 2 * 32,
};

/* `path` ends with a slash where the index is a sparse one and knows a folder as a whole. */
typedef int gitindex_found_t(void *data, const char *path, bool is_repository);

/* Calls `found` with each entry of the `n` bytes at `text`, until it returns another value than 0, which is
 * then returned.  Versions 2 to 4, with hashes of 20 or 32 bytes.  Of a split index just what is in this
 * file: the name of the file beside it with the rest is then stored in `shared`, of GITINDEX_SHARED_SIZE
 * bytes or NULL; else "".  -EBADMSG: it is none, or
 * one that git doesn't write, and could read otherwise; -ENOMEM. */
int gitindex_parse(const unsigned char *text, size_t n, gitindex_found_t *found, void *data, char *shared);
/* Reads `name`, an index in the git dir, of at most `limit` bytes, and parses it.  -EFBIG; -EINVAL: no plain
 * file; open(2)'s. */
int gitindex_read(int git_dir, const char *name, size_t limit, gitindex_found_t *found, void *data,
                  char *shared);
/* Whether an index that git has written may know repositories: their entries' mode stands somewhere in it.
 */
bool gitindex_may_link(int git_dir, const char *name);
/* What an index, read the same way, says of its paths, but for what it remembers of the files' times: `git
 * status` writes that anew whenever it looks.  -EBADMSG: a split index, too. */
int gitindex_digest(int git_dir, const char *name, size_t limit, unsigned char ret[SHA256_SIZE]);
