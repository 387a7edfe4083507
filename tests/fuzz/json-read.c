/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the JSON reader, and the printers with what it read: json-c, which isn't nsrun's, reads each text
 * that is taken as the same tree.  Built with libFuzzer where clang has it (-DFUZZ_WITH_LIBFUZZER), else
 * with fuzz.h's main. */

#include <json-c/json.h>

#include "fuzz.h"

#include "base/json.h"

static char *spell(const struct json_document *d) {
        return json_spell(json_kind(d->root) == JSON_NULL ? NULL : d->root);
}

/* An object's members in json-c's tree: as many, and each the same. */
static void check_value(const struct json_value *v, struct json_object *other) {
        static const json_type types[] = {
                [JSON_NULL] = json_type_null,     [JSON_BOOL] = json_type_boolean,
                [JSON_NUMBER] = json_type_int,    [JSON_REAL] = json_type_double,
                [JSON_STRING] = json_type_string, [JSON_ARRAY] = json_type_array,
                [JSON_OBJECT] = json_type_object,
        };
        _cleanup_free_ char *spelled = json_spell(v);
        enum json_kind kind = json_kind(v);
        bool is_huge = kind == JSON_REAL && !strpbrk(spelled, ".eE"); /* json-c: the nearest of 64 bits */

        CHECK(json_object_get_type(other) == (is_huge ? json_type_int : types[kind]));
        if (kind == JSON_BOOL)
                CHECK(json_is_true(v) == json_object_get_boolean(other));
        if (kind == JSON_REAL && !is_huge)
                CHECK(strtod(spelled, NULL) == json_object_get_double(other));
        if (kind == JSON_NUMBER && spelled[0] == '-')
                CHECK(strtoll(spelled, NULL, 10) == json_object_get_int64(other));
        else if (kind == JSON_NUMBER)
                CHECK(strtoull(spelled, NULL, 10) == json_object_get_uint64(other));
        if (kind == JSON_STRING) {
                size_t n = (size_t)json_object_get_string_len(other);
                const char *text = json_object_get_string(other);

                CHECK((strlen(text) == n) == (json_text(v) != NULL));
                CHECK(!json_text(v) || streq(json_text(v), text));
        }
        if (kind == JSON_ARRAY) {
                CHECK(json_length(v) == json_object_array_length(other));
                for (size_t i = 0; i < json_length(v); i++)
                        check_value(json_at(v, i), json_object_array_get_idx(other, i));
        }
        if (kind == JSON_OBJECT) {
                const char *names[64];
                int n = 0;

                json_object_object_foreach(other, name, member) {
                        CHECK(json_has(v, name));
                        check_value(json_get(v, name), member);
                        if (n < (int)ARRAY_SIZE(names))
                                names[n] = name;
                        n++;
                }
                CHECK(n > (int)ARRAY_SIZE(names) || !json_unknown_key(v, names, (size_t)n));
        }
}

static void check_by_json_c(const struct json_document *d, const char *text, size_t n) {
        struct json_tokener *tokener = json_tokener_new_ex(32);
        _cleanup_free_ char *ended = malloc(n + 1);
        struct json_object *other;

        CHECK(tokener && ended);
        memcpy(ended, text, n);
        ended[n] = ' '; /* the end of a number */
        other = json_tokener_parse_ex(tokener, ended, (int)n + 1);
        CHECK(json_tokener_get_error(tokener) == json_tokener_success);
        for (size_t end = json_tokener_get_parse_end(tokener); end < n; end++)
                CHECK(ended[end] && strchr(" \t\r\n", ended[end]));
        check_value(d->root, other);
        (void)json_object_put(other);
        json_tokener_free(tokener);
}

/* What is printed is read as the same by the strictest reader. */
static void check_printed(struct json_document *d) {
        _cleanup_free_ char *spelled = spell(d);
        char *texts[3] = {NULL};

        CHECK(json_finish(d, false, &texts[0], NULL) == 0 && streq(texts[0], spelled));
        CHECK(json_finish(d, true, &texts[1], NULL) == 0);
        CHECK(json_lay_out(d, &texts[2], NULL) == 0);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                _cleanup_json_ struct json_document again = {0};
                _cleanup_free_ char *second = NULL;
                struct json_trouble trouble;

                CHECK(json_read(&again, texts[i], strlen(texts[i]), JSON_STRICT, &trouble) == 0);
                second = spell(&again);
                CHECK(streq(spelled, second));
                free(texts[i]);
        }
}

/* Reads `text` in one way.  *ret is its spelling, or NULL. */
static void read_one(const char *text, size_t n, enum json_reading how, char **ret) {
        _cleanup_json_ struct json_document d = {0};
        struct json_trouble trouble;
        int r = json_read(&d, text, n, how, &trouble);

        CHECK(r == 0 || r == -EINVAL);
        CHECK((r == 0) == !trouble.why && trouble.at <= n && trouble.other <= trouble.at);
        CHECK(r == 0 || !d.root || (how & JSON_REPAIRED));
        *ret = r == 0 ? spell(&d) : NULL;
        if (r < 0)
                return;
        check_printed(&d);
        if (!(how & JSON_REPAIRED))
                check_by_json_c(&d, text, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        _cleanup_free_ char *strict = NULL, *careful = NULL, *repaired = NULL,
                            *bytes = malloc(n > 0 ? n : 1);

        CHECK(bytes);
        if (n > 0)
                memcpy(bytes, input, n); /* no NUL behind them: a byte too many is seen */
        read_one(bytes, n, JSON_STRICT, &strict);
        read_one(bytes, n, JSON_CAREFUL, &careful);
        read_one(bytes, n, JSON_REPAIRED, &repaired);
        CHECK(!careful || (strict && streq(careful, strict)));
        CHECK(!strict || (repaired && streq(strict, repaired)));
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
static size_t make_input(uint8_t *to, size_t size) {
        static const char *const tokens[] = {
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                " ",
                "\n",
                "\"a\":",
                "\"b\":",
                "\"",
                "\"x\"",
                "null",
                "true",
                "false",
                "0",
                "-1.5e9",
                "18446744073709551615",
                "1e",
                "01",
                "\\u0061",
                "\\ud83d\\ude00",
                "\\ud800",
                "\\u0000",
                "\\n",
                "\\x",
                "\xc3\xa4",
                "\xe2\x9c\x93",
                "\xf0\x9f\x98\x80",
                "\xff",
                "\xed\xa0\x80",
                "\xc2\x9b",
                "\"k\":1,",
                "[1,2]",
                "{\"a\":{}}",
                "\x7f",
        };
        size_t n = 0;

        if (draw(4) > 0)
                to[n++] = '[';
        n += deal_tokens(to + n, size - n - 1, tokens, ARRAY_SIZE(tokens));
        if (draw(4) > 0)
                to[n++] = ']';
        return n;
}
#endif
