/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command's output in constant memory: its first and its last 15 KiB, and how many bytes it had.
 * Reads nothing itself. */
#pragma once

#include "base/macro.h"

#define CAPTURE_HEAD ((size_t)15 * 1024)
#define CAPTURE_TAIL ((size_t)15 * 1024)

/* A captured output.  To be zero-initialised. */
struct capture {
        uint64_t total;
        char head[CAPTURE_HEAD];
        char tail[CAPTURE_TAIL]; /* a ring of the output after the head */
};

void capture_add(struct capture *c, const char *bytes, size_t n);
/* The number of bytes at a text's end, at most 3, that may be the beginning of an incomplete UTF-8
 * character. */
size_t capture_unfinished(const char *text, size_t n);
/* The captured output as a new text with a NUL behind it.  What was left out is replaced by "\n...
 * [N bytes omitted, M bytes total] ...\n"; parts of a UTF-8 character that it would cut in two are
 * left out as well.  -ENOMEM. */
int capture_finish(const struct capture *c, char **ret, size_t *ret_size, uint64_t *ret_omitted);
