/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where in a JSON text things stand, and what is no text of which that can be said. */
#include "scratch.h"

#include "base/json_map.h"

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

TEST(what_is_no_json_is_told_with_its_place) {
        static const struct {
                const char *text;
                size_t at;
        } cases[] = {
                {"", 0},
                {"{", 1},
                {"{\"a\":1,}", 7},
                {"{\"a\":1} x", 8},
                {"{'a':1}", 1},
                {"{\"a\":1 // no\n}", 7},
                {"[1 2]", 3},
                {"{\"a\\u0000b\":1}", 1},
                {"{\"\\ud800\":1}", 1},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct json_trouble trouble;
                struct json_map m;

                assert_int_equal(json_map_read(&m, cases[i].text, strlen(cases[i].text), &trouble), -EINVAL);
                if (trouble.at != cases[i].at)
                        fail_msg("%s: %zu, not %zu", cases[i].text, trouble.at, cases[i].at);
                assert_int_equal(trouble.other, 0);
                assert_int_equal(m.n, 0);
        }
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
