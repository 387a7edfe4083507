/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strings: a growing buffer, NULL-terminated vectors, and the one function that
 * makes untrusted bytes fit to print. */
#pragma once

#include "macro.h"

/* A growing text.  An allocation failure sticks: further appends do nothing and
 * strbuf_finish() returns NULL.  Zero-initialise it. */
struct strbuf {
        char *text;
        size_t length;
        size_t capacity;
        bool has_failed;
};

/* Room for n bytes more, which is had as it is needed: to be told spares copies. */
bool strbuf_reserve(struct strbuf *b, size_t n);
void strbuf_add(struct strbuf *b, const char *text);
void strbuf_add_bytes(struct strbuf *b, const char *bytes, size_t n);
void strbuf_addf(struct strbuf *b, const char *format, ...) nsrun_printf(2, 3);
/* The text, owned by the caller, or NULL for want of memory.  Empties b. */
char *strbuf_finish(struct strbuf *b);
void strbuf_clear(struct strbuf *b);
#define _cleanup_strbuf_ _cleanup_(strbuf_clear)

/* The three in one, and what printf(3) makes of a format, for the caller to free; NULL for want of memory.
 */
char *str_concat(const char *a, const char *b, const char *c);
char *str_format(const char *format, ...) nsrun_printf(1, 2);

/* Frees a text that is or has a secret, and leaves nothing of it. */
void secret_forget(char **text);
#define _cleanup_secret_ _cleanup_(secret_forget)

/* Whether `s` is one of n. */
bool str_is_any(const char *s, const char *const *all, size_t n);
#define STR_IS_ANY(s, all) str_is_any((s), (all), ARRAY_SIZE(all))

/* NULL-terminated vectors of owned strings.  NULL is the empty one. */
/* Tells each on standard error: "nsrun: KIND: …". */
void strv_tell(char *const *v, const char *kind);
size_t strv_length(char *const *v);
bool strv_contains(char *const *v, const char *s);
/* Appends a copy; -ENOMEM leaves *v as it was. */
int strv_add(char ***v, const char *s);
/* Appends s itself, and frees it when that fails. */
int strv_consume(char ***v, char *s);
int strv_copy(char *const *v, char ***ret);
/* Of two pointers to strings, for qsort(3) and bsearch(3). */
int str_compare(const void *a, const void *b);
/* Sorts n strings by their bytes; `v` may be NULL where n is 0. */
void strv_sort(char **v, size_t n);
/* The first of n sorted strings that doesn't come before `key`; NULL: all do. */
const char *str_first_from(const char *const *sorted, size_t n, const char *key,
                           int (*compare)(const char *a, const char *b));
void strv_free(char **v);
void strv_freep(char ***v);
#define _cleanup_strv_     _cleanup_(strv_freep)
#define STRV_FOREACH(s, v) for (char *const *s = (v); s && *s; s++)

/* The value of `name` in a vector of "NAME=VALUE", or NULL. */
const char *environment_get(char *const *environment, const char *name);

/* A copy in which every control byte, ESC sequence and invalid or invisible
 * UTF-8 character is spelled \xNN, so that a path can't draw on a terminal. */
char *str_visible(const char *s);

/* The value of a hexadecimal digit; -1: it is none. */
int str_hex_digit(char c);
/* Writes 2 * n of them, and a NUL. */
void str_hex(const unsigned char *bytes, size_t n, char *to);

/* A whole number; with `has_suffix` K, M, G or T (powers of 1024, small letters too) may follow it.
 * -EINVAL: it is none; -ERANGE: it is above INT64_MAX. */
int str_parse_number(const char *s, bool has_suffix, uint64_t *ret);

/* The same for a text of several lines: newlines and tabs stay. */
char *str_visible_text(const char *s);
/* The same of bytes[n], behind which a NUL stands: each NUL among them is spelled, too. */
char *str_visible_bytes(const char *bytes, size_t n);

/* Whether it has what fnmatch(3) takes for more than itself. */
bool str_is_pattern(const char *s);

/* A copy quoted for a POSIX shell, bare where nothing needs it. */
char *str_shell_quote(const char *s);
