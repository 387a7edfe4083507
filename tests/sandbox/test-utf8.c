/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text, wherever JSON is read or written: characters of two to four bytes come through as they are; a
 * byte that is no UTF-8 and half a surrogate pair are shown replaced, or refused where they stand, and no
 * answer is lost. */
#include "bash.h"
#include "mcp.h"

/* ä, a check mark, a Chinese character, and one beyond the basic plane. */
#define MANY         "\303\244\342\234\223\346\274\242\360\237\230\200"
#define MANY_ESCAPED "\\u00e4\\u2713\\u6F22\\ud83d\\uDE00"
#define REPLACED     "\357\277\275"

/* ---------------------------------------------------------------------------- mcp */

TEST(a_client_writes_and_is_answered_in_any_characters) {
#define CALL(id, arguments)                                                                      \
        "{\"jsonrpc\":\"2.0\",\"id\":\"" id "\",\"method\":\"tools/call\",\"params\":{\"name\":" \
        "\"bash\",\"arguments\":{\"command\":\"" arguments "\"}}}"
        static const struct {
                const char *line, *id, *output;
        } cases[] = {
                {CALL(MANY, "echo " MANY), MANY, MANY "\n"},
                {CALL("1" MANY_ESCAPED, "echo " MANY_ESCAPED), "1" MANY, MANY "\n"},
                {CALL("2", "printf 'a\\\\377b\\\\355\\\\240\\\\200'"), "2",
                 "a" REPLACED "b" REPLACED REPLACED REPLACED},
                {CALL("3\377", "echo a\377" MANY), "3" REPLACED, "a" REPLACED MANY "\n"},
                {CALL("4\\ud800", "echo a\\ud800b\\udc00"), "4" REPLACED, "a" REPLACED "b" REPLACED "\n"},
                {CALL("5", "cat " MANY "; cat " MANY_ESCAPED), "5", "in it\nin it\n"},
        };
        const struct site *s = *state;
        struct json_object *o;
        struct client c;

        make_file(s->project, MANY, "in it\n");
        make_file(s->project, "b\377", MANY "\377");
        CLIENT_OPEN_PLAIN(s, &c);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                client_send(&c, cases[i].line);
                o = client_read(&c);
                assert_string_equal(text_at(o, "id"), cases[i].id);
                expect_output(o, cases[i].output);
                (void)json_object_put(o);
        }
        o = client_call(&c, "read", "{\"path\":\"" MANY "\"}");
        expect_in(text_at(o, "result.content.0.text"), "in it");
        (void)json_object_put(o);
        o = client_call(&c, "list", "{\"path\":\".\"}");
        expect_in(text_at(o, "result.content.0.text"), MANY);
        expect_at(o, "result.isError", "false");
        (void)json_object_put(o);
        o = client_call(&c, "grep", "{\"pattern\":\"" MANY "\"}");
        expect_in(text_at(o, "result.content.0.text"), MANY);
        expect_at(o, "result.isError", "false");
        (void)json_object_put(o);
        o = client_call(&c, "read", "{\"path\":\"no" MANY "\377\"}");
        expect_in(text_at(o, "result.content.0.text"), "no" MANY REPLACED);
        expect_at(o, "result.isError", "true");
        (void)json_object_put(o);
        client_close(&c, "");
}

/* A client that gets no answer to its id waits for ever. */
TEST(what_is_no_json_is_answered_with_the_id_that_could_be_read) {
#define BEGIN "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":"
        static const struct {
                const char *line, *id, *message;
        } cases[] = {
                {"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":}}", "1",
                 "no JSON: a value is expected here, at byte 54"},
                {"{\"id\":\"" MANY "\",\"method\":\"ping\"", "\"" MANY "\"",
                 "no JSON: it ends too early: a } is missing, at byte 36"},
                {"{\"id\":7", "null", "no JSON: it ends too early: a } is missing, at byte 7"},
                {BEGIN "NaN},\"id\":2}", "2", "no JSON: this is no value, at byte 47"},
                {BEGIN "\"\t\"},\"id\":3}", "3", "no JSON: a control character in a string, at byte 48"},
                {BEGIN "\"\\x\"},\"id\":4}", "4",
                 "no JSON: an escape in this string stands for no character, at byte 47"},
                {BEGIN "[[[[[[[[[[[[[[[\"]\"]]]]]]]]]]]]]]]},\"id\":5}", "5",
                 "no JSON: too many brackets in one another, at byte 60"},
                {BEGIN "1},\"id\":6}{", "6", "no JSON: something follows its end, at byte 57"},
                {BEGIN "1},\"id\":6.50,}", "6.50", "no JSON: a key is expected here, at byte 60"},
                {"{\"id\":8,\"jsonrpc\":\"2.0\",\"result\":{},\"x\":y}", "null",
                 "no JSON: this is no value, at byte 40"},
        };
        const struct site *s = *state;
        size_t n = 5 << 20;
        _cleanup_free_ char *line = malloc(n);
        struct json_object *o;
        struct client c;

        CLIENT_OPEN_PLAIN(s, &c);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                client_send(&c, cases[i].line);
                o = client_read(&c);
                expect_at(o, "id", cases[i].id);
                expect_at(o, "error.code", "-32700");
                assert_string_equal(text_at(o, "error.message"), cases[i].message);
                (void)json_object_put(o);
        }
        assert_non_null(line);
        memset(line, 'x', n);
        memcpy(line, "{\"id\":9,\"x\":\"", 13);
        line[n - 1] = '\0';
        client_send(&c, line);
        o = client_read(&c);
        expect_at(o, "id", "9");
        assert_string_equal(text_at(o, "error.message"), "the line is longer than 4 MiB");
        (void)json_object_put(o);
        client_close(&c, "");
}

TEST(of_a_batch_that_is_no_json_each_request_is_answered) {
        struct json_object *o;
        struct client c;

        client_start(*state, &c, (const char *const[]){NULL});
        (void)json_object_put(client_initialize(&c, "2025-03-26", CAPABILITIES_NONE));
        client_send(&c, "[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"},"
                        "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":ping}]");
        o = client_read(&c);
        expect_at(o, "id", "\"a\"");
        (void)json_object_put(o);
        o = client_read(&c);
        expect_at(o, "id", "\"b\"");
        assert_string_equal(text_at(o, "error.message"), "no JSON: this is no value, at byte 79");
        (void)json_object_put(o);
        client_close(&c, "");
}

/* ------------------------------------------------------------------ configurations */

TEST(a_configuration_names_any_characters_and_is_refused_where_it_has_none) {
        static const struct {
                const char *text, *trouble; /* NULL: good */
        } cases[] = {
                {"{\"readable\": [\"@/" MANY "\"], \"//\": \"" MANY "\"}", NULL},
                {"{\"readable\": [\"@/" MANY_ESCAPED "\"]}", NULL},
                {"{\"//\": \"" MANY "\", \"//\": 1}",
                 "1:16: this key is there twice; the first one is at 1:2"},
                {"{\"//\": \"" MANY "\",\n \"readable\": [\"" MANY "\377\"]}",
                 "2:20: this byte is no UTF-8"},
                {"{\"" MANY "\303\": 1}", "1:7: this byte is no UTF-8"},
                {"{\"readable\": [\"/" MANY "\\ud800\"]}",
                 "1:15: an escape in this string stands for no character"},
                {"{\"readable\": [\"/\\udc00\\ud800\"]}",
                 "1:15: an escape in this string stands for no character"},
                {"{\"" MANY "\": 1}", "1:2: unknown key: " MANY "; nsrun.conf(5) has them all"},
                {"{\"readable\": [\"" MANY "\"]}",
                 "1:15: not an absolute path: " MANY "; begin it with / or with ~/"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, "c.json"), *folder = path_of(s->home, MANY),
                            *cat = NULL;

        make_folder(s->home, MANY);
        make_file(folder, "file", "shown\n");
        cat = text_of("cat '%s/file'", folder);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *text = replaced(cases[i].text, "@", s->home), *line = NULL;
                _cleanup_outcome_ struct outcome o = {0};

                make_file(s->outside, "c.json", text);
                NSRUN(s, &o, "run", "--project=.", "--config", file, "--", "sh", "-c", cat);
                if (!cases[i].trouble) {
                        assert_string_equal(o.err, "");
                        expect_out(&o, "shown\n");
                        continue;
                }
                line = text_of("nsrun: %s:%s", file, cases[i].trouble);
                expect_refusal(&o, 125, line);
        }
}

TEST(what_is_learned_of_any_characters_does_for_the_command) {
        static const char look[] = "cat ~/" MANY "/sub/file; cat ~/b*/file";
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->outside, MANY ".json"), *folder = path_of(s->home, MANY),
                            *sub = path_of(folder, "sub"), *spoilt = path_of(s->home, "b\377"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->home, MANY);
        make_folder(folder, "sub");
        make_folder(s->home, "b\377");
        make_file(sub, "file", "shown\n");
        make_file(sub, "other", "other\n");
        make_file(spoilt, "file", "spoilt\n");
        NSRUN(s, &o, "learn", "--project=.", "-o", file, "--", "sh", "-c", look);
        expect_status(&o, 0);
        expect_out(&o, "shown\nspoilt\n");
        text = file_text(file);
        expect_in(text, "{\"path\": \"~/" MANY "/sub/file\", \"//\": \"cat\"}");
        expect_in(text, "/b" REPLACED "/file: used, not given: its name is no UTF-8\"");
        NSRUN(s, &o, "run", "--project=.", "--config", file, "--", "sh", "-c", look);
        expect_out(&o, "shown\n");
        NSRUN(s, &o, "learn", "--project=.", "--update", file, "--", "sh", "-c", "cat ~/" MANY "/sub/other");
        expect_status(&o, 0);
        NSRUN(s, &o, "run", "--project=.", "--config", file, "--", "sh", "-c",
              "cat ~/" MANY "/sub/file ~/" MANY "/sub/other");
        assert_string_equal(o.err, "");
        expect_out(&o, "shown\nother\n");
}

/* ------------------------------------------------------------------------- results */

TEST(a_result_has_the_characters_of_the_output_and_replaces_what_is_none) {
        const struct site *s = *state;
        _cleanup_told_ struct told t = {.object = NULL}, refused = {.object = NULL};

        TOLD(s, &t, "echo " MANY "; printf 'a\\377b\\355\\240\\200'; echo '\377'");
        assert_string_equal(text_at(t.object, "output"),
                            MANY "\na" REPLACED "b" REPLACED REPLACED REPLACED REPLACED "\n");
        assert_string_equal(t.outcome.err, "");
        expect_status(&t.outcome, 0);
        TOLD(s, &refused, "--config", "/no/" MANY "\377", "true");
        assert_string_equal(text_at(refused.object, "error"), "the configuration can't be opened: /no/" MANY
                                                              "\\xff: No such file or directory");
        expect_status(&refused.outcome, 125);
}

TEST(an_error_names_a_path_of_any_characters) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "run", "--project=.", "--ro", "/no/" MANY "\377\355\240\200", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: the source of --ro can't be opened: /no/" MANY
                       "\\xff\\xed\\xa0\\x80: No such "
                       "file or directory; create it first, or leave the option out");
}

TEST(a_list_of_changes_has_names_of_any_characters) {
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->home, "over"), *script = NULL, *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct json_object *d;

        make_folder(s->home, "over");
        id = START(s, "--overlay", folder);
        script = text_of("cd '%s' && echo 1 >'" MANY "' && echo 2 >'b\377'", folder);
        NSRUN(s, &o, "run", "--session", id, "--", "sh", "-c", script);
        expect_status(&o, 0);
        SESSION(s, &o, "diff", "--json", id);
        d = json_tokener_parse(o.out);
        assert_non_null(d);
        assert_string_equal(text_at(d, "overlays.0.changes.0.path"), "b" REPLACED);
        assert_string_equal(text_at(d, "overlays.0.changes.0.path_quoted"), "\"b\\377\"");
        assert_string_equal(text_at(d, "overlays.0.changes.1.path"), MANY);
        (void)json_object_put(d);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
}

/* A runtime would bind another path than the plan says. */
TEST(a_bundle_names_any_characters_and_is_refused_where_it_has_none) {
        static const char line[] =
                "nsrun: the plan has a path or a variable with bytes that are no UTF-8, which "
                "JSON can't say";
        const struct site *s = *state;
        _cleanup_free_ char *bundle = path_of(s->root, "bundle"), *config = path_of(bundle, "config.json"),
                            *good = path_of(s->root, MANY), *bad = path_of(s->root, "p\377"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, MANY);
        make_folder(s->root, "p\377");
        NSRUN(s, &o, "plan", "--format=oci", "--bundle", bundle, "--project", bad, "--", "true");
        expect_refusal(&o, 125, line);
        NSRUN(s, &o, "plan", "--format=oci", "--bundle", bundle, "--project", good, "--", "true");
        expect_status(&o, 0);
        text = file_text(config);
        assert_non_null(text);
        expect_in(text, good);
}

int main(void) {
        return run_all_tests();
}
