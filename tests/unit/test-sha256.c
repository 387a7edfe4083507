/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* seccomp/sha256.c: the examples that NIST publishes for FIPS 180-4, whole and in
 * pieces, and parts that can't run into one another. */
#include "scratch.h"

#include "seccomp/sha256.h"

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

static void the_published_examples_come_out(void **state nsrun_unused) {
        for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
                unsigned char digest[SHA256_SIZE];
                char text[2 * SHA256_SIZE + 1];
                struct sha256 s;

                sha256_begin(&s);
                for (size_t n = 0; n < examples[i].times; n++)
                        sha256_add(&s, examples[i].text, strlen(examples[i].text));
                sha256_end(&s, digest);
                sha256_format(digest, text);
                assert_string_equal(text, examples[i].digest);
        }
}

/* Whatever the pieces, and past every boundary of a block. */
static void pieces_make_the_same_digest(void **state nsrun_unused) {
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

static void parts_do_not_run_into_one_another(void **state nsrun_unused) {
        unsigned char one[SHA256_SIZE], other[SHA256_SIZE];
        struct sha256 s;

        sha256_begin(&s);
        sha256_add_part(&s, "ab", 2);
        sha256_add_part(&s, "c", 1);
        sha256_end(&s, one);
        sha256_begin(&s);
        sha256_add_part(&s, "a", 1);
        sha256_add_part(&s, "bc", 2);
        sha256_end(&s, other);
        assert_memory_not_equal(one, other, SHA256_SIZE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_published_examples_come_out),
                cmocka_unit_test(pieces_make_the_same_digest),
                cmocka_unit_test(parts_do_not_run_into_one_another),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
