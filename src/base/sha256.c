/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SHA-256, block by block. */
#include "sha256.h"

static const uint32_t rounds[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, unsigned n) {
        return (x >> n) | (x << (32 - n));
}

static void expand(const unsigned char *block, uint32_t w[64]) {
        for (size_t i = 0; i < 16; i++)
                w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
        for (size_t i = 16; i < 64; i++) {
                uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >> 3);
                uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >> 10);

                w[i] = w[i - 16] + a + w[i - 7] + b;
        }
}

/* The eight words of the state as variables, which stay in registers: an array of them that
 * moves along takes three times as long. */
static void take_block(uint32_t state[8], const unsigned char *block) {
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        uint32_t w[64];

        expand(block, w);
        for (size_t i = 0; i < 64; i++) {
                uint32_t choice = (e & f) ^ (~e & g);
                uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
                uint32_t first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + rounds[i] + w[i];
                uint32_t second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;

                h = g;
                g = f;
                f = e;
                e = d + first;
                d = c;
                c = b;
                b = a;
                a = first + second;
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
        state[5] += f;
        state[6] += g;
        state[7] += h;
}

void sha256_begin(struct sha256 *s) {
        *s = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                       0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *bytes, size_t n) {
        const unsigned char *from = bytes;

        while (n > 0) {
                size_t at = s->length % sizeof(s->block);
                size_t take = sizeof(s->block) - at < n ? sizeof(s->block) - at : n;

                if (take == sizeof(s->block)) {
                        take_block(s->state, from);
                } else {
                        memcpy(s->block + at, from, take);
                        if (at + take == sizeof(s->block))
                                take_block(s->state, s->block);
                }
                s->length += take;
                from += take;
                n -= take;
        }
}

void sha256_end(struct sha256 *s, unsigned char ret[SHA256_SIZE]) {
        static const unsigned char padding[64] = {0x80};
        uint64_t bits = s->length * 8;
        size_t at = s->length % sizeof(s->block);
        unsigned char length[8];

        for (size_t i = 0; i < sizeof(length); i++)
                length[i] = (unsigned char)(bits >> (56 - 8 * i));
        sha256_add(s, padding, (at < 56 ? 56 : 120) - at);
        sha256_add(s, length, sizeof(length));
        for (size_t i = 0; i < SHA256_SIZE; i++)
                ret[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
