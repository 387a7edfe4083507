/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the head and the tail of an output of any length. */
#include "capture.h"

#include <inttypes.h>

void capture_add(struct capture *c, const char *bytes, size_t n) {
        size_t at, part;

        if (c->total < CAPTURE_HEAD) {
                part = CAPTURE_HEAD - (size_t)c->total;
                if (part > n)
                        part = n;
                memcpy(c->head + c->total, bytes, part);
                c->total += part;
                bytes += part;
                n -= part;
        }
        /* Only the end of a chunk that is longer than the ring can stay in it. */
        if (n > CAPTURE_TAIL) {
                c->total += n - CAPTURE_TAIL;
                bytes += n - CAPTURE_TAIL;
                n = CAPTURE_TAIL;
        }
        if (n == 0)
                return;
        at = (size_t)((c->total - CAPTURE_HEAD) % CAPTURE_TAIL);
        part = CAPTURE_TAIL - at < n ? CAPTURE_TAIL - at : n;
        memcpy(c->tail + at, bytes, part);
        memcpy(c->tail, bytes + part, n - part);
        c->total += n;
}

static bool continues(char byte) {
        return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t capture_unfinished(const char *text, size_t n) {
        for (size_t back = 1; back <= 3 && back <= n; back++) {
                unsigned char byte = (unsigned char)text[n - back];
                size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

                if (!continues(text[n - back]))
                        return length > back ? back : 0;
        }
        return 0;
}

/* Copies the ring's content from its oldest byte on.  A ring that was never full begins at its
 * first byte. */
static void unroll(const struct capture *c, char *to, size_t n) {
        size_t at = (size_t)((c->total - CAPTURE_HEAD) % CAPTURE_TAIL);

        if (n < CAPTURE_TAIL)
                at = 0;
        memcpy(to, c->tail + at, n - at);
        memcpy(to + n - at, c->tail, at);
}

int capture_finish(const struct capture *c, char **ret, size_t *ret_size, uint64_t *ret_omitted) {
        size_t head = c->total < CAPTURE_HEAD ? (size_t)c->total : CAPTURE_HEAD;
        size_t tail = c->total - head < CAPTURE_TAIL ? (size_t)(c->total - head) : CAPTURE_TAIL;
        uint64_t omitted = c->total - head - tail;
        char marker[96] = "", rest[CAPTURE_TAIL];
        size_t skip = 0, marked;
        char *text;

        unroll(c, rest, tail);
        if (omitted > 0) {
                size_t cut = capture_unfinished(c->head, head);

                while (skip < 3 && skip < tail && continues(rest[skip]))
                        skip++;
                head -= cut;
                omitted += cut + skip;
                (void)snprintf(marker, sizeof(marker),
                               "\n... [%" PRIu64 " bytes omitted, %" PRIu64 " bytes total] ...\n", omitted,
                               c->total);
        }
        marked = strlen(marker);
        text = malloc(head + marked + (tail - skip) + 1);
        if (!text)
                return -ENOMEM;
        memcpy(text, c->head, head);
        memcpy(text + head, marker, marked);
        memcpy(text + head + marked, rest + skip, tail - skip);
        *ret = text;
        *ret_size = head + marked + (tail - skip);
        text[*ret_size] = '\0';
        *ret_omitted = omitted;
        return 0;
}
