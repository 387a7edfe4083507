/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command's output in constant memory: its first and its last 15 KiB, and how much
 * there was.  Reads nothing itself. */
#pragma once

#include "base/macro.h"

#define CAPTURE_HEAD ((size_t)15 * 1024)
#define CAPTURE_TAIL ((size_t)15 * 1024)

/* Zero-initialise it. */
struct capture {
        uint64_t total;
        char head[CAPTURE_HEAD];
        char tail[CAPTURE_TAIL]; /* a ring of what came after the head */
};

void capture_add(struct capture *c, const char *bytes, size_t n);
/* What is kept, in a new text with a NUL behind it.  Where something is left out it has, in its
 * place, "\n... [N bytes omitted, M bytes total] ...\n"; no UTF-8 character is cut in two, its parts are
 * left out too.  -ENOMEM. */
int capture_finish(const struct capture *c, char **ret, size_t *ret_size, uint64_t *ret_omitted);
