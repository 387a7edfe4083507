/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp --http`: who may ask, requests without a session, and what a sandbox's commands get at. */
#include "mcp-http.h"

TEST(who_has_not_the_token_and_what_a_web_page_sends_is_refused) {
        static const struct {
                const char *host;
                bool has_no_port;
                const char *scheme, *more, *status, *message; /* no scheme: no token */
        } cases[] = {
                {"127.0.0.1", false, NULL, "", "401", "the token is missing or wrong"},
                {"127.0.0.1", false, "Bearer 0", "", "401", "the token is missing or wrong"},
                {"127.0.0.1", false, "Basic ", "", "401", "the token is missing or wrong"},
                {"127.0.0.1", false, "Bearer ", "Authorization: Bearer x\r\n", "400",
                 "a header is there twice"},
                {"evil.example", false, "Bearer ", "", "403", "the Host is another one than this server"},
                {"127.0.0.1", true, "Bearer ", "", "403", "the Host is another one than this server"},
                {"127.0.0.1", false, "Bearer ", "Origin: http://evil.example\r\n", "403",
                 "no other web page may ask"},
                {"127.0.0.1", false, "Bearer ", "Origin: null\r\n", "403", "no other web page may ask"},
                {"localhost", false, "Bearer ", "", "200", "\"result\""},
                {"127.0.0.1", false, "bearer ", "", "200", "\"result\""},
        };
        const struct site *s = *state;
        struct http h;

        HTTP_OPEN_PLAIN(s, &h);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *scheme = cases[i].scheme;
                _cleanup_free_ char *port = text_of(":%u", h.port),
                                    *token = scheme ? text_of("Authorization: %s%s\r\n", scheme, h.token)
                                                    : strdup(""),
                                    *head = text_of("POST /mcp HTTP/1.1\r\nHost: %s%s\r\n" JSON "%s%s",
                                                    cases[i].host, cases[i].has_no_port ? "" : port, token,
                                                    cases[i].more);

                expect_answer(send_head(&h, head, INITIALIZE), cases[i].status, cases[i].message);
        }
        http_close(s, &h, "");
}

TEST(a_request_for_itself_is_judged_by_its_headers_and_shares_one_session) {
        static const struct {
                const char *headers, *body, *status, *part;
        } cases[] = {
                {CALLS, BASH("echo one >/tmp/f"), "200", "exit status: 0"},
                {CALLS, BASH("cat /tmp/f"), "200", "one\\n"},
                {MODERN "Mcp-Method: tools/call\r\nMcp-Name: =?base64?YmFzaA==?=\r\n", BASH("true"), "200",
                 "\"id\":\"b\",\"result\":{\"resultType\":\"complete\""},
                {MODERN "Mcp-Method: tools/call\r\nMcp-Name: =?base64?YmFzaAB4?=\r\n", BASH("true"), "400",
                 ERROR("-32020", "the header Mcp-Name is missing, or not the tool's name")},
                {"Mcp-Method: tools/call\r\nMcp-Name: bash\r\n", BASH("true"), "400",
                 ERROR("-32020", "the header MCP-Protocol-Version is missing, or not what _meta says")},
                {"MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/call\r\nMcp-Name: bash\r\n",
                 BASH("true"), "400",
                 ERROR("-32020", "the header MCP-Protocol-Version is missing, or not what _meta says")},
                {MODERN "Mcp-Name: bash\r\n", BASH("true"), "400",
                 ERROR("-32020", "the header Mcp-Method is missing, or not the message's method")},
                {MODERN "Mcp-Method: tools/call\r\nMcp-Name: read\r\n", BASH("true"), "400",
                 ERROR("-32020", "the header Mcp-Name is missing, or not the tool's name")},
                {MODERN "Mcp-Method: tools/list\r\n",
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}", "400",
                 ERROR("-32602", "_meta: " KEY "protocolVersion is missing, or no text")},
                {"MCP-Protocol-Version: 1900-01-01\r\nMcp-Method: ping\r\n",
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{\"" KEY
                 "protocolVersion\":\"1900-01-01\"}}}",
                 "400", ERROR("-32022", "requests of this version are not served")},
                {MODERN "Mcp-Method: ping\r\n",
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}", "404",
                 ERROR("-32601", "there is no such method")},
                {MODERN, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", "202", ""},
                {MODERN, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "400",
                 ERROR("-32600", "no request was sent to the client")},
                {"", "[]", "400", ERROR("-32600", "a message is an object")},
                {"", "{", "400", ERROR("-32700", "no JSON")},
                {"", PING, "400", ERROR("-32600", "the header Mcp-Session-Id is missing")},
                {"Mcp-Session-Id: x\r\n", PING, "404", ERROR("-32600", "there is no such session")},
        };
        const struct site *s = *state;
        struct http h;

        HTTP_OPEN_PLAIN(s, &h);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *headers = text_of(JSON "%s", cases[i].headers);

                expect_answer(send_as(&h, "POST", headers, cases[i].body), cases[i].status, cases[i].part);
        }
        expect_answer(send_as(&h, "GET", JSON, ""), "405", "Allow: POST");
        expect_answer(send_as(&h, "DELETE", JSON, ""), "405", "Allow: POST");
        expect_answer(send_as(&h, "POST", "Content-Type: text/plain\r\nAccept: */*\r\n", "{}"), "415",
                      "the Content-Type is not application/json");
        expect_answer(send_as(&h, "POST", "Content-Type: application/json\r\nAccept: text/html\r\n", "{}"),
                      "406", "are to be accepted");
        http_close(s, &h, "");
}

/* Of one process for each request, all know the questions. */
TEST(a_question_is_answered_by_another_request_once) {
        const struct site *s = *state;
        _cleanup_free_ char *asked = NULL, *body = NULL, *text = NULL;
        static const char
                headers[] = JSON MODERN "Mcp-Method: tools/call\r\nMcp-Name: commit\r\n",
                commit[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                           "\"commit\"," META "%s}}";
        struct http h;
        char *at;

        make_file(s->project, "f", "old\n");
        HTTP_OPEN(s, &h, "--overlay", s->project, "--ask-commit", "--project", s->project);
        expect_answer(send_as(&h, "POST", JSON CALLS, BASH("echo new >f")), "200", "exit status: 0");
        body = text_of(commit, "");
        asked = answer_to(send_as(&h, "POST", headers, body));
        expect_in(asked, "\"resultType\":\"input_required\"");
        at = strstr(asked, "\"requestState\":");
        assert_non_null(at);
        at[strlen("\"requestState\":\"") + 65] = '\0';
        text = text_of(
                ",%s,\"inputResponses\":{\"confirm\":{\"action\":\"accept\",\"content\":{\"confirm\":true}}}",
                at);
        free(body);
        body = text_of(commit, text);
        expect_answer(send_as(&h, "POST", headers, body), "200", "committed 1 path");
        expect_answer(
                send_as(&h, "POST", headers, body), "200",
                ERROR("-32602", "requestState is of no question of this call that waits for its answer"));
        close_committed(s, &h);
}

TEST(a_client_that_goes_ends_what_it_asked_for_itself) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo");
        struct http h;
        char byte;
        int fd, asking;

        assert_int_equal(mkfifo(fifo, 0666), 0);
        assert_int_equal(chmod(fifo, 0666), 0);
        HTTP_OPEN_PLAIN(s, &h);
        asking = send_as(&h, "POST", JSON CALLS, BASH("exec 9>fifo; sleep 1000; touch survived"));
        fd = open(fifo, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        (void)close(asking);
        assert_int_equal(read(fd, &byte, 1), 0);
        (void)close(fd);
        expect_answer(send_as(&h, "POST", JSON CALLS, BASH("ls survived")), "200", "exit status: 2");
        http_close(s, &h, "");
}

/* Has nsrun-http give back at once what it frees, where it is sanitized; its environment is empty. */
static void wrap_http(const struct site *s) {
        _cleanup_free_ char *text = text_of("#!/bin/sh\nASAN_OPTIONS=quarantine_size_mb=0:"
                                            "thread_local_quarantine_size_kb=0 exec %s\n",
                                            getenv("NSRUN_HTTP")),
                            *path = path_of(s->root, "nsrun-http");

        make_file(s->root, "nsrun-http", text);
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(setenv("NSRUN_HTTP", path, 1), 0);
}

static unsigned long kilobytes_of_http(const struct http *h) {
        _cleanup_free_ char *script = text_of(
                "sed -n 's/^VmRSS:[^0-9]*//p' /proc/$(pgrep -P %d nsrun-http)/status", (int)h->running.pid);
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = OPTIONS("sh", "-c", script)}, &o);
        expect_status(&o, 0);
        return strtoul(o.out, NULL, 10);
}

/* With a body of 900 KB; the client goes while it is answered. */
static void ask_and_go(const struct http *h, const char *fifo, bool resets) {
        static const struct linger reset = {1, 0};
        _cleanup_free_ char *body = calloc(1, 900001);
        int asking, fd;
        char bytes[256] = "";

        assert_non_null(body);
        memset(body, ' ', 900000);
        memcpy(body, BASH("exec 9>fifo; echo >&9; sleep 1000"),
               strlen(BASH("exec 9>fifo; echo >&9; sleep 1000")));
        fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(fd >= 0);
        asking = send_as(h, "POST", JSON CALLS, body);
        assert_true(poll((struct pollfd[]){{fd, POLLIN, 0}, {asking, POLLIN, 0}}, 2,
                         deadline_seconds * 1000) > 0);
        if (read(fd, bytes, 1) != 1) {
                (void)!read(asking, bytes, sizeof(bytes) - 1);
                fail_msg("it is answered: %s", bytes);
        }
        if (resets)
                assert_int_equal(setsockopt(asking, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        (void)close(asking);
        assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, deadline_seconds * 1000), 1);
        assert_int_equal(read(fd, bytes, 1), 0);
        (void)close(fd);
}

TEST(nothing_is_left_of_requests_whose_clients_have_gone) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo"), *before = NULL;
        unsigned long first;
        struct http h;

        if (!has_http())
                skip_because("skipped: nsrun was built without libevent");
        before = strdup(getenv("NSRUN_HTTP"));
        wrap_http(s);
        assert_int_equal(mkfifo(fifo, 0666), 0);
        assert_int_equal(chmod(fifo, 0666), 0);
        HTTP_OPEN_PLAIN(s, &h);
        assert_int_equal(setenv("NSRUN_HTTP", before, 1), 0);
        for (size_t i = 0; i < 4; i++)
                ask_and_go(&h, fifo, i % 2);
        first = kilobytes_of_http(&h);
        for (size_t i = 0; i < 16; i++)
                ask_and_go(&h, fifo, i % 2);
        if (kilobytes_of_http(&h) > first + 4000)
                fail_msg("%lu KiB, and then %lu KiB", first, kilobytes_of_http(&h));
        http_close(s, &h, "");
}

/* A command has the host's network: it finds the port, and nowhere the token.  Who has it is served. */
TEST(a_command_finds_the_port_and_no_token) {
        static const char find
                [] = "(cat /proc/*/environ /proc/*/cmdline /proc/*/maps; env; "
                     "timeout 60 grep -rsIa -m1 %s /tmp /run /var /home /root /dev/shm . --exclude-dir=proc) 2>/dev/null | "
                     "grep -aq %s && echo it is there || echo it is nowhere",
            ask[] = "exec 3<>/dev/tcp/127.0.0.1/%u; printf 'POST /mcp HTTP/1.1\\\\r\\\\nHost: "
                    "127.0.0.1:%u\\\\r\\\\nContent-Length: 0\\\\r\\\\nConnection: close\\\\r\\\\n\\\\r\\\\n' "
                    ">&3; head -n 1 <&3";
        const struct site *s = *state;
        _cleanup_free_ char *looks = NULL, *asks = NULL, *half = NULL, *both = NULL;
        struct http h;

        HTTP_OPEN_PLAIN(s, &h);
        /* An expression that isn't what it finds: the command's own words don't count. */
        half = text_of("'[%c]%s'", h.token[0], h.token + 1);
        looks = text_of(find, half, half);
        both = text_of(BASH("%s"), looks);
        make_file(s->project, "control", h.token);
        expect_answer(send_as(&h, "POST", JSON CALLS, both), "200", "\\nit is there\\n");
        make_file(s->project, "control", "nothing");
        expect_answer(send_as(&h, "POST", JSON CALLS, both), "200", "\\nit is nowhere\\n");
        free(both);
        asks = text_of(ask, h.port, h.port);
        both = text_of(BASH("%s"), asks);
        expect_answer(send_as(&h, "POST", JSON CALLS, both), "200", "HTTP/1.1 401 ");
        http_close(s, &h, "");
}

/* Outside of what the sandbox shows it may go to a file. */
TEST(a_file_that_gets_the_token_is_none_that_the_sandbox_shows) {
        static const char script[] = "exec \"$0\" mcp --http 127.0.0.1:0 --project \"$1\" 2>\"$2\"";
        const struct site *s = *state;
        _cleanup_free_ char *shown = path_of(s->project, "log"), *apart = path_of(s->root, "log"),
                            *text = NULL, *expected = NULL, *line = NULL;
        const char *argv[] = {"sh", "-c", script, program(), s->project, shown, NULL};
        _cleanup_outcome_ struct outcome refused = {0}, served = {0};
        struct running running;

        if (!has_http())
                skip_because("skipped: nsrun was built without libevent");
        run(&(struct request){.argv = argv, .cwd = s->root}, &refused);
        text = file_text(shown);
        expected = text_of(
                "nsrun: --http: the token goes to standard error: the sandbox's own commands could reach it: %s: Operation not permitted; "
                "name one in a folder of your own that no sandbox shows, as $XDG_RUNTIME_DIR\n",
                shown);
        assert_string_equal(text, expected);
        expect_status(&refused, 125);
        expect_out(&refused, "");
        argv[5] = apart;
        spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
        line = read_line(running.out);
        assert_non_null(startswith(line, "listening on http://127.0.0.1:"));
        send_signal(running.pidfd, SIGTERM);
        finish(&running, &served);
        expect_status(&served, 0);
        collect_orphans();
        expect_nothing_left(s);
        free(text);
        text = file_text(apart);
        assert_non_null(startswith(text, "nsrun: token: "));
}

/* Sends a byte of a request on each connection twice a second, until one of them was closed. */
static _Noreturn void send_slowly(const struct http *h) {
        static const char request[] =
                "POST /mcp HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        int fds[400];

        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                fds[i] = http_connect(h);
        (void)write(STDOUT_FILENO, "!", 1);
        for (size_t at = 0;; at = at < sizeof(request) - 2 ? at + 1 : at) {
                for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                        (void)send(fds[i], request + at, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
                (void)poll(NULL, 0, 500);
        }
}

/* More connections than descriptors, and none is silent. */
TEST(connections_without_a_token_keep_nobody_with_one_out_and_end) {
        const struct site *s = *state;
        static const char slow[] = BASH("echo slow");
        _cleanup_free_ char *head = NULL;
        struct http h;
        int ready[2], fd, slow_fd;
        pid_t pid;
        char byte;

        HTTP_OPEN_PLAIN(s, &h);
        /* Who has shown it, and sends the rest later, is the oldest of all. */
        head = text_of("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n" JSON CALLS
                       "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                       h.port, h.token, strlen(slow));
        slow_fd = http_connect(&h);
        assert_int_equal(write(slow_fd, head, strlen(head)), (ssize_t)strlen(head));
        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)dup2(ready[1], STDOUT_FILENO);
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                send_slowly(&h);
        }
        (void)close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        for (size_t i = 0; i < 20; i++)
                expect_answer(send_as(&h, "POST", JSON CALLS, BASH("true")), "200", "exit status: 0");
        assert_int_equal(write(slow_fd, slow, strlen(slow)), (ssize_t)strlen(slow));
        expect_answer(slow_fd, "200", "slow\\n");
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        (void)close(ready[0]);
        /* Each byte comes before silence would have ended it. */
        fd = http_connect(&h);
        for (ssize_t n = 0; n == 0;) {
                (void)send(fd, "X", 1, MSG_NOSIGNAL);
                n = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000);
        }
        assert_int_equal(read(fd, &byte, 1), 0);
        (void)close(fd);
        http_close(s, &h, "");
}

/* Half of a connection's end is no end: what is waited for comes. */
TEST(a_client_that_sends_no_more_gets_its_answer) {
        const struct site *s = *state;
        struct http h;
        int fd;

        HTTP_OPEN_PLAIN(s, &h);
        fd = send_as(&h, "POST", JSON, INITIALIZE);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        expect_answer(fd, "200", "Mcp-Session-Id: ");
        for (size_t i = 0; i < 2; i++) {
                fd = send_as(&h, "POST", JSON CALLS, i == 0 ? BASH("echo now") : BASH("sleep 1; echo now"));
                assert_int_equal(shutdown(fd, SHUT_WR), 0);
                expect_answer(fd, "200", "now\\n");
        }
        http_close(s, &h, "");
}

/* Who ends it is no client; the next request begins another, and says so once. */
TEST(a_shared_session_that_was_ended_is_begun_anew) {
        static const char note[] = "note: the session of the last calls was ended, and this is a new one: "
                                   "what was in its /tmp and its overlays, and what ran in it, is gone";
        const struct site *s = *state;
        struct http h;

        HTTP_OPEN_PLAIN(s, &h);
        for (size_t i = 0; i < 2; i++) {
                _cleanup_outcome_ struct outcome listed = {0}, ended = {0};
                _cleanup_free_ char *text = NULL, *again = NULL;
                char *id;

                text = answer_to(send_as(&h, "POST", JSON CALLS, BASH("echo one >/tmp/f")));
                expect_in(text, "exit status: 0");
                assert_true((strstr(text, note) != NULL) == (i > 0));
                again = answer_to(send_as(&h, "POST", JSON CALLS, BASH("cat /tmp/f")));
                expect_in(again, "one\\n");
                assert_null(strstr(again, note));
                NSRUN_IN(NULL, &listed, "session", "list");
                id = strchr(listed.out, '\n');
                assert_non_null(id);
                id++;
                id[strcspn(id, " ")] = '\0';
                NSRUN_IN(NULL, &ended, "session", "kill", id);
                expect_status(&ended, 0);
        }
        expect_answer(send_as(&h, "POST", JSON CALLS, BASH("cat /tmp/f")), "200", note);
        http_close(s, &h, "");
}

TEST(the_program_that_reads_http_has_no_right_that_it_does_not_need) {
        const struct site *s = *state;
        _cleanup_free_ char *script = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct http h;

        HTTP_OPEN_PLAIN(s, &h);
        expect_answer(send_as(&h, "POST", JSON CALLS, BASH("true")), "200", "exit status: 0");
        script = text_of("grep -E '^(CapPrm|NoNewPrivs|Seccomp):' /proc/$(pgrep -P %d nsrun-http)/status",
                         (int)h.running.pid);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script)}, &o);
        expect_out(&o, "CapPrm:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
        http_close(s, &h, "");
}

TEST(a_killed_server_takes_all_with_it) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *session = NULL;
        struct http h;
        int fd;

        HTTP_OPEN_PLAIN(s, &h);
        session = begin_session(&h);
        fd = send_as(&h, "POST", JSON CALLS, BASH("sleep 1000"));
        send_signal(h.running.pidfd, SIGKILL);
        finish(&h.running, &o);
        free(answer_to(fd));
        collect_orphans();
        expect_nothing_left(s);
        free(h.token);
}

TEST(a_unix_socket_needs_no_token_and_turns_sandboxes_away) {
        static const char client[] =
                "import socket, sys\n"
                "s = socket.socket(socket.AF_UNIX)\n"
                "s.connect(sys.argv[1])\n"
                "s.sendall(b'GET /mcp HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')\n"
                "print(s.makefile().read())\n";
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->root, "sockets"), *socket = path_of(s->root, "sockets/mcp");
        _cleanup_outcome_ struct outcome o = {0};
        struct http h;

        if (!has_program("python3"))
                skip_because("skipped: python3 is not installed");
        make_folder(s->root, "sockets");
        http_open(s, &h, socket, (const char *const[]){NULL});
        expect_answer(send_as(&h, "POST", JSON CALLS, BASH("echo hi")), "200", "hi\\n");
        expect_answer(send_as(&h, "POST", JSON CALLS "Origin: http://localhost\r\n", BASH("echo hi")), "403",
                      "no web page may ask");
        RUN(s, &o, "--ro", folder, "--", "/usr/bin/python3", "-c", client, socket);
        expect_status(&o, 0);
        expect_in(o.out, "HTTP/1.1 403 ");
        expect_in(o.out, "the client runs in a sandbox or container, or can't be looked at");
        http_close(s, &h, "");
}

TEST(an_address_that_is_none_is_refused) {
        static const struct {
                const char *words[6], *line;
        } cases[] = {
                {{"--http", "8080", NULL},
                 "nsrun: --http: neither 127.0.0.1:PORT nor a socket's path with a slash in it: 8080"},
                {{"--http", "0.0.0.0:80", NULL},
                 "nsrun: --http: neither 127.0.0.1:PORT nor a socket's path with a slash in it: 0.0.0.0:80"},
                {{"--http", "127.0.0.1:99999", NULL},
                 "nsrun: --http: neither 127.0.0.1:PORT nor a socket's path with a slash in it: 127.0.0.1:99999"},
                {{"--http", "127.0.0.1:0", "--listen", "/x/y", NULL},
                 "nsrun: --listen and --http can't both be; leave one of them out; see 'nsrun mcp --help'"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ const char **argv = words_of(OPTIONS(program(), "mcp"), cases[i].words);
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_refusal(&o, 125, cases[i].line);
        }
}

int main(void) {
        return run_all_tests();
}
