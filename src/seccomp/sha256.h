/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256 (FIPS 180-4), for the names and the seals of cached filters. */
#pragma once

#include "base/macro.h"

#define SHA256_SIZE 32

struct sha256 {
        uint32_t state[8];
        uint64_t length; /* bytes taken */
        unsigned char block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
/* With the length (8 bytes, little-endian) before it, so that parts can't run into one another. */
void sha256_add_part(struct sha256 *s, const void *bytes, size_t n);
void sha256_end(struct sha256 *s, unsigned char ret[SHA256_SIZE]);
/* Lower-case hexadecimal, to[2 * SHA256_SIZE + 1]. */
void sha256_format(const unsigned char digest[SHA256_SIZE], char *to);
