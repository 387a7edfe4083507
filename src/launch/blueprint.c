/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record for a launch's child, written: boundary/blueprint.c has its form. */
#include "boundary/members.h"
#include "child.h"

struct blueprint_writer {
        char *bytes;
        size_t n, room;
        size_t lists; /* bytes that what is written takes when it is opened */
        bool is_raw;
        bool is_too_large;
        bool has_failed;
};

static bool writer_reserve(struct blueprint_writer *w, size_t more) {
        size_t room = w->room > 0 ? w->room : 16384;
        char *bytes;

        w->is_too_large |= more > BLUEPRINT_MOST - w->n;
        if (w->has_failed || w->is_too_large)
                return false;
        while (room < w->n + more)
                room *= 2;
        if (room > w->room) {
                bytes = realloc(w->bytes, room);
                if (!bytes)
                        return !(w->has_failed = true);
                w->bytes = bytes;
                w->room = room;
        }
        return true;
}

static void writer_items(struct blueprint_writer *w, const void *items, size_t n) {
        if (n == 0 || !writer_reserve(w, n))
                return;
        memcpy(w->bytes + w->n, items, n);
        w->n += n;
}

static void writer_number(struct blueprint_writer *w, uint64_t n) {
        if (!writer_reserve(w, 10))
                return;
        for (; n >= 0x80; n >>= 7)
                w->bytes[w->n++] = (char)(n | 0x80);
        w->bytes[w->n++] = (char)n;
}

static void writer_bytes(struct blueprint_writer *w, const char *bytes, size_t n) {
        writer_number(w, bytes ? (uint64_t)n + 1 : 0);
        if (bytes) {
                writer_items(w, bytes, n);
                writer_items(w, "", 1);
        }
}

static void writer_text(struct blueprint_writer *w, const char *text) {
        writer_bytes(w, text, text ? strlen(text) : 0);
}

static void writer_texts(struct blueprint_writer *w, char *const *texts) {
        size_t n = texts ? strv_length(texts) + 1 : 0;

        writer_number(w, n);
        w->lists += blueprint_list_size(n, sizeof(*texts));
        STRV_FOREACH (text, texts)
                writer_text(w, *text);
}

static void writer_filters(struct blueprint_writer *w, const struct sock_fprog *filters, size_t n) {
        writer_number(w, n);
        w->lists += blueprint_list_size(n, sizeof(*filters));
        for (size_t i = 0; i < n; i++) {
                writer_number(w, filters[i].len);
                w->lists += blueprint_list_size(filters[i].len, sizeof(*filters[i].filter));
                writer_items(w, filters[i].filter, filters[i].len * sizeof(*filters[i].filter));
        }
}

#define WRITE_NUMBER(w, of, member)  writer_number(w, (uint64_t)(of)->member);
#define WRITE_BOOL(w, of, member)    writer_number(w, (of)->member);
#define WRITE_TEXT(w, of, member)    writer_text(w, (of)->member);
#define WRITE_BYTES(w, of, member)   writer_bytes(w, (of)->member, op_text_length(of, (w)->is_raw));
#define WRITE_TEXTS(w, of, member)   writer_texts(w, (of)->member);
#define WRITE_FILTERS(w, of, member) writer_filters(w, (of)->member, (of)->n_##member);
#define WRITE_ITEMS(w, of, member)                                                  \
        writer_number(w, (of)->n_##member);                                         \
        (w)->lists += blueprint_list_size((of)->n_##member, sizeof(*(of)->member)); \
        writer_items(w, (of)->member, (of)->n_##member * sizeof(*(of)->member));
#define WRITE_OPS(w, of, member) writer_ops(w, (of)->member, (of)->n_##member);
#define WRITE_NOTHING(w, of, member)
#define WRITE_STRUCT(w, of, member)
#define WRITE(kind, member)            WRITE_##kind(w, of, member)
#define WRITE_OP(kind, stored, member) WRITE_##kind(w, of, member)

static size_t op_text_length(const struct plan_op *op, bool is_raw) {
        return !op->text ? 0 : op_has_bytes(op, is_raw) ? op->size : strlen(op->text);
}

static void writer_op(struct blueprint_writer *w, const struct plan_op *of) {
        OP_MEMBERS(WRITE_OP)
}

static void writer_ops(struct blueprint_writer *w, const struct plan_op *ops, size_t n) {
        writer_number(w, n);
        w->lists += blueprint_list_size(n, sizeof(*ops));
        for (size_t i = 0; i < n; i++)
                writer_op(w, &ops[i]);
}

static void writer_members(struct blueprint_writer *w, const struct blueprint *of) {
        BLUEPRINT_MEMBERS(WRITE)
}

int blueprint_write(struct blueprint *b, char **ret, size_t *ret_n) {
        struct blueprint_writer w = {.is_raw = b->facts.life == BOUNDARY_RAW};

        writer_items(&w, &b->facts, sizeof(b->facts));
        writer_members(&w, b);
        if (w.has_failed || w.is_too_large) {
                free(w.bytes);
                return w.is_too_large ? -E2BIG : -ENOMEM;
        }
        b->facts.n_lists = w.lists;
        blueprint_settle(w.bytes, &b->facts);
        *ret = w.bytes;
        *ret_n = w.n;
        return 0;
}
