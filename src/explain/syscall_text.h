/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arguments of a denied call that tell what was tried, in the manual pages' words.  Reads no
 * memory of the caller's: what a pointer leads to may change at any time. */
#pragma once

#include "base/macro.h"

struct decoded_argument {
        const char *label; /* "family": the argument's name */
        char text[128];    /* "AF_VSOCK", "CLONE_NEWUSER|CLONE_NEWNET", "0x5412": its value */
};

#define DECODED_MOST 2

/* Decodes a call's arguments.  Returns how many were decoded, at most DECODED_MOST. */
size_t decode_arguments(const char *syscall, const uint64_t arguments[6],
                        struct decoded_argument ret[DECODED_MOST]);
