/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the queries that a sandbox sends to its name server: what is read is in bounds and a host's name,
 * and the answer fits. */
#include "fuzz.h"

#include "net/layout.h"
#include "net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        static const char in_names[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
        const struct net_address v4 = net_index_address(16, false), v6 = net_index_address(16, true);
        /* Their exact size, so that a byte too far is seen. */
        uint8_t *bytes = malloc(n ? n : 1), *to = malloc(DNS_ANSWER_MOST);
        struct dns_query query;
        int code;

        if (!bytes || !to)
                abort();
        if (n > 0)
                memcpy(bytes, input, n);
        code = dns_read_query(bytes, n, &query);
        CHECK(code == -EBADMSG || (code >= DNS_OK && code <= DNS_UNKNOWN));
        if (code >= 0) {
                size_t length = dns_write_answer(bytes, &query, (enum dns_code)code, &v4, &v6, to);

                CHECK(length >= 12 && length <= DNS_ANSWER_MOST && query.question_end <= n);
                /* strlen(3) is known by the compiler to end within the array. */
                CHECK(memchr(query.name, '\0', sizeof(query.name)));
                CHECK(strspn(query.name, in_names) == strlen(query.name));
        }
        free(to);
        free(bytes);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
/* A head, labels that are nearly right, a type and a class. */
static size_t make_input(uint8_t *to, size_t size) {
        size_t n = 12;

        if (size < 4096)
                return 0;
        memset(to, 0, n);
        to[2] = (uint8_t)(draw(8) ? 1 : draw(256));
        to[5] = (uint8_t)(draw(8) ? 1 : draw(4));
        for (uint64_t labels = draw(draw(8) ? 6 : 40); labels > 0; labels--) {
                size_t length = draw(8) ? 1 + draw(20) : draw(256);

                /* As long as a name may be, and longer. */
                if (n > 200 && draw(2))
                        length = 12 + NET_NAME_MOST - n + draw(3);
                to[n++] = (uint8_t)length;
                for (size_t i = 0; i < length % 64; i++)
                        to[n++] = (uint8_t)(draw(20) ? 'a' + draw(26) : draw(256));
        }
        to[n++] = 0;
        for (size_t i = 0; i < 4; i++)
                to[n++] = (uint8_t)(i % 2 ? draw(4) ? 1 : draw(256) : 0);
        return draw(4) ? n : draw(n);
}
#endif
