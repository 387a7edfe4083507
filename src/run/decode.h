/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arguments of a denied call that tell what was tried, in the words of the
 * manual pages.  Reads no memory: what a pointer leads to may change meanwhile. */
#pragma once

#include "base/macro.h"

struct decoded_argument {
        const char *label; /* "family" */
        char text[128];    /* "AF_VSOCK", "CLONE_NEWUSER|CLONE_NEWNET", "0x5412" */
};

#define DECODED_MOST 2

/* How many there are, at most DECODED_MOST. */
size_t decode_arguments(const char *syscall, const uint64_t arguments[6],
                        struct decoded_argument ret[DECODED_MOST]);
