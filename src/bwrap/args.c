/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words from argv or from a descriptor's NUL-separated data, without a limit on their number:
 * no vector is made of the data. */
#include "args.h"

#include "base/sys.h"

const char *bwrap_args_peek(const struct bwrap_args *args) {
        if (args->words)
                return *args->words;
        return args->data < args->end ? args->data : NULL;
}

const char *bwrap_args_take(struct bwrap_args *args) {
        const char *word = bwrap_args_peek(args);

        if (!word)
                return NULL;
        if (args->words)
                args->words++;
        else
                args->data += strlen(word) + 1;
        return word;
}

int bwrap_args_read(int fd, char **ret, size_t *ret_n) {
        _cleanup_strbuf_ struct strbuf b = {0};
        char chunk[16384];
        ssize_t r;
        size_t n;
        char *data;

        for (;;) {
                r = sys_read(fd, chunk, sizeof(chunk));
                if (r <= 0)
                        break;
                if ((size_t)r > BWRAP_MOST_DATA - b.length) {
                        r = -EFBIG;
                        break;
                }
                strbuf_add_bytes(&b, chunk, (size_t)r);
        }
        (void)sys_close(fd);
        if (r < 0)
                return (int)r;
        n = b.length;
        data = strbuf_finish(&b);
        if (!data)
                return -ENOMEM;
        *ret = data;
        *ret_n = n;
        return 0;
}
