/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An answer that echoes a key: stars in its place, as many as it had bytes, so that lengths stay true. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MASK_NEEDLES 64U

struct mask {
        char *needles[MASK_NEEDLES]; /* the key, as it stands and as it is spelled in requests */
        size_t lengths[MASK_NEEDLES];
        size_t publics[MASK_NEEDLES]; /* bytes at its beginning that all keys of its kind have */
        size_t n;
};

/* What of a stream isn't passed on yet, since a needle may have begun there; or is, but remembered. */
struct mask_held {
        char *bytes;
        size_t n, n_passed;
};

/* Takes over an allocated text, whose first `n_public` bytes are no secret.  -ENOMEM: it is NULL; -E2BIG:
 * there are too many.  One that is there is enough. */
int mask_add(struct mask *m, char *needle, size_t n_public);
void mask_clear(struct mask *m);
/* Takes n more bytes of a stream, and returns what can be passed on: *ret_n bytes that the caller frees.
 * NULL for want of memory.  With n 0 the stream has ended, and a needle's beginning that is long, and more
 * than public, gets stars, too. */
char *mask_feed(const struct mask *m, struct mask_held *held, const char *bytes, size_t n, size_t *ret_n);
/* Passes on what is held, since nobody knows when more comes: a needle's beginning gets stars as at the
 * stream's end, and what comes of that needle later gets them, too. */
char *mask_pass_held(const struct mask *m, struct mask_held *held, size_t *ret_n);
void mask_held_clear(struct mask_held *held);
/* The same of a whole text, in place; and whether it has one. */
void mask_text(const struct mask *m, char *text);
bool mask_finds(const struct mask *m, const char *text);
