/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where in a JSON text things stand, and what is no text of which that can be said. */
#include "scratch.h"

#include "base/json.h"
#include "base/str.h"

TEST(places_are_lines_and_characters) {
        static const char text[] =
                "{\n  \"a\": [1, \"\xc3\xa4\", {\"b\" : null}],\r\n\t\"\\u00e4\\n\":true }\n";
        static const struct {
                const char *key;
                size_t key_line, key_column, line, column, end;
        } cases[] = {
                {NULL, 1, 1, 1, 1, 7},          {"a", 2, 3, 2, 8, 6},    {NULL, 2, 9, 2, 9, 3},
                {NULL, 2, 12, 2, 12, 4},        {NULL, 2, 17, 2, 17, 6}, {"b", 2, 18, 2, 24, 6},
                {"\xc3\xa4\n", 3, 2, 3, 13, 7},
        };
        _cleanup_json_map_ struct json_map m = {0};
        struct json_cursor cursor = JSON_CURSOR_INIT;
        struct json_trouble trouble;

        assert_int_equal(json_map_read(&m, text, strlen(text), &trouble), 0);
        assert_int_equal(m.n, ARRAY_SIZE(cases));
        for (size_t i = 0; i < m.n; i++) {
                struct json_place key = json_place_of(&cursor, text, m.nodes[i].key_at);
                struct json_place value = json_place_of(&cursor, text, m.nodes[i].at);

                assert_int_equal(key.line, cases[i].key_line);
                assert_int_equal(key.column, cases[i].key_column);
                assert_int_equal(value.line, cases[i].line);
                assert_int_equal(value.column, cases[i].column);
                assert_int_equal(m.nodes[i].end, cases[i].end);
                if (cases[i].key)
                        assert_string_equal(m.nodes[i].key, cases[i].key);
                else
                        assert_null(m.nodes[i].key);
        }
        assert_string_equal(json_text(m.nodes[3].value), "\xc3\xa4");
        assert_null(m.nodes[5].value);
        assert_true(json_is_true(m.nodes[6].value));
}

TEST(a_cursor_goes_back_when_it_is_asked_to) {
        struct json_cursor cursor = JSON_CURSOR_INIT;
        struct json_place place = json_place_of(&cursor, "a\nbc", 3);

        assert_int_equal(place.line, 2);
        assert_int_equal(place.column, 2);
        place = json_place_of(&cursor, "a\nbc", 0);
        assert_int_equal(place.line, 1);
        assert_int_equal(place.column, 1);
}

TEST(a_key_that_is_there_twice_is_told_with_both_places) {
        static const struct {
                const char *text;
                size_t at, other;
        } cases[] = {
                {"{\"a\":1,\"a\":2}", 7, 1},
                {"{\"a\":1,\"\\u0061\":2}", 7, 1},
                {"{\"x\":{\"a\":1,\"b\":0,\"a\":2}}", 18, 6},
                {"{\"b\":1,\"a\":1,\"a\":2,\"b\":0}", 13, 7},
                {"{\"a\":1,\"a\":1,\"a\":1}", 7, 1},
                {"[{},{\"\":1,\"\":2}]", 10, 5},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct json_trouble trouble;
                struct json_map m;

                assert_int_equal(json_map_read(&m, cases[i].text, strlen(cases[i].text), &trouble), -EINVAL);
                assert_string_equal(trouble.why, "this key is there twice");
                assert_int_equal(trouble.at, cases[i].at);
                assert_int_equal(trouble.other, cases[i].other);
                assert_int_equal(m.n, 0);
        }
}

TEST(one_key_in_two_objects_is_good) {
        static const char text[] = "{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}";
        _cleanup_json_map_ struct json_map m = {0};
        struct json_trouble trouble;

        assert_int_equal(json_map_read(&m, text, strlen(text), &trouble), 0);
        assert_int_equal(m.n, 8);
}

#define MANY   "\xc3\xa4\xe2\x9c\x93\xe6\xbc\xa2\xf0\x9f\x98\x80" /* 2, 3, 3 and 4 bytes */
#define SPOILT "\xef\xbf\xbd"

TEST(what_is_json_is_read_and_spelled_alike) {
        static const struct {
                const char *text, *spelled; /* NULL: as it was */
        } cases[] = {
                {"{\"" MANY "\":[\"" MANY "\",{}],\"\":[[],null,true,false]}", NULL},
                {" \t\r\n[ ] \n", "[]"},
                {"{ \"a\" : { } , \"b\" : 1 }", "{\"a\":{},\"b\":1}"},
                {"null", NULL},
                {"\"\"", NULL},
                {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
                {"\"\\u00e4\\u2713\\u6F22\\ud83d\\uDE00\"", "\"" MANY "\""},
                {"\"\\u0000\\u001f\\u0020\\u007f\"", "\"\\u0000\\u001f \\u007f\""},
                {"\"\x7f\xc2\x80\xc2\x9f\xc2\xa0\"", "\"\\u007f\\u0080\\u009f\xc2\xa0\""},
                {"\"\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa5\"", "\"\\u202e\\u2066\xe2\x81\xa5\""},
                {"\"\xc2\xa0\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
                 NULL},
                {"[0,-0,10,-1,1.0,1.50,0e1,1E+2,-1.5e-9]", NULL},
                {"[18446744073709551615,18446744073709551616,-9223372036854775809,1e999]", NULL},
                {"[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]", NULL},
                {"{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}"},
                {"{\"a\":{\"x\":1},\"a\":[],\"\\u0061\":null}", "{\"a\":null}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_json_ struct json_document d = {0};
                _cleanup_free_ char *bounded = strdup(cases[i].text), *spelled = NULL;
                struct json_trouble trouble;
                size_t n = strlen(bounded);

                /* What is behind the end is nobody's. */
                bounded[n] = '"';
                if (json_read(&d, bounded, n, JSON_STRICT, &trouble) < 0)
                        fail_msg("%s: %s at %zu", cases[i].text, trouble.why, trouble.at);
                spelled = json_spell(json_kind(d.root) == JSON_NULL ? NULL : d.root);
                assert_string_equal(spelled, cases[i].spelled ? cases[i].spelled : cases[i].text);
        }
}

TEST(a_number_is_whole_where_64_bits_hold_it) {
        static const struct {
                const char *text;
                enum json_kind kind;
                bool is_number;
                uint64_t number;
        } cases[] = {
                {"0", JSON_NUMBER, true, 0},
                {"-0", JSON_NUMBER, true, 0},
                {"-1", JSON_NUMBER, false, 0},
                {"9223372036854775808", JSON_NUMBER, true, 1ULL << 63},
                {"18446744073709551615", JSON_NUMBER, true, UINT64_MAX},
                {"18446744073709551616", JSON_REAL, false, 0},
                {"-9223372036854775808", JSON_NUMBER, false, 0},
                {"-9223372036854775809", JSON_REAL, false, 0},
                {"1.0", JSON_REAL, false, 0},
                {"1e2", JSON_REAL, false, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_json_ struct json_document d = {0};
                struct json_trouble trouble;
                uint64_t number = 0;

                assert_int_equal(json_read(&d, cases[i].text, strlen(cases[i].text), JSON_STRICT, &trouble),
                                 0);
                assert_int_equal(json_kind(d.root), cases[i].kind);
                assert_int_equal(json_number(d.root, &number), cases[i].is_number);
                assert_true(number == cases[i].number);
        }
}

#define CONTROL  "a control character in a string"
#define ESCAPE   "an escape in this string stands for no character"
#define NO_UTF8  "this byte is no UTF-8"
#define NO_VALUE "this is no value"
#define BRACE    "it ends too early: a } is missing"
#define BRACKET  "it ends too early: a ] is missing"
#define QUOTE    "it ends too early: a \" is missing"

TEST(what_is_no_json_is_told_with_its_place) {
        static const struct {
                const char *text;
                size_t at;
                const char *why;
        } cases[] = {
                {"", 0, "it is empty"},
                {" \n", 2, "it is empty"},
                {"{", 1, BRACE},
                {"{\"a\"", 4, BRACE},
                {"{\"a\":", 5, BRACE},
                {"{\"a\":12", 7, BRACE},
                {"{\"a\":tru", 8, BRACE},
                {"{\"a\":1,", 7, BRACE},
                {"{\"a\":[", 6, BRACKET},
                {"[[]", 3, BRACKET},
                {"[\"", 2, QUOTE},
                {"[\"a\\", 4, QUOTE},
                {"[\"\\\"]", 5, QUOTE},
                {"{\"a\":1,}", 7, "a key is expected here"},
                {"{'a':1}", 1, "a key is expected here"},
                {"{1:1}", 1, "a key is expected here"},
                {"{\"a\":1 // no\n}", 7, "a comma is expected here"},
                {"[1 2]", 3, "a comma is expected here"},
                {"[1\"\"]", 2, "a comma is expected here"},
                {"[1}", 2, "a comma is expected here"},
                {"{\"a\":1]", 6, "a comma is expected here"},
                {"{\"a\" 1}", 5, "a colon is expected here"},
                {"{\"a\",\"b\"}", 4, "a colon is expected here"},
                {"[1,]", 3, "a value is expected here"},
                {"[,1]", 1, "a value is expected here"},
                {"{\"a\":}", 5, "a value is expected here"},
                {"{\"a\"::1}", 5, "a value is expected here"},
                {"]", 0, "a value is expected here"},
                {"{\"a\":1} x", 8, "something follows its end"},
                {"{}{}", 2, "something follows its end"},
                {"[tru]", 1, NO_VALUE},
                {"[nulls]", 1, NO_VALUE},
                {"[True]", 1, NO_VALUE},
                {"[NaN]", 1, NO_VALUE},
                {"[-Infinity]", 1, NO_VALUE},
                {"[+1]", 1, NO_VALUE},
                {"[-]", 1, NO_VALUE},
                {"[01]", 1, NO_VALUE},
                {"[-01]", 1, NO_VALUE},
                {"[.5]", 1, NO_VALUE},
                {"[1.]", 1, NO_VALUE},
                {"[1.e1]", 1, NO_VALUE},
                {"[1e]", 1, NO_VALUE},
                {"[1e+]", 1, NO_VALUE},
                {"[0x10]", 1, NO_VALUE},
                {"[1\xc2\xa0]", 1, NO_VALUE},
                {"\xef\xbb\xbf{}", 0, NO_VALUE},
                {"['a']", 1, NO_VALUE},
                {"[\"a\tb\"]", 3, CONTROL},
                {"[\"a\nb\"]", 3, CONTROL},
                {"{\"\x1f\":1}", 2, CONTROL},
                {"[\"a\\x\"]", 1, ESCAPE},
                {"[\"a\\'\"]", 1, ESCAPE},
                {"[\"a\\u12g4\"]", 1, ESCAPE},
                {"[\"a\\u12\"]", 1, ESCAPE},
                {"[\"\\ud800\"]", 1, ESCAPE},
                {"[\"\\udc00\"]", 1, ESCAPE},
                {"[\"\\ud800\\ud800\\udc00\"]", 1, ESCAPE},
                {"[\"\\ud800\\u0041\"]", 1, ESCAPE},
                {"[\"\\u0000\"]", 1, ESCAPE},
                {"{\"a\\u0000b\":1}", 1, ESCAPE},
                {"{\"\\ud800\":1}", 1, ESCAPE},
                {"[\"a\xff\"]", 3, NO_UTF8},
                {"[\"\x80\"]", 2, NO_UTF8},
                {"[\"\xc3\"]", 2, NO_UTF8},
                {"[\"\xc1\xbf\"]", 2, NO_UTF8},
                {"[\"\xe0\x9f\xbf\"]", 2, NO_UTF8},
                {"[\"\xed\xa0\x80\"]", 2, NO_UTF8},
                {"[\"\xf0\x8f\xbf\xbf\"]", 2, NO_UTF8},
                {"[\"\xf4\x90\x80\x80\"]", 2, NO_UTF8},
                {"[\"\xf5\x80\x80\x80\"]", 2, NO_UTF8},
                {"[\"\xf0\x9f\x98\"]", 2, NO_UTF8},
                {"{\"\xff\":1}", 2, NO_UTF8},
                {"[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", 15, "too many brackets in one another"},
                /* The first of several is told. */
                {"[\"\xff\",NaN,", 2, NO_UTF8},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct json_trouble trouble;
                struct json_map m;

                assert_int_equal(json_map_read(&m, cases[i].text, strlen(cases[i].text), &trouble), -EINVAL);
                if (trouble.at != cases[i].at || !streq(trouble.why, cases[i].why))
                        fail_msg("%s: %s at %zu, not %s at %zu", cases[i].text, trouble.why, trouble.at,
                                 cases[i].why, cases[i].at);
                assert_int_equal(trouble.other, 0);
                assert_int_equal(m.n, 0);
        }
}

TEST(a_nul_ends_no_text) {
        static const struct {
                const char *text;
                size_t n, at;
                const char *why;
        } cases[] = {
                {"{\"a\":1}\0", 8, 7, "something follows its end"},
                {"[1\0]", 4, 1, NO_VALUE},
                {"[\0]", 3, 1, NO_VALUE},
                {"[\"a\0\"]", 6, 3, CONTROL},
                {"{\"a\0b\":1}", 9, 3, CONTROL},
                {"{\0", 2, 1, "a key is expected here"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct json_document d;
                struct json_trouble trouble;

                assert_int_equal(json_read(&d, cases[i].text, cases[i].n, JSON_STRICT, &trouble), -EINVAL);
                assert_string_equal(trouble.why, cases[i].why);
                assert_int_equal(trouble.at, cases[i].at);
                assert_null(d.root);
        }
}

TEST(what_stands_for_no_character_is_replaced_where_that_is_asked) {
        static const struct {
                const char *text, *spelled;
        } cases[] = {
                {"[\"a\xff"
                 "b\"]",
                 "[\"a" SPOILT "b\"]"},
                {"[\"\xf0\x9f\x98\"]", "[\"" SPOILT SPOILT SPOILT "\"]"},
                {"[\"\xed\xa0\x80\"]", "[\"" SPOILT SPOILT SPOILT "\"]"},
                {"{\"\xff\":1,\"" SPOILT "\":2}", "{\"" SPOILT "\":2}"},
                {"[\"\\ud800\"]", "[\"" SPOILT "\"]"},
                {"[\"\\udc00\\ud800\"]", "[\"" SPOILT SPOILT "\"]"},
                {"[\"\\ud800\\ud83d\\ude00\\ud83dx\"]", "[\"" SPOILT "\xf0\x9f\x98\x80" SPOILT "x\"]"},
                {"{\"\\ud800\":\"\\u0000\"}", "{\"" SPOILT "\":\"\\u0000\"}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_json_ struct json_document d = {0};
                _cleanup_free_ char *spelled = NULL;
                struct json_trouble trouble;

                assert_int_equal(
                        json_read(&d, cases[i].text, strlen(cases[i].text), JSON_REPAIRED, &trouble), 0);
                spelled = json_spell(d.root);
                assert_string_equal(spelled, cases[i].spelled);
        }
}

/* The member "id" is what a client waits for. */
TEST(of_a_text_that_is_refused_is_there_what_could_be_read) {
        static const struct {
                const char *text, *id; /* NULL: none */
        } cases[] = {
                {"{\"id\":1,\"a\":", "1"},
                {"{\"id\":1,", "1"},
                {"{\"id\":1", NULL}, /* it may be 12 */
                {"{\"id\":1 ", "1"},
                {"{\"id\":\"a", NULL},
                {"{\"id\":\"a\"", "\"a\""},
                {"{\"id\":1,\"id\":2,", "2"},
                {"{\"id\":1,\"a\" 2,\"id\":3}", "1"},
                {"{\"a\":[NaN,01,x\xff],\"id\":1}", "1"},
                {"{\"a\":\"\\x\n\\u12\",\"id\":1}", "1"},
                {"{\"a\\u0000\":2,\"id\\u0000\":3,\"id\":1}", "1"},
                {"{\"id\\u0000\":3}", NULL},
                {"{\"a\":[[[[[[[[[[[[[[[[[\"]\",{}]]]]]]]]]]]]]]]]],\"id\":1}", "1"},
                {"{\"a\":{\"id\":2},\"b\":x,\"id\":1}", "1"},
                {"{\"id\":1} x", "1"},
                {"[{\"id\":1},x]", NULL},
                {"\"id", NULL},
                {"", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_json_ struct json_document d = {0};
                _cleanup_free_ char *id = NULL;
                struct json_trouble trouble;

                assert_int_equal(
                        json_read(&d, cases[i].text, strlen(cases[i].text), JSON_REPAIRED, &trouble),
                        -EINVAL);
                id = json_spell(json_get(d.root, "id"));
                assert_string_equal(id, cases[i].id ? cases[i].id : "null");
                json_close(&d);
                assert_int_equal(json_read(&d, cases[i].text, strlen(cases[i].text), JSON_STRICT, &trouble),
                                 -EINVAL);
                assert_null(d.root);
        }
}

TEST(a_long_text_costs_no_more_than_its_length) {
        const size_t n = 100000;
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_json_map_ struct json_map m = {0};
        _cleanup_free_ char *spelled = NULL;
        struct json_trouble trouble;

        strbuf_add(&b, "{");
        for (size_t i = 0; i < n; i++)
                strbuf_addf(&b, "%s\"%zu\":\"\\u00e4\"", i > 0 ? "," : "", i);
        strbuf_add(&b, "}");
        assert_int_equal(json_map_read(&m, b.text, b.length, &trouble), 0);
        assert_int_equal(m.n, n + 1);
        spelled = json_spell(m.document.root);
        assert_int_equal(strlen(spelled), b.length - 4 * n);
}

TEST(what_is_printed_is_the_same_bytes_everywhere) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *line = NULL, *indented = NULL, *laid_out = NULL;
        struct json_value *array, *object;
        char *const texts[] = {(char[]){"a/b"}, (char[]){"\xff" MANY}, NULL};

        (void)json_add_array(&d, d.root, "empty");
        (void)json_add_object(&d, d.root, "none");
        json_add_strings(&d, d.root, "texts", texts);
        object = json_add_object(&d, d.root, "\xc3k");
        json_add_number(&d, object, "most", UINT64_MAX);
        json_add_bool(&d, object, "bool", false);
        json_add_string(&d, object, "null", NULL);
        json_add_bytes(&d, object, "bytes", "\0\xf0\x9f", 3);
        array = json_add_array(&d, d.root, "again");
        (void)json_add_array(&d, array, NULL);
        json_add_string(&d, d.root, "again", "replaced");
        json_add_json(&d, d.root, "json", "[1.50,{\"a\":{}}]");
        assert_int_equal(json_finish(&d, false, &line, NULL), 0);
        assert_int_equal(json_finish(&d, true, &indented, NULL), 0);
        assert_int_equal(json_lay_out(&d, &laid_out, NULL), 0);
        assert_string_equal(
                line, "{\"empty\":[],\"none\":{},\"texts\":[\"a/b\",\"" SPOILT MANY "\"],\"" SPOILT
                      "k\":{\"most\":18446744073709551615,\"bool\":false,\"null\":null,\"bytes\":"
                      "\"\\u0000" SPOILT SPOILT "\"},\"again\":\"replaced\",\"json\":[1.50,{\"a\":{}}]}");
        assert_string_equal(indented, "{\n"
                                      "  \"empty\": [],\n"
                                      "  \"none\": {},\n"
                                      "  \"texts\": [\n"
                                      "    \"a/b\",\n"
                                      "    \"" SPOILT MANY "\"\n"
                                      "  ],\n"
                                      "  \"" SPOILT "k\": {\n"
                                      "    \"most\": 18446744073709551615,\n"
                                      "    \"bool\": false,\n"
                                      "    \"null\": null,\n"
                                      "    \"bytes\": \"\\u0000" SPOILT SPOILT "\"\n"
                                      "  },\n"
                                      "  \"again\": \"replaced\",\n"
                                      "  \"json\": [\n"
                                      "    1.50,\n"
                                      "    {\n"
                                      "      \"a\": {}\n"
                                      "    }\n"
                                      "  ]\n"
                                      "}");
        assert_string_equal(laid_out,
                            "{\n"
                            "    \"empty\": [],\n"
                            "    \"none\": {},\n"
                            "    \"texts\": [\"a/b\", \"" SPOILT MANY "\"],\n"
                            "    \"" SPOILT
                            "k\": {\"most\": 18446744073709551615, \"bool\": false, \"null\": null, "
                            "\"bytes\": \"\\u0000" SPOILT SPOILT "\"},\n"
                            "    \"again\": \"replaced\",\n"
                            "    \"json\": [1.50, {\"a\": {}}]\n"
                            "}\n");
}

TEST(depth_is_bounded) {
        char text[200000];
        struct json_trouble trouble;
        struct json_map m;

        memset(text, '[', sizeof(text) / 2);
        memset(text + sizeof(text) / 2, ']', sizeof(text) / 2);
        assert_int_equal(json_map_read(&m, text, sizeof(text), &trouble), -EINVAL);
        assert_int_equal(json_map_read(&m, text + sizeof(text) / 2 - 20, 40, &trouble), -EINVAL);
        /* A NUL ends the text: 15 of each. */
        memcpy(text, "[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]", 31);
        assert_int_equal(json_map_read(&m, text, 30, &trouble), 0);
        assert_int_equal(m.n, 15);
        json_map_clear(&m);
}

int main(void) {
        return run_all_tests();
}
