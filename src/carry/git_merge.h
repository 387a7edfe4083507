/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command has changed in a configuration, key by key, against what it was given and what the host has
 * by now. */
#pragma once

#include "git_program.h"

enum git_fate {
        GIT_CARRIED,  /* a key of git_keys.h's table, with a value that it takes */
        GIT_KEPT,     /* any other */
        GIT_CONFLICT, /* the host has changed it, too, and otherwise */
};

/* A key that has other values inside than it was given, and than the host has; none: it was taken out. */
struct git_change {
        const char *key;
        const struct git_entry *values;
        size_t n;
        enum git_fate fate;
};

/* In what is kept, and in no change: a key that was taken out.  git knows no such key. */
#define GIT_CONFIG_UNSET "nsrun.unset"

/* All of them, by their keys; they point into the lists.  *ret is for the caller to free.  -ENOMEM. */
int git_merge(const struct git_list *base, const struct git_list *inside, const struct git_list *host,
              struct git_change **ret, size_t *ret_n);
/* Whether two changes say the same. */
bool git_change_is_same(const struct git_change *a, const struct git_change *b);
