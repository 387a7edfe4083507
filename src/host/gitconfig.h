/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a git configuration file, as git-config(1) has it: keys and values in order.  Pure: opens no
 * file, follows no include. */
#pragma once

#include "base/str.h"

enum {
        GITCONFIG_NAME_MAX = 4 << 10,   /* "section.subsection.key" */
        GITCONFIG_VALUE_MAX = 16 << 10, /* no name, path or address that git acts on is longer */
};

/* An entry of a git configuration, "key = value".  `name` is "section.key" or
 * "section.subsection.key", section and key in lower case; `value` is NULL for a key without "=". */
struct gitconfig_entry {
        const char *name;
        const char *value;
};

/* Calls `found` for each entry of the `n` bytes at `text`, in order.  If `found` returns non-zero
 * it stops and returns that.  -EBADMSG: git would not read the text either, or a bound is crossed,
 * or there is a NUL in it; -ENOMEM. */
int gitconfig_parse(const char *text, size_t n,
                    int (*found)(void *data, const struct gitconfig_entry *entry), void *data);

/* Whether `name` is SECTION.subsection.KEY.  Its subsection, which may be empty, is then in the
 * outputs. */
bool gitconfig_is_in(const char *name, const char *section, const char *key, const char **ret,
                     size_t *ret_n);

/* Adds the entry, under a section's line of its own, as gitconfig_parse() and git read it. */
void gitconfig_write(struct strbuf *to, const struct gitconfig_entry *entry);

/* Whether git takes the value for true. */
bool gitconfig_is_true(const char *value);
