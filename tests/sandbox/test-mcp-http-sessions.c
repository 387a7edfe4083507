/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp --http`: sessions, their questions, and clients that come back to them. */
#include "mcp-http.h"

TEST(sessions_are_apart_and_end_when_they_are_deleted_or_their_place_is_wanted) {
        const struct site *s = *state;
        _cleanup_free_ char *one = NULL, *other = NULL;
        struct http h;

        HTTP_OPEN_PLAIN(s, &h);
        one = begin_session(&h);
        other = begin_session(&h);
        assert_string_not_equal(one, other);
        expect_answer(
                send_in(&h, one, "POST", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                "202", "");
        expect_answer(send_in(&h, one, "POST", BASH("echo one >/tmp/f")), "400", "-32020");
        expect_answer(
                send_in(&h, one, "POST",
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                        "\"arguments\":{\"command\":\"echo one >/tmp/f\"}}}"),
                "200", "exit status: 0");
        expect_answer(
                send_in(&h, other, "POST",
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                        "\"arguments\":{\"command\":\"cat /tmp/f\"}}}"),
                "200", "exit status: 1");
        expect_answer(send_in(&h, other, "DELETE", ""), "204", "");
        expect_answer(send_in(&h, other, "POST", PING), "404", "there is no such session");
        for (size_t i = 0; i < 32; i++)
                free(begin_session(&h));
        expect_answer(send_in(&h, one, "POST", PING), "404", "there is no such session");
        http_close(s, &h, "");
}

TEST(a_session_asks_on_the_calls_own_stream) {
        const struct site *s = *state;
        _cleanup_free_ char *session = NULL, *stream = NULL, *asked = NULL, *text = NULL;
        struct http h;
        int fd, listening;

        make_file(s->project, "f", "old\n");
        HTTP_OPEN(s, &h, "--overlay", s->project, "--ask-commit", "--project", s->project);
        session = begin_session(&h);
        listening = send_in(&h, session, "GET", "");
        stream = receive(listening, "\r\n\r\n");
        expect_in(stream, "Content-Type: text/event-stream");
        expect_answer(send_in(&h, session, "GET", ""), "409", "the session has a stream already");
        expect_answer(
                send_in(&h, session, "POST",
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                        "\"arguments\":{\"command\":\"echo new >f\"}}}"),
                "200", "exit status: 0");
        fd = send_in(
                &h, session, "POST",
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"commit\"}}");
        asked = receive(fd, "\n\n");
        expect_in(asked, "data: {\"jsonrpc\":\"2.0\",\"id\":\"nsrun-1\",\"method\":\"elicitation/create\"");
        expect_answer(
                send_in(&h, session, "POST",
                        "{\"jsonrpc\":\"2.0\",\"id\":\"nsrun-1\",\"result\":{\"action\":\"accept\",\"content\":"
                        "{\"confirm\":true}}}"),
                "202", "");
        text = answer_to(fd);
        expect_in(text, "committed 1 path");
        (void)close(listening);
        close_committed(s, &h);
}

/* Who has the token isn't known: it is no answer of the client's that shows a file. */
TEST(a_client_is_not_asked_about_files) {
        const struct site *s = *state;
        _cleanup_free_ char *session = NULL, *text = NULL;
        struct http h;
        int fd;

        make_file(s->home, "beside/f", "text\n");
        HTTP_OPEN(s, &h, "--ask", "--project", s->project);
        session = begin_session(&h);
        fd = send_in(&h, session, "POST",
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                     "\"arguments\":{\"command\":\"cat ~/beside/f\"}}}");
        text = receive(fd, "elicitation");
        (void)close(fd);
        expect_not_in(text, "elicitation");
        expect_in(text, "nobody is there to be asked");
        http_close(s, &h, "");
}

/* A GET that goes on behind an event. */
static int send_back(const struct http *h, const char *session, const char *last) {
        _cleanup_free_ char *headers = text_of(
                JSON "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\nLast-Event-ID: %s\r\n",
                session, last);

        return send_as(h, "GET", headers, "");
}

TEST(a_client_that_comes_back_gets_the_answer_that_it_has_missed) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo"), *session = NULL, *other = NULL,
                            *begun = NULL, *last = NULL, *answer = NULL, *again = NULL, *after = NULL;
        struct http h;
        int fd;
        char *at;

        assert_int_equal(mkfifo(fifo, 0666), 0);
        assert_int_equal(chmod(fifo, 0666), 0);
        HTTP_OPEN_PLAIN(s, &h);
        session = begin_session(&h);
        other = begin_session(&h);
        fd = send_in(&h, session, "POST",
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                     "\"arguments\":{\"command\":\"read x <fifo; echo la${x}te\"}}}");
        begun = receive(fd, "data: \n\n");
        (void)close(fd);
        at = strstr(begun, "\nid: ");
        assert_non_null(at);
        last = strndup(at + 5, strcspn(at + 5, "\n"));
        fd = open(fifo, O_WRONLY | O_CLOEXEC);
        assert_int_equal(write(fd, "\n", 1), 1);
        (void)close(fd);
        answer = answer_to(send_back(&h, session, last));
        expect_in(answer, "Content-Type: text/event-stream");
        expect_in(answer, "late\\n\\n\\nexit status: 0");
        /* It may be lost on its way again. */
        again = answer_to(send_back(&h, session, last));
        expect_in(again, "late\\n\\n\\nexit status: 0");
        at = strstr(again, "\nid: ");
        assert_non_null(at);
        free(last);
        last = strndup(at + 5, strcspn(at + 5, "\n"));
        after = answer_to(send_back(&h, session, last));
        assert_null(strstr(after, "data:"));
        /* It is no other session's. */
        expect_answer(send_back(&h, other, last), "400", "there is no such event of a stream, or no more");
        expect_answer(send_back(&h, session, "99-0"), "400",
                      "there is no such event of a stream, or no more");
        http_close(s, &h, "");
}

int main(void) {
        return run_all_tests();
}
