/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words to parse, one after the other: from argv, or from the data that --args reads.  Knows no
 * option. */
#pragma once

#include "base/str.h"

/* --args' data may not be longer: a descriptor that never ends is no command line.  The kernel
 * itself passes at most 6 MiB of arguments to a program. */
#define BWRAP_MOST_DATA ((size_t)64 << 20)

struct bwrap_args {
        char *const *words; /* NULL-terminated, or NULL: data */
        const char *data;   /* each word followed by a NUL */
        const char *end;
};

/* The next word, or NULL. */
const char *bwrap_args_peek(const struct bwrap_args *args);
/* The same, and it is taken. */
const char *bwrap_args_take(struct bwrap_args *args);

/* Reads a descriptor to its end, and closes it: the data with a NUL at the end, owned by the
 * caller.  -EFBIG: more than BWRAP_MOST_DATA; -ENOMEM; read(2)'s. */
int bwrap_args_read(int fd, char **ret, size_t *ret_n);
