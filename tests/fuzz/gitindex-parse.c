/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes git's index: bytes are parsed, and the paths that are found are paths. */
#include "fuzz.h"

#include "host/gitindex.h"

static int check_path(void *data, const char *path, nsrun_unused bool is_repository) {
        CHECK(*path);
        return ++*(int *)data > 10000 ? 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        /* Its exact size, so that a byte too far is seen. */
        unsigned char *bytes = malloc(n ? n : 1);
        char shared[GITINDEX_SHARED_SIZE];
        int seen = 0, r;

        if (!bytes)
                return 0;
        if (n > 0)
                memcpy(bytes, input, n);
        r = gitindex_parse(bytes, n, check_path, &seen, shared);
        CHECK(r == 0 || r == 1 || r == -EBADMSG);
        CHECK(r != -EBADMSG || seen == 0);
        free(bytes);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
/* A header, entries that are nearly right, and what is left of a hash. */
static size_t make_input(uint8_t *to, size_t size) {
        static const uint8_t header[] = {'D', 'I', 'R', 'C', 0, 0, 0, 0, 0, 0, 0};
        size_t n = sizeof(header), n_entries = draw(4);

        if (size < 1024)
                return 0;
        memcpy(to, header, n);
        to[7] = (uint8_t)(2 + draw(3));
        to[n++] = (uint8_t)(draw(8) ? n_entries : draw(256));
        for (size_t i = 0; i < n_entries; i++) {
                size_t start = n, length = 1 + draw(20);

                memset(to + n, 0, 62);
                to[n + 26] = draw(2) ? 0xe0 : 0x81;
                to[n + 60] = draw(8) ? 0 : 0x40;
                n += 62;
                if (to[7] == 4)
                        to[n++] = (uint8_t)(draw(8) ? 0 : draw(256));
                memset(to + n, 'a' + (int)i, length);
                n += length;
                to[n++] = 0;
                while (to[7] != 4 && (n - start) % 8)
                        to[n++] = 0;
        }
        memset(to + n, 7, 20);
        n += 20;
        if (draw(4) == 0)
                to[draw(n)] = (uint8_t)draw(256);
        return draw(4) ? n : draw(n);
}
#endif
