/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/str.c: buffers, vectors, and text made fit for a terminal and a shell. */
#include "base/str.h"

#include "scratch.h"

TEST(a_buffer_keeps_what_was_added) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;

        for (int i = 0; i < 10000; i++) {
                strbuf_add(&b, "ab");
                strbuf_add_bytes(&b, "cde", 1);
                strbuf_addf(&b, "%04d", i);
        }
        text = strbuf_finish(&b);
        assert_non_null(text);
        assert_int_equal(strlen(text), 70000);
        assert_memory_equal(text, "abc0000abc0001", 14);
        assert_string_equal(text + 70000 - 7, "abc9999");
        assert_null(b.text);
}

TEST(an_empty_buffer_is_an_empty_text) {
        struct strbuf b = {0};
        _cleanup_free_ char *text = strbuf_finish(&b);

        assert_string_equal(text, "");
}

TEST(a_failed_buffer_stays_failed) {
        struct strbuf b = {0};

        strbuf_add(&b, "one");
        strbuf_add_bytes(&b, "x", SIZE_MAX / 2); /* more than there is */
        assert_true(b.has_failed);
        strbuf_add(&b, "two");
        strbuf_addf(&b, "%d", 3);
        assert_null(strbuf_finish(&b));
        assert_false(b.has_failed);
}

TEST(a_vector_keeps_order_and_owns_copies) {
        _cleanup_strv_ char **v = NULL, **copy = NULL, **nothing = NULL;
        char word[] = "one";

        assert_int_equal(strv_length(NULL), 0);
        assert_false(strv_contains(NULL, "one"));
        assert_int_equal(strv_add(&v, word), 0);
        word[0] = 'X';
        assert_int_equal(strv_consume(&v, strdup("two")), 0);
        assert_int_equal(strv_consume(&v, NULL), -ENOMEM);
        assert_int_equal(strv_length(v), 2);
        assert_string_equal(v[0], "one");
        assert_true(strv_contains(v, "two"));
        assert_false(strv_contains(v, "tw"));

        assert_int_equal(strv_copy(v, &copy), 0);
        assert_int_equal(strv_length(copy), 2);
        assert_string_equal(copy[1], "two");
        assert_ptr_not_equal(copy[1], v[1]);
        assert_int_equal(strv_copy(NULL, &nothing), 0);
        assert_null(nothing);
}

TEST(what_draws_on_a_terminal_is_spelled_out) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"", ""},
                {"plain path/with spaces", "plain path/with spaces"},
                {"\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m"},
                {"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
                {"bell\a del\x7f", "bell\\x07 del\\x7f"},
                {"caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\xa6\x80", "caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\xa6\x80"},
                {"csi \xc2\x9b", "csi \\xc2\\x9b"}, /* C1 */
                {"latin\xe9", "latin\\xe9"},        /* not UTF-8 */
                {"\xc0\xaf", "\\xc0\\xaf"},         /* '/' spelled too long */
                {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
                {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
                {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* a surrogate */
                {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* past the last */
                {"\xff\xfe", "\\xff\\xfe"},
                {"cut\xe6\xbc", "cut\\xe6\\xbc"},
                {"cut\xf0\x9f\xa6", "cut\\xf0\\x9f\\xa6"},
                {"txt\xe2\x80\xaegpj", "txt\\xe2\\x80\\xaegpj"}, /* right-to-left override */
                {"a\xe2\x80\x8b"
                 "b",
                 "a\\xe2\\x80\\x8bb"},                              /* zero width space */
                {"\xef\xbb\xbfx", "\\xef\\xbb\\xbfx"},              /* byte order mark */
                {"tag\xf3\xa0\x81\x81", "tag\\xf3\\xa0\\x81\\x81"}, /* U+E0041 */
                {"nbsp\xc2\xa0", "nbsp\\xc2\\xa0"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *out = str_visible(cases[i].in);

                assert_string_equal(out, cases[i].out);
        }
}

/* What `sh -c "printf %s QUOTED"` prints. */
static void assert_shell_reads(const char *text) {
        _cleanup_free_ char *quoted = str_shell_quote(text), *command = NULL;
        char got[1024] = "";
        size_t n;
        FILE *f;

        assert_non_null(quoted);
        assert_true(asprintf(&command, "printf %%s %s", quoted) > 0);
        f = popen(command, "re");
        assert_non_null(f);
        n = fread(got, 1, sizeof(got) - 1, f);
        assert_int_equal(pclose(f), 0);
        assert_int_equal(n, strlen(text));
        assert_memory_equal(got, text, n);
}

TEST(a_shell_reads_back_what_was_quoted) {
        static const char *const cases[] = {
                "",       "a",   "two words", "it's",  "'",  "''",  "$HOME", "`id`",         "a\\b",
                "a\nb",   "*",   "~",         "~root", "#x", "a;b", "a&b",   "x=y",          "--x=y z",
                "--x=$y", "(a)", "{a,b}",     "a\tb",  "!",  "\"",  "-",     "\xff\xfe\x01",
        };
        char bytes[2] = "";

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_shell_reads(cases[i]);
        for (int c = 1; c < 256; c++) {
                bytes[0] = (char)c;
                assert_shell_reads(bytes);
        }
}

TEST(plain_words_stay_bare) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"/usr/bin/make", "/usr/bin/make"},
                {"--size=1G", "--size=1G"},
                {"A=b", "'A=b'"}, /* would be an assignment */
                {"", "''"},
                {"it's", "'it'\\''s'"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *out = str_shell_quote(cases[i].in);

                assert_string_equal(out, cases[i].out);
        }
}

int main(void) {
        return run_all_tests();
}
