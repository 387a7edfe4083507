/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp`, version 2026-07-28: no handshake, each request with its own terms, questions as results. */
#include "mcp.h"

#define KEY                  "io.modelcontextprotocol/"
#define SPOKEN               "\"" KEY "protocolVersion\":\"2026-07-28\""
#define META(capabilities)   "\"_meta\":{" SPOKEN ",\"" KEY "clientCapabilities\":{" capabilities "}}"
#define ELICITS              "\"elicitation\":{\"form\":{}}"
#define YES                  "\"inputResponses\":{\"confirm\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}}"
#define NO_STATE             "requestState is of no question of this call that waits for its answer"
#define QUESTION             "result.inputRequests.confirm"
#define TOOL(name, rest)     "{\"name\":\"" name "\",\"arguments\":{}," rest "}"
#define BASH(command, rest)  "{\"name\":\"bash\",\"arguments\":{\"command\":\"" command "\"}," rest "}"
#define META_KEY(object, at) json_object_object_get(member_of(object, at), KEY "serverInfo")

static struct json_object *ask(struct client *c, const char *method, const char *params) {
        return client_answer(c, client_request(c, method, params));
}

static void expect_refused(struct client *c, const char *method, const char *params, const char *error) {
        struct json_object *o = ask(c, method, params);

        expect_at(o, "error", error);
        (void)json_object_put(o);
}

TEST(a_client_without_a_handshake_is_told_who_serves_it_and_served) {
        struct json_object *o;
        struct client c;

        client_start(*state, &c, (const char *const[]){NULL});
        o = ask(&c, "server/discover", "{" META("") "}");
        expect_at(o, "result.resultType", "\"complete\"");
        expect_at(o, "result.supportedVersions", "[\"2026-07-28\"]");
        expect_at(o, "result.capabilities", "{\"tools\":{\"listChanged\":false},\"logging\":{}}");
        expect_at(o, "result.cacheScope", "\"private\"");
        expect_at(o, "result.ttlMs", "60000");
        expect_in(text_at(o, "result.instructions"), "one sandbox");
        expect_at(META_KEY(o, "result._meta"), "name", "\"nsrun\"");
        (void)json_object_put(o);
        o = ask(&c, "tools/list", "{" META("") "}");
        expect_at(o, "result.resultType", "\"complete\"");
        expect_at(o, "result.ttlMs", "60000");
        expect_at(o, "result.tools.0.title", "\"Run a command\"");
        (void)json_object_put(o);
        o = ask(&c, "tools/call", BASH("echo hi >/tmp/f", META("")));
        expect_at(o, "result.resultType", "\"complete\"");
        expect_at(o, "result.isError", "false");
        (void)json_object_put(o);
        /* An older client on the same connection, and the same session. */
        o = client_initialize(&c, "2026-07-28", CAPABILITIES_NONE);
        expect_at(o, "result.protocolVersion", "\"2025-11-25\"");
        (void)json_object_put(o);
        o = client_call(&c, "read", "{\"file_path\":\"/tmp/f\"}");
        expect_at(o, "result", "{\"content\":[{\"type\":\"text\",\"text\":\"hi\\n\"}],\"isError\":false}");
        (void)json_object_put(o);
        client_close(&c, "");
}

TEST(what_is_wrong_with_a_requests_own_terms_is_said) {
        static const struct {
                const char *method, *params, *error;
        } cases[] = {
                {"tools/list", "{}",
                 "{\"code\":-32602,\"message\":\"_meta has no " KEY
                 "protocolVersion, and no initialize came before\"}"},
                {"server/discover", "{}",
                 "{\"code\":-32602,\"message\":\"_meta: " KEY "protocolVersion is missing, or no text\"}"},
                {"tools/list", "{\"_meta\":{\"" KEY "clientCapabilities\":{}}}",
                 "{\"code\":-32602,\"message\":\"_meta: " KEY "protocolVersion is missing, or no text\"}"},
                {"tools/list", "{\"_meta\":{" SPOKEN "}}",
                 "{\"code\":-32602,\"message\":\"_meta: " KEY
                 "clientCapabilities is missing, or no object\"}"},
                {"tools/list", "{\"_meta\":{\"" KEY "protocolVersion\":\"1900-01-01\"}}",
                 "{\"code\":-32022,\"message\":\"requests of this version are not served\",\"data\":"
                 "{\"supported\":[\"2026-07-28\"],\"requested\":\"1900-01-01\"}}"},
                {"tools/list", "{\"_meta\":{\"" KEY "protocolVersion\":\"2025-11-25\"}}",
                 "{\"code\":-32022,\"message\":\"requests of this version are not served\",\"data\":"
                 "{\"supported\":[\"2026-07-28\"],\"requested\":\"2025-11-25\"}}"},
                {"tools/list",
                 "{\"_meta\":{" SPOKEN ",\"" KEY "clientCapabilities\":{},\"" KEY "logLevel\":\"loud\"}}",
                 "{\"code\":-32602,\"message\":\"_meta: there is no such level\"}"},
                {"ping", "{" META("") "}", "{\"code\":-32601,\"message\":\"there is no such method\"}"},
                {"initialize", "{" META("") "}",
                 "{\"code\":-32601,\"message\":\"there is no such method\"}"},
                {"logging/setLevel", "{" META("") ",\"level\":\"info\"}",
                 "{\"code\":-32601,\"message\":\"there is no such method\"}"},
                {"subscriptions/listen", "{" META("") "}",
                 "{\"code\":-32602,\"message\":\"notifications is missing, or no object\"}"},
                {"tools/call", BASH("true", META("") ",\"requestState\":\"x\""),
                 "{\"code\":-32602,\"message\":\"" NO_STATE "\"}"},
        };
        struct client c;

        client_start(*state, &c, (const char *const[]){NULL});
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                expect_refused(&c, cases[i].method, cases[i].params, cases[i].error);
        /* What one request said is not the next one's. */
        (void)json_object_put(ask(&c, "tools/list", "{" META("") "}"));
        expect_refused(&c, cases[0].method, cases[0].params, cases[0].error);
        client_close(&c, "");
}

TEST(progress_cancelling_and_the_log_are_a_requests_own) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo"), *cancel = NULL;
        struct json_object *o;
        struct client c;
        char byte;
        int fd;

        assert_int_equal(mkfifo(fifo, 0666), 0);
        assert_int_equal(chmod(fifo, 0666), 0);
        client_start(s, &c, (const char *const[]){NULL});
        cancel = text_of("{\"requestId\":%u}",
                         client_request(&c, "tools/call", BASH("exec 9>fifo; sleep 1000", META(""))));
        fd = open(fifo, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        client_notify(&c, "notifications/cancelled", cancel);
        assert_int_equal(read(fd, &byte, 1), 0);
        (void)close(fd);
        (void)json_object_put(
                ask(&c, "tools/call",
                    BASH("echo half; read -t 1.3 <> <(:)",
                         "\"_meta\":{" SPOKEN ",\"" KEY "clientCapabilities\":{},\"progressToken\":7}")));
        if (json_object_array_length(c.notices) == 0)
                fail_msg("no progress was told");
        o = json_object_array_get_idx(c.notices, 0);
        expect_at(o, "method", "\"notifications/progress\"");
        expect_at(o, "params.progressToken", "7");
        client_close(&c, "");
}

TEST(a_subscription_to_what_never_changes_is_acknowledged_and_ends_with_the_server) {
        struct json_object *o;
        struct client c;
        _cleanup_free_ char *cancel = NULL;
        unsigned id;

        client_start(*state, &c, (const char *const[]){NULL});
        id = client_request(&c, "subscriptions/listen",
                            "{" META("") ",\"notifications\":{\"toolsListChanged\":true}}");
        o = client_read(&c);
        expect_at(o, "method", "\"notifications/subscriptions/acknowledged\"");
        expect_at(o, "params", "{\"_meta\":{\"" KEY "subscriptionId\":1},\"notifications\":{}}");
        (void)json_object_put(o);
        cancel = text_of("{\"requestId\":%u}", id);
        client_notify(&c, "notifications/cancelled", cancel);
        (void)client_request(&c, "subscriptions/listen", "{" META("") ",\"notifications\":{}}");
        (void)json_object_put(client_read(&c));
        client_send(&c,
                    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{" META("") "}}");
        o = client_read(&c);
        expect_at(o, "error.message", "\"a request of this id has no answer yet\"");
        (void)json_object_put(o);
        client_close(
                &c, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\",\"_meta\":{\"" KEY
                    "subscriptionId\":2}}}\n");
}

/* Calls a tool that asks: the state of the question, for the caller to free. */
static char *expect_question(struct client *c, const char *tool, const char *rest, const char *shown) {
        _cleanup_free_ char *params =
                text_of("{\"name\":\"%s\",\"arguments\":{}," META(ELICITS) "%s}", tool, rest);
        struct json_object *o = ask(c, "tools/call", params);
        char *stands_for;

        expect_at(o, "result.resultType", "\"input_required\"");
        expect_at(o, QUESTION ".method", "\"elicitation/create\"");
        expect_at(o, QUESTION ".params.requestedSchema.required", "[\"confirm\"]");
        expect_in(text_at(o, QUESTION ".params.message"), shown);
        stands_for = strdup(text_at(o, "result.requestState"));
        assert_int_equal(strlen(stands_for), 64);
        (void)json_object_put(o);
        return stands_for;
}

/* A call again, with an answer: what the model is told. */
static void expect_answered(struct client *c, const char *tool, const char *stands_for, const char *answer,
                            const char *text) {
        _cleanup_free_ char *params =
                text_of("{\"name\":\"%s\",\"arguments\":{}," META(ELICITS) ",\"requestState\":\"%s\",%s}",
                        tool, stands_for, answer);
        struct json_object *o = ask(c, "tools/call", params);

        if (startswith(text, "-32602"))
                expect_at(o, "error", "{\"code\":-32602,\"message\":\"" NO_STATE "\"}");
        else
                assert_string_equal(text_at(o, "result.content.0.text"), text);
        (void)json_object_put(o);
}

TEST(a_commit_is_asked_for_by_its_result_and_done_by_a_call_with_the_answer) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "f"), *one = NULL, *two = NULL, *three = NULL,
                            *forged = NULL, *again = NULL, *new = NULL, *rest = NULL;
        struct json_object *o;
        struct client c, other;

        make_file(s->project, "f", "old\n");
        client_start(s, &c, OPTIONS("--overlay", s->project, "--ask-commit"));
        expect_refused(&c, "tools/call", TOOL("commit", META("")),
                       "{\"code\":-32021,\"message\":\"the client can't ask its user\",\"data\":"
                       "{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}}}");
        (void)json_object_put(ask(&c, "tools/call", BASH("echo new >f", META(""))));
        one = expect_question(&c, "commit", "", "Commit these changes?\n\nM  f\n\ndiff --git");
        expect_answered(&c, "commit", one, "\"inputResponses\":{\"confirm\":{\"action\":\"decline\"}}",
                        "Error: the user declined");
        /* Once, and no other number than that. */
        expect_answered(&c, "commit", one, YES, "-32602");
        two = expect_question(&c, "commit", "", "M  f\n");
        forged = strdup(two);
        forged[0] = forged[0] == '0' ? '1' : '0';
        expect_answered(&c, "commit", forged, YES, "-32602");
        client_start(s, &other, OPTIONS("--overlay", s->project, "--ask-commit"));
        expect_answered(&other, "commit", two, YES, "-32602");
        client_end(&other, "");
        /* A yes to other changes, or to another tool, or none at all, is a new question. */
        (void)json_object_put(ask(&c, "tools/call", BASH("echo newer >f", META(""))));
        rest = text_of(",\"requestState\":\"%s\"," YES, two);
        three = expect_question(&c, "commit", rest, "+newer\n");
        free(rest);
        rest = text_of(",\"requestState\":\"%s\"," YES, three);
        again = expect_question(&c, "discard", rest, "Discard these changes?");
        free(rest);
        rest = text_of(",\"requestState\":\"%s\",\"inputResponses\":{}", again);
        free(again);
        again = expect_question(&c, "commit", rest, "Commit these changes?");
        new = file_text(file);
        assert_string_equal(new, "old\n");
        free(new);
        expect_answered(&c, "commit", again, YES, "committed 1 path\n");
        new = file_text(file);
        assert_string_equal(new, "newer\n");
        o = ask(&c, "tools/list", "{" META("") "}");
        expect_in(json_object_to_json_string(o), "\"name\": \"commit\"");
        (void)json_object_put(o);
        client_close(&c, "");
}

int main(void) {
        return run_all_tests();
}
