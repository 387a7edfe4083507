/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading a git configuration file: its keys and values, in order.  Follows no
 * include and runs nothing; what an include would add is for git itself to say. */
#pragma once

#include "base/macro.h"

/* One "key = value" of a file.  `section` and `key` are in lower case, `subsection`
 * is "" where there is none, `value` is NULL for a key without "=". */
struct gitconfig_entry {
        const char *section;
        const char *subsection;
        const char *key;
        const char *value;
};

/* Calls `found` for each entry of `text`, in order.  Stops at the first non-zero
 * return and hands it back.  -EBADMSG: git would not read this either; -ENOMEM. */
int gitconfig_each(const char *text, int (*found)(void *data, const struct gitconfig_entry *entry),
                   void *data);

/* What git takes for true. */
bool gitconfig_is_true(const char *value);
