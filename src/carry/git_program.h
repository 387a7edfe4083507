/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's git as the one that reads and writes configuration: what it takes for an entry is one; and that
 * compares files.  It is started outside of any repository, with no configuration of anybody's, on copies.
 */
#pragma once

#include "base/macro.h"

/* An entry; `value` is NULL for a key without "=". */
struct git_entry {
        char *key, *value;
};

/* The entries of a file, sorted by their keys; those of one key are in their order. */
struct git_list {
        char *text;
        struct git_entry *entries;
        size_t n;
};

/* What git reads of n bytes, includes not followed.  -EBADMSG: it reads nothing of it; -E2BIG: too much;
 * -ENOENT: there is no git on the host that no command can have put there; -ENOMEM and others. */
int git_list_read(const char *bytes, size_t n, struct git_list *ret);
void git_list_clear(struct git_list *list);
#define _cleanup_git_list_ _cleanup_(git_list_clear)

/* What git says of two files or symlinks, by their paths, as of text; "/dev/null" is none.  -E2BIG,
 * -EBADMSG, -ENOENT, -ENOMEM. */
int git_diff(const char *before, const char *after, char **ret, size_t *ret_n);

/* Gives a key of the file at `path` these n values in place of those that it has; 0: takes it out.
 * -EBADMSG: git won't. */
int git_file_change(const char *path, const char *key, const struct git_entry *values, size_t n);
