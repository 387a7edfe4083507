/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a key that stays outside may be used, and as what: the texts of --key and --key-use, read.  Pure. */
#pragma once

#include "net/rules.h"

#define KEY_NAME_MOST   128  /* bytes of a key's name, and of each other word of a use */
#define KEY_VALUE_MOST  8192 /* bytes of a key */
#define KEY_VALUE_LEAST 8    /* what is shorter would be found in every answer */
#define KEY_USES_MOST   32   /* of a run */

/* How the key goes into a request. */
enum key_form {
        KEY_IN_HEADER, /* `field`: `text`, with the key for the star */
        KEY_IN_QUERY,  /* FIELD=KEY behind the path */
        KEY_IN_BASIC,  /* Authorization: Basic, of the user `text` */
};

struct key_use {
        char name[KEY_NAME_MOST + 1]; /* of the key, and of the variable that has its placeholder */
        char host[NET_NAME_MOST + 1];
        uint16_t port;
        char prefix[KEY_NAME_MOST + 1]; /* "" or "/v1": what isn't at or below it gets no key */
        enum key_form form;
        char field[KEY_NAME_MOST + 1]; /* a header's name, or a query's */
        char text[KEY_NAME_MOST + 1];
        char variable[KEY_NAME_MOST + 1]; /* that names the host inside; "": none */
        char pattern[KEY_NAME_MOST + 1];  /* its value, with the address for the star */
        bool is_git;                      /* git is told the address, too */
        char methods[KEY_NAME_MOST + 1];  /* "GET+HEAD"; "": all */
};

/* Reads NAME=https://HOST[:PORT][/PREFIX][,FIELD...].  NULL, or why it is none. */
const char *key_use_read(const char *text, struct key_use *ret);
/* Of the table of those that need no --key-use: the i-th text for that name; NULL: there are no more. */
const char *key_use_known(const char *name, size_t i);
/* Whether a request of that method for that path may have the key.  What a server could read as another path
 * (dot segments, encoded slashes) isn't below a prefix. */
bool key_use_covers(const struct key_use *use, const char *method, const char *path);
/* The plain address of that port inside; the caller frees it, NULL for want of memory. */
char *key_use_address(const struct key_use *use, uint16_t port);

enum key_source_kind {
        KEY_OF_VARIABLE,
        KEY_OF_FILE,
        KEY_OF_COMMAND,
};
/* Reads NAME[=env:NAME|file:PATH|command:TEXT].  NULL, or why it is none; *ret_what points into `text`. */
const char *key_source_read(const char *text, char name[KEY_NAME_MOST + 1], enum key_source_kind *ret,
                            const char **ret_what);
/* Whether it is fit for a header: NULL, or why not. */
const char *key_value_judge(const char *value);
/* How many bytes at its beginning say of which kind it is, and nothing else of it. */
size_t key_value_public(const char *value);
/* Whether a text has one of the keys of lines "NAME KEY" (NULL: there are none) in it. */
bool key_value_is_in(const char *lines, const char *text);
/* What the command gets in the place of the key of that name: with the beginning by which programs know such
 * a key, and nothing of this one.  The caller frees it, NULL for want of memory. */
char *key_placeholder(const char *name);
