/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON: build a tree, then print it; or read one.  Every text is RFC 8259's, and every text that is
 * printed can be read again. */
#pragma once

#include "error.h"

struct json_value; /* belongs to its document */

/* A JSON text that is being built or was read. The first failure is kept: later calls do nothing, and
 * json_finish() returns it. */
struct json_document {
        struct json_value *root;
        bool has_failed;
        bool is_other; /* a text that was added had bytes that are no UTF-8, and isn't what the document has
                        */
};

/* The length in bytes of the well-formed UTF-8 character at `text`, 0 where there is none: overlong forms,
 * surrogates and what lies above U+10FFFF included.  What is none is U+FFFD in a document. */
size_t json_utf8_length(const char *text);

/* A document whose root is an empty object. */
struct json_document json_begin(void);

/* All of these append to `parent`: under `key` to an object, in which they replace what has this key; with a
 * NULL key to an array.  Bytes that are no UTF-8 become U+FFFD each. A NULL text is null. */
struct json_value *json_add_object(struct json_document *d, struct json_value *parent, const char *key);
struct json_value *json_add_array(struct json_document *d, struct json_value *parent, const char *key);
void json_add_string(struct json_document *d, struct json_value *parent, const char *key, const char *text);
/* n bytes, NULs among them. */
void json_add_bytes(struct json_document *d, struct json_value *parent, const char *key, const char *bytes,
                    size_t n);
void json_add_number(struct json_document *d, struct json_value *parent, const char *key, uint64_t number);
void json_add_bool(struct json_document *d, struct json_value *parent, const char *key, bool value);
/* An array of strings. */
void json_add_strings(struct json_document *d, struct json_value *parent, const char *key,
                      char *const *texts);

/* A value that is a JSON text already, one that json_finish() or json_spell() made. */
void json_add_json(struct json_document *d, struct json_value *parent, const char *key, const char *text);

/* The document as text without a final newline, on one line or indented; owned
 * by the caller.  The document stays. */
int json_finish(struct json_document *d, bool is_indented, char **ret, struct nsrun_error *err);
/* The same on one line; NULL for want of memory. */
char *json_line(struct json_document *d);
/* The document as a person writes one, with a final newline: the root's members a line each, and whatever
 * else has at most JSON_WIDTH bytes on one line. */
int json_lay_out(struct json_document *d, char **ret, struct nsrun_error *err);
#define JSON_WIDTH 100

/* What is wrong with a text. */
struct json_trouble {
        size_t at;       /* the offset of the byte at which it stops being right */
        size_t other;    /* of a repeated key: the offset of the first one; else 0 */
        const char *why; /* static text; NULL: nothing */
};

enum json_reading {
        JSON_STRICT = 0,
        /* Instead of refusing the text, a byte that is no UTF-8 and half a surrogate pair become U+FFFD. A
         * text that is refused leaves in the document what could be read of it. */
        JSON_REPAIRED = 1,
        /* As for a file that a person wrote: a key that is there twice is refused, and not its last one
         * taken; and so is a NUL in a string. */
        JSON_CAREFUL = 2,
};

/* Reads a whole text of n bytes: one value, no comments, at most JSON_DEPTH brackets in one another.  The
 * text isn't kept.  -EINVAL with *ret_trouble: it is none.  -ENOMEM.  json_close() in any case. */
int json_read(struct json_document *d, const char *text, size_t n, enum json_reading how,
              struct json_trouble *ret_trouble);
#define JSON_DEPTH 15

/* json_read() with JSON_STRICT.  -EINVAL: *ret_line (from 1) is where, and *ret_why says why; both may be
 * NULL. */
int json_parse(struct json_document *d, const char *text, size_t n, size_t *ret_line, const char **ret_why);

enum json_kind {
        JSON_NULL, /* also what isn't there */
        JSON_BOOL,
        JSON_NUMBER, /* whole, and of 64 bits */
        JSON_REAL,   /* any other number */
        JSON_STRING,
        JSON_ARRAY,
        JSON_OBJECT
};
/* `v` may be NULL in all of these, and what is null is returned as NULL. */
enum json_kind json_kind(const struct json_value *v);
struct json_value *json_get(const struct json_value *object, const char *key);
/* Whether an object has the key, be it with null, which json_get() can't tell. */
bool json_has(const struct json_value *object, const char *key);
size_t json_length(const struct json_value *array);
struct json_value *json_at(const struct json_value *array, size_t i);
/* Whether one of the strings in it is that one. */
bool json_array_has(const struct json_value *array, const char *text);
/* The document's own; NULL for what is no string, or has a NUL in it. */
const char *json_text(const struct json_value *v);
/* False for what is no whole number from 0 to 2^64-1. */
bool json_number(const struct json_value *v, uint64_t *ret);
/* False for what is not true. */
bool json_is_true(const struct json_value *v);
/* A value as JSON text on one line, for the caller to free; a number as it was written.  NULL for want of
 * memory. */
char *json_spell(const struct json_value *v);
/* The first key of an object that isn't in allowed[n]; NULL: none. */
const char *json_unknown_key(const struct json_value *object, const char *const *allowed, size_t n);

void json_close(struct json_document *d);
#define _cleanup_json_ _cleanup_(json_close)

/* JSON with places: which key and which value stands at which line and column, for files that people
 * write. */

/* One value.  Those within it follow it, in the order of the text. */
struct json_node {
        const struct json_value *value; /* NULL: null */
        const char *key;                /* NULL in an array, and of the root */
        size_t key_at;                  /* offset in the text; that of the value where there is no key */
        size_t at;                      /* offset of the value */
        size_t end;                     /* index of the next node that is not within this one */
};

struct json_map {
        struct json_document document;
        struct json_node *nodes; /* the root is the first */
        size_t n;
};

/* A place in the text: line and column, both from 1. Columns count UTF-8 characters. */
struct json_place {
        size_t line;
        size_t column;
};
/* Remembers the last place that was asked for, so that asking for all places of a text in order costs one
 * reading of it. */
struct json_cursor {
        size_t at;
        struct json_place place;
};
#define JSON_CURSOR_INIT          \
        (struct json_cursor) {    \
                .place = { 1, 1 } \
        }
/* The place of the offset `at`. */
struct json_place json_place_of(struct json_cursor *cursor, const char *text, size_t at);

/* json_read() with JSON_CAREFUL, and its errors. */
int json_map_read(struct json_map *m, const char *text, size_t n, struct json_trouble *ret_trouble);
void json_map_clear(struct json_map *m);
#define _cleanup_json_map_ _cleanup_(json_map_clear)

/* The members or items of nodes[i]: for (j = i + 1; j < nodes[i].end; j = nodes[j].end). */
