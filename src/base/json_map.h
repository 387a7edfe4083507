/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON with places: which key and which value stands at which line and column, for
 * files that people write. */
#pragma once

#include "json.h"

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
