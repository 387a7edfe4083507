/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names in a folder, read at once where many of them are asked for. */
#pragma once

#include "macro.h"

struct name_list {
        char *text;         /* of each entry its type (DT_*) as a byte, its name and a NUL */
        const char **names; /* sorted; the byte before one is its type */
        size_t n;
        bool is_unknown;   /* there are too many, or they can't be read: each is to be looked for */
        bool is_canonical; /* the path of the folder has no symlink in it, and is normalised */
};

#define NAME_LIST_USUAL 4096
/* Reads the folder, of at most that many names; one that doesn't exist has none.  -ENOMEM alone is a
 * failure. `path` has to be normalised. */
int name_list_read(const char *path, size_t most, struct name_list *ret);
void name_list_clear(struct name_list *l);
#define _cleanup_name_list_ _cleanup_(name_list_clear)

/* The type (DT_*) of the entry whose name are the first `n` bytes of `name`; DT_UNKNOWN where it has to be
 * looked for, as where a name is there in other letters; -1: there is none. */
int name_list_find(const struct name_list *l, const char *name, size_t n);
