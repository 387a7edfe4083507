/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* keys/: what --key and --key-use say, which requests a use covers, and stars in the place of keys; frames
 * of WebSockets. */
#include "keys/frame.h"
#include "keys/mask.h"
#include "keys/use.h"

#include "base/str.h"

#include "../test.h"

TEST(a_use_is_read) {
        struct key_use use;

        assert_null(key_use_read("K=https://Api.Example.ORG", &use));
        assert_string_equal(use.name, "K");
        assert_string_equal(use.host, "api.example.org");
        assert_int_equal(use.port, 443);
        assert_string_equal(use.prefix, "");
        assert_int_equal(use.form, KEY_IN_HEADER);
        assert_string_equal(use.field, "Authorization");
        assert_string_equal(use.text, "Bearer *");
        assert_string_equal(use.variable, "");
        assert_false(use.is_git);

        assert_null(key_use_read("K_2=https://a.test:8443/v1/x/,header=X-Key: pre*post,variable=URL=a*b,git,"
                                 "methods=GET+HEAD",
                                 &use));
        assert_int_equal(use.port, 8443);
        assert_string_equal(use.prefix, "/v1/x");
        assert_string_equal(use.field, "X-Key");
        assert_string_equal(use.text, "pre*post");
        assert_string_equal(use.variable, "URL");
        assert_string_equal(use.pattern, "a*b");
        assert_string_equal(use.methods, "GET+HEAD");
        assert_true(use.is_git);

        assert_null(key_use_read("K=https://a.test,query=api_key", &use));
        assert_int_equal(use.form, KEY_IN_QUERY);
        assert_null(key_use_read("K=https://a.test,basic=", &use));
        assert_int_equal(use.form, KEY_IN_BASIC);
}

TEST(what_is_no_use_is_refused_with_a_reason) {
        static const struct {
                const char *text, *why;
        } cases[] = {
                {"", "not a key's name and ="},
                {"=https://a.test", "not a key's name and ="},
                {"1K=https://a.test", "not a key's name and ="},
                {"K-2=https://a.test", "not a key's name and ="},
                {"K=http://a.test", "not an https:// URL"},
                {"K=https://", "not a host's name"},
                {"K=https://u@a.test", "not a host's name"},
                {"K=https://127.0.0.1", "neither a host's name nor an address"},
                {"K=https://a.test:0", "not a port"},
                {"K=https://a.test:443x", "not a path behind the host"},
                {"K=https://a.test/a b", "not a path of letters, digits and -._~/"},
                {"K=https://a.test/../b", "not a path of letters, digits and -._~/"},
                {"K=https://a.test/a?b", "not a path of letters, digits and -._~/"},
                {"K=https://a.test,", "not one of its fields"},
                {"K=https://a.test,header", "not one of its fields"},
                {"K=https://a.test,git=1", "not one of its fields"},
                {"K=https://a.test,Header=x: *", "not one of its fields"},
                {"K=https://a.test,header=x", "a header is NAME: TEXT"},
                {"K=https://a.test,header=: *", "a header is NAME: TEXT"},
                {"K=https://a.test,header=x y: *", "a header is NAME: TEXT"},
                {"K=https://a.test,header=x: y", "a header's text has one star, for the key"},
                {"K=https://a.test,header=x: **", "a header's text has one star, for the key"},
                {"K=https://a.test,header=x: *\r\nEvil: y", "a header's text has one star, for the key"},
                {"K=https://a.test,header=Content-Length: *", "that header isn't a key's"},
                {"K=https://a.test,header=x: *,basic=u", "a key goes in by one way"},
                {"K=https://a.test,query=", "not a field of a query"},
                {"K=https://a.test,query=a&b", "not a field of a query"},
                {"K=https://a.test,basic=a:b", "not a user's name"},
                {"K=https://a.test,variable=1", "not a variable's name"},
                {"K=https://a.test,variable=V=x", "a variable's value has one star, for the address"},
                {"K=https://a.test,methods=get", "methods are as in GET+HEAD"},
                {"K=https://a.test,methods=+GET", "methods are as in GET+HEAD"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct key_use use;
                const char *why = key_use_read(cases[i].text, &use);

                assert_non_null(why);
                assert_string_equal(why, cases[i].why);
        }
}

/* Each of nsrun's own reads, and says by which variable its programs are led or that git is. */
TEST(known_keys_have_uses) {
        static const char *const names[] = {
                "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
                "OPENAI_API_KEY",    "GEMINI_API_KEY",       "NPM_TOKEN",
                "GH_TOKEN",          "GITHUB_TOKEN",         "GITLAB_TOKEN"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *placeholder = key_placeholder(names[i]);
                size_t n = 0;

                for (const char *text; (text = key_use_known(names[i], n)); n++) {
                        struct key_use use;

                        assert_null(key_use_read(text, &use));
                        assert_string_equal(use.name, names[i]);
                        assert_true(use.is_git || use.variable[0]);
                }
                assert_true(n > 0);
                assert_null(key_value_judge(placeholder));
        }
        assert_null(key_use_known("GITHUB_TOKEN", 2));
        assert_null(key_use_known("GITHUB", 0));
}

TEST(a_source_is_read) {
        static const struct {
                const char *text, *why, *what;
                enum key_source_kind kind;
        } cases[] = {
                {"K", NULL, "K", KEY_OF_VARIABLE},
                {"K=env:OTHER", NULL, "OTHER", KEY_OF_VARIABLE},
                {"K=file:/a b", NULL, "/a b", KEY_OF_FILE},
                {"K=file:~/a", NULL, "~/a", KEY_OF_FILE},
                {"K=command:a=b c", NULL, "a=b c", KEY_OF_COMMAND},
                {"", "not a key's name", NULL, KEY_OF_VARIABLE},
                {"a.b", "not a key's name", NULL, KEY_OF_VARIABLE},
                {"K=", "its source is none of env:NAME, file:PATH and command:TEXT", NULL, KEY_OF_VARIABLE},
                {"K=secret", "its source is none of env:NAME, file:PATH and command:TEXT", NULL,
                 KEY_OF_VARIABLE},
                {"K=env:", "nothing behind its source's word", NULL, KEY_OF_VARIABLE},
                {"K=file:a", "a file's path is absolute, or below ~/", NULL, KEY_OF_VARIABLE},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char name[KEY_NAME_MOST + 1];
                enum key_source_kind kind;
                const char *what, *why = key_source_read(cases[i].text, name, &kind, &what);

                if (cases[i].why) {
                        assert_string_equal(why, cases[i].why);
                        continue;
                }
                assert_null(why);
                assert_string_equal(name, "K");
                assert_int_equal(kind, cases[i].kind);
                assert_string_equal(what, cases[i].what);
        }
}

static char *masked(const struct mask *m, const char *text, size_t size) {
        struct mask_held held = {.n = 0};
        _cleanup_strbuf_ struct strbuf b = {0};
        size_t length = strlen(text), n;

        for (size_t at = 0; at <= length; at += size) {
                /* The last is empty: there is no more. */
                size_t part = at + size <= length ? size : length - at;
                _cleanup_free_ char *passed = part > 0 ? mask_feed(m, &held, text + at, part, &n) : NULL;

                if (passed)
                        strbuf_add_bytes(&b, passed, n);
        }
        {
                _cleanup_free_ char *rest = mask_feed(m, &held, NULL, 0, &n);

                strbuf_add_bytes(&b, rest, n);
        }
        mask_held_clear(&held);
        return strbuf_finish(&b);
}

/* However a stream is cut. */
TEST(stars_stand_where_a_key_was) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"abcabcabd!", "abc******!"},
                {"abcabd", "******"},
                {"abcab", "abcab"},
                {"xxabcabdabcabdyy", "xx************yy"},
                {"aabcabd", "a******"},
                {"abcabcab", "abcabcab"},
                {"YWJjYWJk and abcabd", "******** and ******"},
                {"", ""},
                {"YWJjYWJ", "YWJjYWJ"},
        };
        struct mask m = {.n = 0};

        assert_int_equal(mask_add(&m, strdup("abcabd"), 0), 0);
        assert_int_equal(mask_add(&m, strdup("YWJjYWJk"), 0), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (size_t size = 1; size < 24; size++) {
                        _cleanup_free_ char *text = masked(&m, cases[i].in, size);

                        assert_string_equal(text, cases[i].out);
                }
        mask_clear(&m);
}

/* An answer's end that all keys of a kind begin with is no key's; a byte more may be. */
TEST(what_is_public_of_a_key_gets_no_stars) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"so is sk-ant-api03-", "so is sk-ant-api03-"},
                {"so is sk-ant-api03-A", "so is **************"},
                {"so is sk-ant-ap", "so is sk-ant-ap"},
                {"sk-ant-api03-AbCdEfGh", "*********************"},
                /* Of two spellings each has its own. */
                {"sk-ant-api03", "************"},
        };
        struct mask m = {.n = 0};

        assert_int_equal(key_value_public("sk-ant-api03-AbCdEfGh"), 13);
        assert_int_equal(key_value_public("sk-AbCdEfGh"), 3);
        assert_int_equal(key_value_public("AbCdEfGhsk-ant-api03-"), 0);
        assert_int_equal(mask_add(&m, strdup("sk-ant-api03-AbCdEfGh"), 13), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (size_t size = 1; size < 24; size++) {
                        _cleanup_free_ char *text = NULL;

                        if (i == ARRAY_SIZE(cases) - 1)
                                assert_int_equal(mask_add(&m, strdup("sk-ant-api0345678"), 0), 0);
                        text = masked(&m, cases[i].in, size);
                        assert_string_equal(text, cases[i].out);
                }
        mask_clear(&m);
}

/* What can't be the beginning of a key isn't kept back: an event is passed on whole. */
TEST(nothing_is_kept_back_without_need) {
        struct mask_held held = {.n = 0};
        struct mask m = {.n = 0};
        _cleanup_free_ char *passed = NULL;
        size_t n;

        assert_int_equal(mask_add(&m, strdup("sk-12345678"), 3), 0);
        passed = mask_feed(&m, &held, "data: 1\n\n", 9, &n);
        assert_int_equal(n, 9);
        assert_int_equal(held.n, 0);
        free(passed);
        passed = mask_feed(&m, &held, "task sk-1", 9, &n);
        assert_int_equal(n, 5);
        assert_int_equal(held.n, 4);
        mask_held_clear(&held);
        mask_clear(&m);
}

/* However two frames cut it, at most what tells nothing of it is seen. */
TEST(a_keys_beginning_that_is_passed_on_is_remembered) {
        static const char key[] = "sk-12345678";

        for (size_t cut = 0; cut <= strlen(key); cut++)
                for (size_t again = cut; again <= strlen(key); again++) {
                        const size_t ends[] = {0, cut, again, strlen(key)};
                        struct mask_held held = {.n = 0};
                        struct mask m = {.n = 0};
                        _cleanup_strbuf_ struct strbuf b = {0};
                        _cleanup_free_ char *seen = NULL;

                        assert_int_equal(mask_add(&m, strdup(key), 3), 0);
                        for (size_t i = 1; i < ARRAY_SIZE(ends); i++) {
                                size_t n, n_part = ends[i] - ends[i - 1];
                                _cleanup_free_ char *sure = NULL, *begun = NULL;

                                if (n_part > 0) {
                                        sure = mask_feed(&m, &held, key + ends[i - 1], n_part, &n);
                                        strbuf_add_bytes(&b, sure, n);
                                }
                                begun = mask_pass_held(&m, &held, &n);
                                strbuf_add_bytes(&b, begun, n);
                        }
                        seen = strbuf_finish(&b);
                        assert_int_equal(strlen(seen), strlen(key));
                        assert_true(strcspn(seen, "*") <= 7);
                        assert_int_equal(strspn(strchr(seen, '*'), "*"), strlen(strchr(seen, '*')));
                        mask_held_clear(&held);
                        mask_clear(&m);
                }
}

TEST(frames_are_told_apart_however_they_come) {
        static const struct {
                const char *bytes;
                size_t n, n_payload;
                int r;
        } cases[] = {
                {"\x81\x03"
                 "abc\x82\x00\x01\x02zz",
                 11, 5, 0},
                {"\x81\x7e\x00\x04"
                 "abcd\x8a\x01y",
                 11, 5, 0},
                {"\x01\x7f\0\0\0\0\0\0\0\x02"
                 "ab\x80\x01"
                 "c",
                 15, 3, 0},
                {"\xc1\x01"
                 "a",
                 3, 0, -EBADMSG},
                {"\x81\x81", 2, 0, -EBADMSG},
                {"\x83\x01", 2, 0, -EBADMSG},
                {"\x8b\x01", 2, 0, -EBADMSG},
                {"\x09\x01", 2, 0, -EBADMSG},
                {"\x88\x7e\x01\x00", 4, 0, -EBADMSG},
                {"\x82\x7f\x80\0\0\0\0\0\0\0", 10, 0, -EBADMSG},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (size_t size = 1; size <= cases[i].n; size++) {
                        struct frame f = {.left = 0};
                        size_t n_payload = 0;
                        int r = 0;

                        for (size_t at = 0, n; at < cases[i].n && r >= 0; at += n) {
                                bool is_head = f.left == 0;

                                n = cases[i].n - at < size ? cases[i].n - at : size;
                                r = frame_take(&f, cases[i].bytes + at, n, &n);
                                assert_true(n > 0);
                                n_payload += is_head ? 0 : n;
                        }
                        assert_int_equal(r, cases[i].r);
                        assert_int_equal(n_payload, cases[i].n_payload);
                        assert_int_equal(f.left && r == 0, 0);
                }
}

int main(void) {
        return run_all_tests();
}
