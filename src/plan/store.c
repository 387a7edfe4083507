/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* store.h's few forms: numbers of eight bytes, and a length before whatever has one. */
#include "store.h"

struct store store_reader(const void *bytes, size_t n) {
        return (struct store){.is_reading = true, .from = bytes, .n = n};
}

void store_clear(struct store *s) {
        strbuf_clear(&s->written);
}

/* Copies n bytes from the text to `value`, or from `value` to the text, as the store reads or writes. */
static void store_copy(struct store *s, void *value, size_t n) {
        if (!s->is_reading) {
                strbuf_add_bytes(&s->written, value, n);
                s->has_failed |= s->written.has_failed;
                return;
        }
        if (s->n < n || s->is_broken) {
                s->is_broken = true;
                return;
        }
        memcpy(value, s->from, n);
        s->from += n;
        s->n -= n;
}

void store_u64(struct store *s, uint64_t *value) {
        store_copy(s, value, sizeof(*value));
}

void store_bool(struct store *s, bool *value) {
        uint64_t number = *value;

        store_u64(s, &number);
        if (number > 1)
                s->is_broken = true;
        else if (s->is_reading)
                *value = number;
}

void store_string(struct store *s, char **text) {
        uint64_t n = s->is_reading || !*text ? UINT64_MAX : strlen(*text);
        char *copied;

        store_u64(s, &n);
        if (n == UINT64_MAX || s->is_broken)
                return;
        if (!s->is_reading) {
                store_copy(s, *text, n);
                return;
        }
        if (n > s->n || memchr(s->from, '\0', n)) {
                s->is_broken = true;
                return;
        }
        copied = malloc(n + 1);
        if (!copied) {
                s->has_failed = true;
                return;
        }
        store_copy(s, copied, n);
        copied[n] = '\0';
        free(*text);
        *text = copied;
}

void store_strv(struct store *s, char ***strings) {
        uint64_t n = strv_length(*strings);
        _cleanup_strv_ char **read = NULL;

        store_u64(s, &n);
        if (!s->is_reading) {
                STRV_FOREACH (string, *strings)
                        store_string(s, (char **)(uintptr_t)string);
                return;
        }
        if (n == 0 || s->is_broken)
                return;
        if (n > s->n / sizeof(n) || !(read = calloc(n + 1, sizeof(*read)))) {
                *(n > s->n / sizeof(n) ? &s->is_broken : &s->has_failed) = true;
                return;
        }
        for (uint64_t i = 0; i < n && !s->is_broken && !s->has_failed; i++) {
                store_string(s, &read[i]);
                s->is_broken |= !read[i];
        }
        *strings = TAKE_PTR(read);
}

void store_array(struct store *s, void **items, size_t *n, size_t size) {
        uint64_t count = *n;
        void *read;

        store_u64(s, &count);
        if (!s->is_reading) {
                if (count > 0)
                        store_copy(s, *items, count * size);
                return;
        }
        if (count == 0 || s->is_broken)
                return;
        if (count > s->n / size) {
                s->is_broken = true;
                return;
        }
        read = malloc(count * size);
        if (!read) {
                s->has_failed = true;
                return;
        }
        store_copy(s, read, count * size);
        *items = read;
        *n = count;
}

int store_result(const struct store *s) {
        if (s->has_failed)
                return -ENOMEM;
        return s->is_broken || (s->is_reading && s->n > 0) ? -EBADMSG : 0;
}
