/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A JSON value as json.c and json_read.c know it.  For everybody else: json.h. */
#pragma once

#include "json.h"
#include "str.h"

struct json_value {
        enum json_kind kind;
        char *key;         /* of an object's member; else NULL */
        size_t key_at, at; /* offsets in the text that was read; key_at: `at` where there is no key */
        size_t n;          /* of an array's or an object's items; of any other, bytes of text */
        struct json_value **items;
        struct json_index *index; /* of a large object */
        char text[]; /* a string's bytes; of any other scalar, what is printed. A NUL is behind it. */
};

/* The length in bytes of the well-formed UTF-8 character at the beginning of n bytes, or 0. */
size_t json_character(const char *bytes, size_t n);

/* Without a key.  NULL for want of memory. */
struct json_value *json_new(enum json_kind kind, const char *text, size_t n);
void json_free(struct json_value *v);

#define JSON_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
