/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256 (FIPS 180-4): whether two files have the same content. */
#pragma once

#include "macro.h"

#define SHA256_SIZE 32

struct sha256 {
        uint32_t state[8];
        uint64_t length; /* bytes taken */
        unsigned char block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
void sha256_end(struct sha256 *s, unsigned char ret[SHA256_SIZE]);
