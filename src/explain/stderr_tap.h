/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a watched command prints where a person sees it, for --explain: its last bytes, read from its memory
 * while the write waits.  The streams themselves are the caller's own, and nothing stands between. */
#pragma once

#include <linux/seccomp.h>
#include <sys/stat.h>

#include "base/macro.h"

struct printed {
        struct stat stream; /* the command's standard error */
        char *bytes;        /* the last ones; NULL: there are none */
        size_t n;
};

/* So much is kept at least, where there is more. */
#define PRINTED_MOST ((size_t)64 << 10)

/* `stdio`: the descriptors that the command gets, as in struct launch_params.  Returns which of its writes
 * are to be asked about, for launch_params' watched_prints. */
unsigned printed_begin(struct printed *p, const int *stdio);
/* Takes a write, and keeps it if it goes to that stream.  `is_vector`: writev(2).  Returns how many bytes it
 * has added to the end. */
size_t printed_take(struct printed *p, const struct seccomp_notif *question, bool is_vector);
void printed_clear(struct printed *p);
