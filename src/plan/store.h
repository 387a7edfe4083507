/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Structures as bytes and back, for files and pipes between programs of one version of
 * nsrun: one description of a structure, store_*() calls in a row, writes it or reads
 * it.  No format for others: that is JSON's. */
#pragma once

#include "base/str.h"

struct store {
        bool is_reading;
        struct strbuf written;
        const char *from; /* what is left to be read */
        size_t n;
        bool is_broken;  /* what is read ends early or makes no sense; sticks */
        bool has_failed; /* no memory; sticks */
};

struct store store_reader(const void *bytes, size_t n);
/* A writer is an empty struct store. */
void store_clear(struct store *s);
#define _cleanup_store_ _cleanup_(store_clear)

void store_u64(struct store *s, uint64_t *value);
void store_bool(struct store *s, bool *value);
/* NULL stays NULL.  Read strings are the caller's. */
void store_string(struct store *s, char **text);
void store_strv(struct store *s, char ***strings);
/* `size` bytes each. */
void store_array(struct store *s, void **items, size_t *n, size_t size);
/* A number of any integer type, stored as 64 bits. */
#define STORE_NUMBER(s, lvalue)                                      \
        do {                                                         \
                uint64_t store_value_ = (uint64_t)(lvalue);          \
                store_u64((s), &store_value_);                       \
                if ((s)->is_reading)                                 \
                        (lvalue) = (__typeof__(lvalue))store_value_; \
        } while (0)

/* 0; -ENOMEM; -EBADMSG: what was read is broken, or more follows. */
int store_result(const struct store *s);
