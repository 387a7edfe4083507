/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream of stream.h, over fopencookie(3). */
#include "stream.h"

#include <fcntl.h>
#include <unistd.h>

#include "file.h"
#include "str.h"

/* A terminal, and the beginning of a UTF-8 character whose other bytes come with the next write. */
struct visible_stream {
        int fd;
        char part[4];
        size_t n_part;
};

/* How many bytes at the end of s[n] begin a UTF-8 character that needs more than there are. */
static size_t stream_unfinished(const char *s, size_t n) {
        for (size_t back = 1; back <= 3 && back <= n; back++) {
                unsigned char c = (unsigned char)s[n - back];

                if ((c & 0xc0) == 0x80)
                        continue;
                return c >= 0xc0 && back < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? back : 0;
        }
        return 0;
}

static int stream_write_text(int fd, const char *bytes, size_t n) {
        _cleanup_free_ char *text = strndup(bytes, n), *visible = text ? str_visible_text(text) : NULL;

        return visible ? write_full(fd, visible, strlen(visible)) : -ENOMEM;
}

/* Cuts the bytes at NULs, which no text has: each is shown as one more invisible byte. */
static int write_all_visible(int fd, const char *bytes, size_t n) {
        int r = 0;

        while (n > 0 && r >= 0) {
                size_t length = strnlen(bytes, n);

                r = stream_write_text(fd, bytes, length);
                if (r >= 0 && length < n) {
                        r = write_full(fd, "\\x00", 4);
                        length++;
                }
                bytes += length;
                n -= length;
        }
        return r;
}

static ssize_t visible_stream_write(void *cookie, const char *bytes, size_t n) {
        struct visible_stream *v = cookie;
        _cleanup_free_ char *all = malloc(v->n_part + n);
        size_t length = v->n_part + n, rest;
        int r;

        if (!all) {
                errno = ENOMEM;
                return 0;
        }
        memcpy(all, v->part, v->n_part);
        memcpy(all + v->n_part, bytes, n);
        rest = stream_unfinished(all, length);
        r = write_all_visible(v->fd, all, length - rest);
        if (r < 0) {
                errno = -r;
                return 0;
        }
        memcpy(v->part, all + length - rest, rest);
        v->n_part = rest;
        return (ssize_t)n;
}

static int visible_stream_close(void *cookie) {
        struct visible_stream *v = cookie;
        int r = write_all_visible(v->fd, v->part, v->n_part);

        (void)close(v->fd);
        free(v);
        if (r < 0)
                errno = -r;
        return r < 0 ? -1 : 0;
}

int stream_open(int fd, FILE **ret) {
        _cleanup_close_ int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        const cookie_io_functions_t functions = {.write = visible_stream_write,
                                                 .close = visible_stream_close};
        struct visible_stream *v;
        FILE *stream;

        if (copy < 0)
                return -errno;
        if (!isatty(copy)) {
                stream = fdopen(copy, "w");
                if (!stream)
                        return -errno;
                TAKE_FD(copy);
                *ret = stream;
                return 0;
        }
        v = calloc(1, sizeof(*v));
        if (!v)
                return -ENOMEM;
        v->fd = copy;
        stream = fopencookie(v, "w", functions);
        if (!stream) {
                free(v);
                return -ENOMEM;
        }
        TAKE_FD(copy);
        *ret = stream;
        return 0;
}
