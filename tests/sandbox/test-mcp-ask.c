/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun mcp --ask: the client's user is asked about files that a command doesn't find, while its call waits.
 */
#include "mcp.h"
#include "repository.h"
#include "talk.h"

#define ELICITS      "{\"elicitation\":{}}"
#define SAYS(answer) "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":\"" answer "\"}}"
#define SAYS_WITH(answer, more) \
        "\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":\"" answer "\"," more "}}"
#define READS "{\"command\":\"cat ~/beside/f\"}"

static void make_beside(const struct site *s) {
        make_file(s->home, "beside/f", "text\n");
        make_file(s->home, "beside/g", "more\n");
}

static void open_asking(const struct site *s, struct client *c, const char *version,
                        const char *capabilities) {
        client_start(s, c, OPTIONS("--ask", "--name", "asks"));
        (void)json_object_put(client_initialize(c, version, capabilities));
}

/* What the client's user is asked next, and the answer to that. */
static void answer_next(const struct client *c, const char *wants, const char *path, const char *folder,
                        const char *result) {
        struct json_object *o = client_read(c);
        _cleanup_free_ char *
                shown = text_of(") %s %s, which isn't exposed. Show it, read-only, until the "
                                "session ends?",
                                wants, path),
               *titles =
                       folder ? text_of("[\"no, and nothing else in %s\",\"yes, this file\",\"no, and ask no "
                                        "more of this command\",\"yes, all of %s\"]",
                                        folder, folder)
                              : NULL,
               *reply = NULL;

        expect_at(o, "method", "\"elicitation/create\"");
        expect_in(text_at(o, "params.message"), shown);
        expect_at(o, "params.requestedSchema.properties.confirm.enum",
                  folder ? "[\"no\",\"yes\",\"never\",\"folder\"]" : "[\"no\",\"yes\",\"never\"]");
        if (titles)
                expect_at(o, "params.requestedSchema.properties.confirm.enumNames", titles);
        expect_at(o, "params.requestedSchema.properties.access.enum",
                  folder ? "[\"ro\",\"rw\",\"overlay\"]" : "[\"ro\",\"rw\"]");
        expect_at(o, "params.requestedSchema.properties.access.default", "\"ro\"");
        expect_at(o, "params.requestedSchema.properties.always.type", "\"boolean\"");
        expect_at(o, "params.requestedSchema.required", "[\"confirm\"]");
        reply = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", text_at(o, "id"), result);
        (void)json_object_put(o);
        client_send(c, reply);
}

static void expect_answered(struct client *c, unsigned id, const char *part, const char *status) {
        struct json_object *o = client_answer(c, id);
        _cleanup_free_ char *end = text_of("exit status: %s", status);

        expect_in(text_at(o, "result.content.0.text"), part);
        expect_in(text_at(o, "result.content.0.text"), end);
        (void)json_object_put(o);
}

TEST(a_call_waits_for_the_clients_user) {
        static const struct {
                const char *result, *part, *status;
        } cases[] = {
                {SAYS("no"), "beside/f: No such file", "1"},
                {"\"result\":{\"action\":\"decline\"}", "beside/f: No such file", "1"},
                {"\"result\":{\"action\":\"cancel\"}", "beside/f: No such file", "1"},
                {"\"result\":{\"action\":\"accept\"}", "beside/f: No such file", "1"},
                {SAYS("Yes"), "beside/f: No such file", "1"},
                {"\"result\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}",
                 "beside/f: No such file", "1"},
                {SAYS("yes"), "\ntext\n", "0"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *g = path_of(s->home, "beside/g"), *other = path_of(s->home, "other");
        struct client c;
        unsigned id;

        make_beside(s);
        make_file(s->home, "other", "other\n");
        open_asking(s, &c, "2025-06-18", ELICITS);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                id = client_begin(&c, "bash", READS);
                answer_next(&c, "wants to read", f, beside, cases[i].result);
                expect_answered(&c, id, cases[i].part, cases[i].status);
        }
        id = client_begin(&c, "bash",
                          "{\"command\":\"cat ~/beside/g; cat ~/other; cat ~/beside/f; ls ~/beside\"}");
        answer_next(&c, "wants to read", g, beside, SAYS("folder"));
        /* Of this one there is no folder to be shown. */
        answer_next(&c, "wants to read", other, NULL, SAYS("folder"));
        expect_answered(&c, id, "more\ncat: ", "0");
        id = client_begin(&c, "bash", "{\"command\":\"cat ~/other; cat ~/.profile\"}");
        answer_next(&c, "wants to read", other, NULL, SAYS("never"));
        expect_answered(&c, id, "other: No such file", "1");
        client_close(&c, "");
}

/* What is chosen besides is heard; what is no choice is a no. */
TEST(the_clients_user_chooses_access_and_saves) {
        static const char *const nos[] = {
                SAYS_WITH("yes", "\"access\":\"RW\""), SAYS_WITH("yes", "\"access\":true"),
                SAYS_WITH("yes", "\"access\":null"), SAYS_WITH("no", "\"access\":\"rw\",\"always\":true")};
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *other = path_of(s->home, "other"), *more = path_of(s->home, "more/x"),
                            *folder = path_of(s->home, "more"),
                            *config = path_of(s->home, ".config/nsrun/config.json"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;
        unsigned id;

        make_beside(s);
        make_file(s->home, "other", "other\n");
        make_file(s->home, "more/x", "x\n");
        open_asking(s, &c, "2025-06-18", ELICITS);
        for (size_t i = 0; i < ARRAY_SIZE(nos); i++) {
                id = client_begin(&c, "bash", READS);
                answer_next(&c, "wants to read", f, beside, nos[i]);
                expect_answered(&c, id, "beside/f: No such file", "1");
        }
        id = client_begin(&c, "bash", "{\"command\":\"cat ~/other; echo more >>~/other; cat ~/other\"}");
        answer_next(&c, "wants to read", other, NULL, SAYS_WITH("yes", "\"access\":\"rw\",\"always\":true"));
        expect_answered(&c, id, "other\nother\nmore\n", "0");
        text = file_text(config);
        expect_in(text, "{\"writable\": [\"~/other\"]}");
        id = client_begin(&c, "bash", "{\"command\":\"echo new >~/more/x; cat ~/more/x\"}");
        /* A file is no overlay: it is asked again. */
        answer_next(&c, "wants to write", more, folder,
                    SAYS_WITH("yes", "\"access\":\"overlay\",\"always\":true"));
        answer_next(&c, "wants to write", more, folder,
                    SAYS_WITH("folder", "\"access\":\"overlay\",\"always\":\"true\""));
        expect_answered(&c, id, "new\n", "0");
        on_host(s, "cat ~/other ~/more/x; grep -c overlay ~/.config/nsrun/config.json || :", &o);
        expect_out(&o, "other\nmore\nx\n0\n");
        client_close(&c, "");
}

/* A name is itself, and what was asked about alone is shown. */
TEST(what_the_clients_user_sees_is_what_is_shown) {
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *path = path_of(s->home, "a\\x1b[2J"), *shown = text_of("'%s'", path);
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;
        unsigned id;

        make_beside(s);
        on_host(s, "cd; mkdir secret; echo secret >secret/f; echo text >\"$(printf 'a\\033[2J')\"", &o);
        open_asking(s, &c, "2025-06-18", ELICITS);
        id = client_begin(&c, "bash",
                          "{\"command\":\"cat ~/a*; cat \\\"$HOME/$(printf 'a\\\\033[2J')\\\"\"}");
        answer_next(&c, "wants to read", shown, NULL, SAYS("yes"));
        expect_answered(&c, id, "\ntext\n", "0");
        id = client_begin(&c, "bash", READS);
        {
                struct json_object *asked = client_read(&c);
                _cleanup_free_ char *reply = text_of(
                        "{\"jsonrpc\":\"2.0\",\"id\":\"%s\"," SAYS("folder") "}", text_at(asked, "id"));

                expect_in(text_at(asked, "params.message"), f);
                (void)json_object_put(asked);
                outcome_clear(&o);
                on_host(s, "cd; mv beside moved; mv secret beside", &o);
                client_send(&c, reply);
        }
        expect_answered(&c, id, "beside/f: No such file", "1");
        id = client_begin(&c, "bash", READS);
        answer_next(&c, "wants to read", f, beside, SAYS("yes"));
        expect_answered(&c, id, "secret\n", "0");
        client_close(&c, "");
}

TEST(a_question_ends_with_its_call) {
        const struct site *s = *state;
        struct json_object *o, *asked;
        struct client c;
        _cleanup_free_ char *late = NULL;
        unsigned id;

        make_beside(s);
        open_asking(s, &c, "2025-06-18", ELICITS);
        /* A time that is over before the command could ask is too short. */
        for (unsigned seconds = 1;; seconds *= 2) {
                _cleanup_free_ char *call = text_of("{\"command\":\"cat ~/beside/f; sleep "
                                                    "1000\",\"timeout\":%u}",
                                                    seconds);

                id = client_begin(&c, "bash", call);
                asked = client_read(&c);
                if (json_object_object_get(asked, "method"))
                        break;
                (void)json_object_put(asked);
        }
        expect_at(asked, "method", "\"elicitation/create\"");
        o = client_read(&c);
        expect_at(o, "method", "\"notifications/cancelled\"");
        assert_string_equal(text_at(o, "params.requestId"), text_at(asked, "id"));
        (void)json_object_put(o);
        /* An answer that comes too late is none. */
        late = text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\"," SAYS("yes") "}", text_at(asked, "id"));
        (void)json_object_put(asked);
        client_send(&c, late);
        o = client_answer(&c, id);
        /* Its time is over: cat may be killed within its message. */
        expect_in(text_at(o, "result.content.0.text"), "timed out");
        expect_not_in(text_at(o, "result.content.0.text"), "\ntext\n");
        expect_at(o, "result.isError", "true");
        (void)json_object_put(o);
        /* The call is cancelled: it has no answer. */
        id = client_begin(&c, "bash", READS);
        (void)json_object_put(client_read(&c));
        {
                _cleanup_free_ char *params = text_of("{\"requestId\":%u}", id);

                client_notify(&c, "notifications/cancelled", params);
        }
        expect_call(&c, "bash", "{\"command\":\"echo here\"}", "$ echo here\nhere\n\n\nexit status: 0",
                    false);
        /* Nobody is there to answer: the input has ended. */
        (void)client_begin(&c, "bash", READS);
        (void)json_object_put(client_read(&c));
        (void)close(c.in);
        o = client_read(&c);
        expect_in(text_at(o, "result.content.0.text"), "beside/f: No such file");
        (void)json_object_put(o);
        {
                _cleanup_outcome_ struct outcome end = {0};

                finish(&c.running, &end);
                expect_status(&end, 0);
                (void)json_object_put(c.notices);
        }
        collect_orphans();
}

/* Who has asked is killed while the client's user is asked: the question is taken back, the command's end is
 * its own, and an answer that comes then shows nothing. */
TEST(a_question_ends_with_who_has_asked) {
        static const char kills[] = "{\"command\":\"cat ~/beside/f >/dev/null 2>&1 & until [ -e go ]; do :; "
                                    "done; kill -9 $!; wait; echo went on\"}",
                          leaves[] = "{\"command\":\"cat ~/beside/f >/dev/null 2>&1 & until [ -e gone ]; do "
                                     ":; done; echo went on\"}";
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f");
        struct client c;

        make_beside(s);
        open_asking(s, &c, "2025-06-18", ELICITS);
        for (unsigned i = 0; i < 2; i++) {
                unsigned id = client_begin(&c, "bash", i ? leaves : kills);
                struct json_object *asked = client_read(&c), *o;
                _cleanup_free_ char *late =
                        text_of("{\"jsonrpc\":\"2.0\",\"id\":\"%s\"," SAYS("yes") "}", text_at(asked, "id"));

                make_file(s->project, i ? "gone" : "go", "");
                o = client_read(&c);
                expect_at(o, "method", "\"notifications/cancelled\"");
                assert_string_equal(text_at(o, "params.requestId"), text_at(asked, "id"));
                (void)json_object_put(o);
                (void)json_object_put(asked);
                client_send(&c, late);
                o = client_answer(&c, id);
                expect_in(text_at(o, "result.content.0.text"), "went on\n\n\nexit status: 0");
                expect_not_in(text_at(o, "result.content.0.text"), "timed out");
                (void)json_object_put(o);
        }
        {
                unsigned id = client_begin(&c, "bash", READS);

                answer_next(&c, "wants to read", f, beside, SAYS("no"));
                expect_answered(&c, id, "beside/f: No such file", "1");
        }
        client_close(&c, "");
}

/* `nsrun session ask` is, and else nobody. */
TEST(of_a_client_that_cannot_ask_others_are_asked) {
        static const char *const refusal = "\"error\":{\"code\":-1,\"message\":\"no\"}";
        const struct site *s = *state;
        _cleanup_free_ char *beside = path_of(s->home, "beside"), *f = path_of(s->home, "beside/f"),
                            *g = path_of(s->home, "beside/g"), *shown = text_of("nsrun: %s is shown;", f);
        _cleanup_outcome_ struct outcome o = {0};
        static struct talk t;
        struct client c;
        char code[3];
        unsigned id;

        make_beside(s);
        open_asking(s, &c, "2024-11-05", ELICITS);
        id = client_begin(&c, "bash", READS);
        expect_answered(&c, id,
                        "files that aren't exposed are refused: nobody is there to be asked; 'nsrun session "
                        "ask' asks at a terminal",
                        "1");
        t = (struct talk){0};
        start_talk(&t, s->root, OPTIONS(program(), "session", "ask", "asks"));
        await(&t, "until the session ends\r\n");
        id = client_begin(&c, "bash", READS);
        await(&t, " for this file");
        memcpy(code, t.text + t.seen - strlen("12 for this file"), 2);
        code[2] = '\0';
        {
                _cleanup_free_ char *line = text_of("y%s\n", code);

                type(&t, line);
        }
        await(&t, shown);
        expect_answered(&c, id, "\ntext\n", "0");
        client_end(&c, "");
        end_talk_alone(&t, &o);
        expect_status(&o, 0);
        open_asking(s, &c, "2025-06-18", ELICITS);
        id = client_begin(&c, "bash", "{\"command\":\"cat ~/beside/g\"}");
        answer_next(&c, "wants to read", g, beside, refusal);
        expect_answered(&c, id, "nobody is there to be asked", "1");
        client_close(&c, "");
}

TEST(a_server_that_cannot_ask_does_not_start) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN_IN(s->root, &o, "mcp", "--project", s->project, "--ask", "--hide=x");
        expect_refusal(
                &o, 125,
                "nsrun: with --hide a sandbox is shown nothing more; leave out the questions about files (--ask), "
                "and name them");
        collect_orphans();
}

int main(void) {
        return run_all_tests();
}
