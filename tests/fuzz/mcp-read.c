/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes what reads a client of `nsrun mcp`: lines from bytes that come in parts, messages from lines. Built
 * with libFuzzer where clang has it (-DFUZZ_WITH_LIBFUZZER), else with fuzz.h's main. */

#include "fuzz.h"

#include "mcp/terms.h"

/* What is answered is a line that the same reader takes, with the same id. */
static void check_answer(const char *id) {
        _cleanup_json_ struct json_document answer = {0};
        _cleanup_free_ char *text = id ? message_error(id, -32600, "why", NULL) : NULL, *again = NULL;
        struct json_trouble trouble;

        if (!id)
                return;
        CHECK(text && !strchr(text, '\n'));
        CHECK(json_read(&answer, text, strlen(text), JSON_STRICT, &trouble) == 0);
        again = message_id(answer.root);
        CHECK(again && streq(again, id));
}

/* A request's own terms are read, or refused for a reason; its answer can be read again. */
static void check_terms(const struct message *m) {
        _cleanup_json_ struct json_document answer = {0};
        struct mcp_terms terms = {.version = NULL};
        struct reply refusal = {.why = NULL};
        _cleanup_free_ char *text = NULL;
        struct json_trouble trouble;
        int r = terms_read(m, &terms, &refusal);

        if (r == 0)
                text = terms_response(&terms, m->id, "{\"a\":1}", false);
        else
                text = message_error(m->id, refusal.code, refusal.why, refusal.data);
        CHECK(r == 0 ? terms.version->is_stateless : r == refusal.code && refusal.why != NULL);
        CHECK(text && !strchr(text, '\n'));
        CHECK(json_read(&answer, text, strlen(text), JSON_STRICT, &trouble) == 0);
        reply_clear(&refusal);
}

static void check_line(const char *line, size_t n) {
        _cleanup_json_ struct json_document d = {0};
        struct message m = {.id = NULL};
        struct json_trouble trouble;
        const char *why = NULL;
        int r;

        CHECK(!memchr(line, '\n', n));
        if (json_read(&d, line, n, JSON_REPAIRED, &trouble) < 0) {
                _cleanup_free_ char *id = message_id(d.root);

                CHECK(trouble.at <= n && trouble.why);
                check_answer(id);
                return;
        }
        r = message_read(d.root, &m, &why);
        CHECK(r == 0 || (r < 0 && why));
        if (r == 0) {
                CHECK((m.kind == MESSAGE_NOTIFICATION) == !m.id);
                CHECK((m.kind == MESSAGE_RESPONSE) == !m.method);
                CHECK(!m.params || json_kind(m.params) == JSON_OBJECT);
                if (m.kind == MESSAGE_REQUEST && terms_are_own(&m))
                        check_terms(&m);
        }
        CHECK(r < 0 || !m.id || strlen(m.id) <= MESSAGE_ID_MOST);
        check_answer(m.id);
        message_clear(&m);
}

/* Given in parts the same lines come out. */
static void check_lines(const char *bytes, size_t n) {
        struct line_reader whole = {.n = 0}, parts = {.n = 0};
        const char *line, *other;
        size_t length, other_length, given = 0;
        int r;

        CHECK(reader_add(&whole, bytes, n) == 0);
        do {
                r = reader_next(&whole, true, &line, &length);
                CHECK(r == 0 || r == 1 || r == -EMSGSIZE);
                while (r == 1) {
                        int p = reader_next(&parts, given == n, &other, &other_length);

                        if (p == 1) {
                                CHECK(other_length == length && memcmp(line, other, length) == 0);
                                break;
                        }
                        CHECK(p == 0 && given < n);
                        CHECK(reader_add(&parts, bytes + given, 1) == 0);
                        given++;
                }
                if (r == 1)
                        check_line(line, length);
        } while (r != 0);
        reader_clear(&whole);
        reader_clear(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n) {
        char *text = input_text(input, n);

        if (!text)
                return 0;
        if (n < 65536)
                check_lines(text, n);
        free(text);
        return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER

static size_t make_input(uint8_t *to, size_t room) {
        static const char *const words[] = {
                "{\"jsonrpc\":\"2.0\"",
                ",\"id\":",
                "1",
                "\"a\"",
                ",\"method\":\"ping\"",
                ",\"params\":{}",
                ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"",
                ",\"io.modelcontextprotocol/clientCapabilities\":{}",
                ",\"io.modelcontextprotocol/logLevel\":\"info\"",
                "}}}\n",
                "}",
                "\n",
                "[",
                "]",
                ",\"result\":{}",
                "\"\\u0000\"",
                "-1.5e9",
                "null",
                "\\",
                "{",
                "é",
        };
        size_t n = 0, count = draw(24);

        for (size_t i = 0; i < count; i++) {
                const char *word = words[draw(ARRAY_SIZE(words))];
                size_t length = strlen(word);

                if (n + length > room)
                        break;
                memcpy(to + n, word, length);
                n += length;
        }
        return n;
}

#endif
