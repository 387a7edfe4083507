/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/sha256.c: the examples that NIST publishes for FIPS 180-4, whole and in
 * pieces. */
#include "scratch.h"

#include "base/sha256.h"

static const struct {
        const char *text;
        size_t times;
        const char *digest;
} examples[] = {
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnop"
         "qrstnopqrstu",
         1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

TEST(the_published_examples_come_out) {
        for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
                unsigned char digest[SHA256_SIZE];
                char text[2 * SHA256_SIZE + 1];
                struct sha256 s;

                sha256_begin(&s);
                for (size_t n = 0; n < examples[i].times; n++)
                        sha256_add(&s, examples[i].text, strlen(examples[i].text));
                sha256_end(&s, digest);
                for (size_t n = 0; n < SHA256_SIZE; n++)
                        (void)snprintf(text + 2 * n, 3, "%02x", digest[n]);
                assert_string_equal(text, examples[i].digest);
        }
}

/* Whatever the pieces, and past every boundary of a block. */
TEST(pieces_make_the_same_digest) {
        unsigned char bytes[300], whole[SHA256_SIZE], pieces[SHA256_SIZE];

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (unsigned char)(i * 7);
        for (size_t length = 0; length <= sizeof(bytes); length++)
                for (size_t piece = 1; piece <= 65; piece++) {
                        struct sha256 s;

                        sha256_begin(&s);
                        sha256_add(&s, bytes, length);
                        sha256_end(&s, whole);
                        sha256_begin(&s);
                        for (size_t at = 0; at < length; at += piece)
                                sha256_add(&s, bytes + at, length - at < piece ? length - at : piece);
                        sha256_end(&s, pieces);
                        assert_memory_equal(whole, pieces, SHA256_SIZE);
                }
}

int main(void) {
        return run_all_tests();
}
