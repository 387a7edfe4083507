/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing JSON: build a tree, then print it.  A thin face of json-c, which a
 * dynamic build loads on first use and a static one links.  Reads nothing. */
#pragma once

#include "error.h"
#include "macro.h"

struct json_value; /* belongs to its document */

/* A failure sticks: later calls do nothing and json_finish() reports it. */
struct json_document {
        struct json_value *root;
        bool has_failed;
};

/* Makes the root, an empty object.  -EOPNOTSUPP: json-c isn't installed. */
int json_open(struct json_document *d, struct nsrun_error *err);

/* All of these append to `parent`: under `key` to an object, with a NULL key to
 * an array.  Bytes that are no UTF-8 become U+FFFD each. A NULL text is null. */
struct json_value *json_add_object(struct json_document *d, struct json_value *parent, const char *key);
struct json_value *json_add_array(struct json_document *d, struct json_value *parent, const char *key);
void json_add_string(struct json_document *d, struct json_value *parent, const char *key, const char *text);
void json_add_number(struct json_document *d, struct json_value *parent, const char *key, uint64_t number);
void json_add_bool(struct json_document *d, struct json_value *parent, const char *key, bool value);
/* An array of strings. */
void json_add_strings(struct json_document *d, struct json_value *parent, const char *key,
                      char *const *texts);

/* The document as text without a final newline, on one line or indented; owned
 * by the caller.  The document stays. */
int json_finish(struct json_document *d, bool is_indented, char **ret, struct nsrun_error *err);

void json_close(struct json_document *d);
#define _cleanup_json_ _cleanup_(json_close)
