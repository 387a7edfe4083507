/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes what a sandbox sends to the SSH agent's filter, and what an agent answers: what is read is in
 * bounds, a filtered list is no longer than the whole and is a list itself, and a comment is fit to print.
 */
#include "fuzz.h"

#include "desktop/ssh.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        char one[] = "one", *wanted[] = {one, NULL}, shown[SSH_SHOWN_MOST + 1];
        /* Their exact size, so that a byte too far is seen. */
        uint8_t *bytes = malloc(n), *to = malloc(n);
        struct ssh_bytes key = {NULL, 0};
        size_t length = 0;

        if (n == 0) {
                free(bytes);
                free(to);
                return 0;
        }
        if (!bytes || !to)
                abort();
        memcpy(bytes, input, n);
        if (ssh_read_request(bytes, n, &key) == SSH_WANTS_SIGNATURE)
                CHECK(key.at >= bytes && key.n <= n - (size_t)(key.at - bytes));
        if (ssh_filter_keys(wanted, bytes, n, to, &length) >= 0) {
                CHECK(length >= 5 && length <= n);
                CHECK(ssh_find_missing(NULL, to, length) == -1);
        }
        key = (struct ssh_bytes){bytes, n < 3 ? n : 3};
        if (ssh_has_key(NULL, bytes, n, key, shown))
                CHECK(strlen(shown) <= SSH_SHOWN_MOST && !strchr(shown, '\x1b'));
        (void)ssh_find_missing(wanted, bytes, n);
        free(to);
        free(bytes);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
/* A type, a number of keys, and strings whose lengths are nearly right. */
static size_t make_input(uint8_t *to, size_t size) {
        size_t n = 0;

        if (size < 4096)
                return 0;
        to[n++] = (uint8_t)(draw(4) ? 11 + draw(3) : draw(256));
        if (draw(2)) {
                memset(to + n, 0, 4);
                n += 4;
                to[n - 1] = (uint8_t)draw(6);
        }
        for (uint64_t strings = draw(10); strings > 0; strings--) {
                size_t length = draw(6) ? 3 : draw(100);

                memset(to + n, draw(20) ? 0 : 255, 4);
                n += 4;
                to[n - 1] = (uint8_t)(draw(8) ? length : draw(256));
                for (size_t i = 0; i < length; i++)
                        to[n++] = (uint8_t)(draw(3) ? "one"[i % 3] : (char)draw(256));
        }
        memset(to + n, 0, 4);
        n += draw(6);
        return draw(4) ? n : draw(n);
}
#endif
