/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frame.h"

#include <errno.h>

enum {
        ODD = 0x70,
        MASKED = 0x80,
        FINAL = 0x80,
        CONTROL = 0x08,
        KIND = 0x07,
        LENGTH = 0x7f
};

/* 126 and 127 in the place of a length: two or eight bytes with it follow. */
static size_t frame_head_size(const struct frame *f) {
        unsigned length = f->n_head < 2 ? 0 : f->head[1] & LENGTH;

        return length < 126 ? 2 : length == 126 ? 4 : 10;
}

static int frame_begin(struct frame *f) {
        uint64_t length = f->head[1] & LENGTH;

        f->is_control = f->head[0] & CONTROL;
        if ((f->head[0] & ODD) || (f->head[0] & KIND) > 2 || (f->head[1] & MASKED) ||
            (f->is_control && (length > 125 || !(f->head[0] & FINAL))))
                return -EBADMSG;
        if (length >= 126)
                length = 0;
        for (size_t i = 2; i < f->n_head; i++)
                length = length << 8 | f->head[i];
        f->left = length;
        f->n_head = 0;
        return length >> 63 ? -EBADMSG : 0;
}

int frame_take(struct frame *f, const char *bytes, size_t n, size_t *ret_n) {
        size_t taken = 0;

        if (f->left > 0) {
                *ret_n = n < f->left ? n : (size_t)f->left;
                f->left -= *ret_n;
                return 0;
        }
        while (taken < n && f->n_head < frame_head_size(f))
                f->head[f->n_head++] = (unsigned char)bytes[taken++];
        *ret_n = taken;
        return f->n_head == frame_head_size(f) ? frame_begin(f) : 0;
}
