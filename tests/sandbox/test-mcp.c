/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp`: the protocol, its versions, what no client should send, and commands. */
#include <sched.h>
#include <sys/ioctl.h>

#include "mcp.h"

static void expect_code(struct client *c, const char *line, const char *id, const char *code,
                        const char *message) {
        struct json_object *o;

        client_send(c, line);
        o = client_read(c);
        expect_at(o, "id", id);
        expect_at(o, "error.code", code);
        assert_string_equal(text_at(o, "error.message"), message);
        (void)json_object_put(o);
}

/* ------------------------------------------------------------------ the protocol */

TEST(the_version_is_the_clients_if_it_is_known) {
        static const struct {
                const char *asked, *given;
                bool has_titles;
        } cases[] = {
                {"2024-11-05", "\"2024-11-05\"", false}, {"2025-03-26", "\"2025-03-26\"", false},
                {"2025-06-18", "\"2025-06-18\"", true},  {"2025-11-25", "\"2025-11-25\"", true},
                {"2001-01-01", "\"2025-11-25\"", true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct json_object *o;
                struct client c;

                client_start(*state, &c, (const char *const[]){NULL});
                o = client_initialize(&c, cases[i].asked, CAPABILITIES_NONE);
                expect_at(o, "result.protocolVersion", cases[i].given);
                expect_at(o, "result.serverInfo.name", "\"nsrun\"");
                (void)json_object_put(o);
                o = client_answer(&c, client_request(&c, "tools/list", "{}"));
                assert_int_equal(member_of(o, "result.tools.0.title") != NULL, cases[i].has_titles);
                (void)json_object_put(o);
                o = client_call(&c, "bash", "{\"command\":\"echo hi\"}");
                /* For the model, which some clients give nothing but what is structured, as JSON. */
                expect_at(
                        o, "result",
                        "{\"content\":[{\"type\":\"text\",\"text\":\"$ echo hi\\nhi\\n\\n\\nexit status: 0\"}],"
                        "\"isError\":false}");
                (void)json_object_put(o);
                client_close(&c, "");
        }
}

TEST(what_is_no_message_is_answered_with_an_error_and_the_next_is_served) {
        static const struct {
                const char *line, *id, *code, *message;
        } before[] = {
                {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}", "7", "-32602",
                 "_meta has no io.modelcontextprotocol/protocolVersion, and no initialize came before"},
                {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"initialize\",\"params\":{}}", "7", "-32602",
                 "protocolVersion is no text"},
                {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"initialize\",\"params\":"
                 "{\"protocolVersion\":\"2025-06-18\"}}",
                 "7", "-32602", "capabilities is no object"},
        };
        static const struct {
                const char *line, *id, *code, *message;
        } after[] = {
                {"{", "null", "-32700", "no JSON: it ends too early: a } is missing, at byte 1"},
                {"{}x", "null", "-32700", "no JSON: something follows its end, at byte 2"},
                {"[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "null", "-32700",
                 "no JSON: too many brackets in one another, at byte 15"},
                {"1", "null", "-32600", "a message is an object"},
                {"\"x\"", "null", "-32600", "a message is an object"},
                {"[]", "null", "-32600", "this version of the protocol has no batches"},
                {"{}", "null", "-32600", "jsonrpc is not \"2.0\""},
                {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "1", "-32600",
                 "jsonrpc is not \"2.0\""},
                {"{\"jsonrpc\":\"2.0\",\"id\":1}", "1", "-32600",
                 "neither a request nor a response: it has no method, and not one result or error"},
                {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null", "-32600",
                 "the id is neither a text nor a whole number"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1.50,\"method\":\"ping\"}", "1.50", "-32600",
                 "the id is neither a text nor a whole number"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":2}", "1", "-32600", "the method is no text"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "1", "-32602",
                 "the params are no object"},
                {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"resources/list\"}", "\"a\"", "-32601",
                 "there is no such method"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", "1", "-32600",
                 "the client is initialised already"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", "1", "-32602",
                 "the tool's name is no text"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"sudo\"}}",
                 "1", "-32602", "there is no such tool"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                 "\"arguments\":\"ls\"}}",
                 "1", "-32602", "the arguments are no object"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
                 "1", "-32602", "the list has one page: no cursor is known"},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":"
                 "\"loud\"}}",
                 "1", "-32602", "there is no such level"},
        };
        _cleanup_free_ char *long_line = malloc(5 << 20), *half = NULL;
        struct client c;

        client_start(*state, &c, (const char *const[]){NULL});
        for (size_t i = 0; i < ARRAY_SIZE(before); i++)
                expect_code(&c, before[i].line, before[i].id, before[i].code, before[i].message);
        (void)json_object_put(client_initialize(&c, "2025-11-25", CAPABILITIES_NONE));
        for (size_t i = 0; i < ARRAY_SIZE(after); i++)
                expect_code(&c, after[i].line, after[i].id, after[i].code, after[i].message);
        assert_non_null(long_line);
        memset(long_line, 'x', 5 << 20);
        long_line[(5 << 20) - 1] = '\0';
        expect_code(&c, long_line, "null", "-32600", "the line is longer than 4 MiB");
        client_send(&c, "\n  \r");
        client_notify(&c, "notifications/unheard_of", "{}");
        client_notify(&c, "notifications/cancelled", "{\"requestId\":99}");
        client_send(&c, "{\"jsonrpc\":\"2.0\",\"id\":\"nobody asked\",\"result\":{}}");
        (void)json_object_put(client_answer(&c, client_request(&c, "ping", "{}")));
        half = strdup("{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
        client_write(&c, half, strlen(half));
        client_close(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32700,"
                         "\"message\":\"no JSON: it ends too early: a \\\" is missing, at byte 29\"}}\n");
}

TEST(a_batch_is_answered_as_one_where_the_version_has_them) {
        struct json_object *o;
        struct client c;

        client_start(*state, &c, (const char *const[]){NULL});
        (void)json_object_put(client_initialize(&c, "2025-03-26", CAPABILITIES_NONE));
        client_send(&c, "[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"},"
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},3,"
                        "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"tools/call\",\"params\":"
                        "{\"name\":\"bash\",\"arguments\":{\"command\":\"echo in a batch\"}}}]");
        o = client_read(&c);
        assert_int_equal(json_object_array_length(o), 3);
        expect_at(o, "0", "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
        expect_at(o, "1.error.code", "-32600");
        expect_in(text_at(o, "2.result.content.0.text"), "in a batch\n");
        (void)json_object_put(o);
        expect_code(&c, "[]", "null", "-32600", "the batch is empty");
        client_close(&c, "");
}

TEST(arguments_are_judged_before_anything_runs) {
        static const struct {
                const char *arguments, *text;
        } cases[] = {
                {"{}", "Error: the argument command is missing"},
                {"{\"command\":1}", "Error: the argument command is no text without NULs"},
                {"{\"command\":\"touch ran\\u0000\"}",
                 "Error: the argument command is no text without NULs"},
                {"{\"command\":\"touch ran\",\"no-sandbox\":true}",
                 "Error: the argument no-sandbox is not one of this tool's; it has command, description, "
                 "timeout, run_in_background"},
                {"{\"cmd\":\"touch ran\"}",
                 "Error: the argument cmd is not one of this tool's; it has command, description, timeout, "
                 "run_in_background"},
                {"{\"command\":\"touch ran\",\"timeout\":\"1\"}",
                 "Error: the argument timeout is no whole number, or too small or large"},
                {"{\"command\":\"touch ran\",\"timeout\":601}", "Error: timeout must be <= 600, got 601"},
                {"{\"command\":\"\"}", "Error: empty bash command."},
        };
        const struct site *s = *state;
        _cleanup_free_ char *ran = path_of(s->project, "ran");
        struct client c;

        CLIENT_OPEN_PLAIN(s, &c);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                expect_call(&c, "bash", cases[i].arguments, cases[i].text, true);
        assert_int_equal(access(ran, F_OK), -1);
        expect_call(&c, "bash", "{\"command\":\"touch ran\",\"timeout\":600}",
                    "$ touch ran\n\n\nexit status: 0", false);
        assert_int_equal(access(ran, F_OK), 0);
        client_close(&c, "");
}

/* ---------------------------------------------------------------------- commands */

/* Its keeper reads what it has printed when the kernel lets it. */
static void await_output(struct client *c, const char *arguments, const char *part) {
        for (bool is_there = false; !is_there;) {
                struct json_object *o = client_call(c, "bash_output", arguments);

                is_there = strstr(text_at(o, "result.content.0.text"), part);
                (void)json_object_put(o);
        }
}

/* And of what it wrote under protected names, and why it failed, when it has ended. */
TEST(a_command_in_the_background_is_explained_when_it_has_ended) {
        static const char
                script[] = "{\"command\":\"%s\",\"run_in_background\":true}",
                fails[] = "echo evil >.envrc; while [ -e .envrc ]; do :; done; mount -t tmpfs x /mnt";
        const struct site *s = *state;
        _cleanup_free_ char *
                arguments = text_of(script, fails),
               *kept = text_of(
                       "note: a protected name that came to be is kept aside (nsrun review --project %s "
                       "--accept 1 puts it back): %s/.envrc; --no-protect .envrc lets it stay\n",
                       s->project, s->project),
               *told = text_of(
                       "nsrun: %snsrun: note: 1 kept aside: nsrun review --project %s (--accept N takes one over)\n",
                       kept, s->project);
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;

        CLIENT_OPEN_PLAIN(s, &c);
        (void)json_object_put(client_call(&c, "bash", arguments));
        await_output(&c, "{\"bash_id\":\"job1\"}", kept);
        await_output(&c, "{\"bash_id\":\"job1\"}",
                     "\nreason: the command has no right to mount: nothing allows it");
        (void)close(c.in);
        finish(&c.running, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, told);
        (void)json_object_put(c.notices);
        collect_orphans();
}

TEST(a_command_goes_on_in_the_background_until_it_is_ended) {
        static const char as[] = "runs in the background as ",
                          rest[] = ": bash_output has what it prints, bash_kill ends it";
        const struct site *s = *state;
        const char *begun;
        char *name, *end;
        struct json_object *o;
        struct client c;

        CLIENT_OPEN_PLAIN(s, &c);
        o = client_call(&c, "bash",
                        "{\"command\":\"echo begun; until [ -e go ]; do sleep 0.01; done; echo done; >went; "
                        "exec sleep 1000\",\"run_in_background\":true}");
        begun = strstr(text_at(o, "result.content.0.text"), as);
        assert_non_null(begun);
        name = strdup(begun + strlen(as));
        end = strstr(name, rest);
        assert_non_null(end);
        assert_string_equal(end, rest);
        *end = '\0';
        (void)json_object_put(o);
        expect_call(&c, "bash", "{\"command\":\"touch go; until [ -e went ]; do sleep 0.01; done\"}",
                    "$ touch go; until [ -e went ]; do sleep 0.01; done\n\n\nexit status: 0", false);
        {
                _cleanup_free_ char *own = text_of("{\"bash_id\":\"%s\"}", name),
                                    *other = text_of("{\"shell_id\":\"%s\"}", name),
                                    *has_ended = text_of("%s has ended", name);

                await_output(&c, own, "begun\ndone\n\n\nit runs");
                expect_call(&c, "bash_kill", other, has_ended, false);
                expect_call(&c, "bash_output", own, "begun\ndone\n\n\nexit status: 143", false);
                expect_call(&c, "bash_kill", own, has_ended, false);
        }
        expect_call(&c, "bash_output", "{\"bash_id\":\"none\"}",
                    "Error: no command in the background is called so: none", true);
        expect_call(&c, "bash_kill", "{\"bash_id\":\"none\"}",
                    "Error: no command in the background is called so: none", true);
        free(name);
        client_close(&c, "");
}

/* What such a command has changed of git's configuration comes out also when it ends with the session. */
TEST(what_the_background_has_written_outlives_the_client) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned i = 0; i < 5; i++) {
                struct client c;

                run_outside(s, &o, "rm -rf .git ready; git init -q .");
                CLIENT_OPEN_PLAIN(s, &c);
                (void)json_object_put(client_call(
                        &c, "bash",
                        "{\"command\":\"git remote add up https://example.org/x; >ready; exec sleep 1000\","
                        "\"run_in_background\":true}"));
                run_outside(s, &o, "until [ -e ready ]; do sleep 0.01; done");
                (void)close(c.in);
                outcome_clear(&o);
                finish(&c.running, &o);
                expect_in(o.err, "nsrun: note: carried to it: remote up (https://example.org/x): ");
                (void)json_object_put(c.notices);
                collect_orphans();
                run_outside(s, &o, "git remote");
                expect_out(&o, "up\n");
        }
}

TEST(the_tools_are_listed_with_bashs_own_description) {
        const struct site *s = *state;
        struct json_object *o;
        struct client c;

        CLIENT_OPEN(s, &c, "--net=none", "--timeout=77");
        o = client_answer(&c, client_request(&c, "tools/list", "{}"));
        expect_at(o, "result.tools.0.name", "\"bash\"");
        expect_in(text_at(o, "result.tools.0.description"),
                  "a sandbox that all commands of this session share");
        expect_in(text_at(o, "result.tools.0.description"), "There is no network");
        expect_at(o, "result.tools.0.inputSchema.properties.timeout.default", "77");
        expect_at(o, "result.tools.0.inputSchema.required", "[\"command\"]");
        (void)json_object_put(o);
        client_close(&c, "");
}

TEST(commands_share_a_session_of_their_own_that_ends_with_the_client) {
        const struct site *s = *state;
        struct json_object *o;
        struct client c, other;

        CLIENT_OPEN_PLAIN(s, &c);
        CLIENT_OPEN_PLAIN(s, &other);
        expect_call(&c, "bash", "{\"command\":\"echo here >/tmp/f; sleep 1000 >/dev/null 2>&1 &\"}",
                    "$ echo here >/tmp/f; sleep 1000 >/dev/null 2>&1 &\n\n\nexit status: 0", false);
        expect_call(&c, "bash", "{\"command\":\"cat /tmp/f; pkill -c sleep\"}",
                    "$ cat /tmp/f; pkill -c sleep\nhere\n1\n\n\nexit status: 0", false);
        expect_call(&other, "bash", "{\"command\":\"ls /tmp; exit 3\"}",
                    "$ ls /tmp; exit 3\n\n\nexit status: 3", false);
        o = client_call(&c, "bash", "{\"command\":\"kill -9 $$\"}");
        expect_in(text_at(o, "result.content.0.text"), "\n\nexit status: 137");
        expect_at(o, "result.isError", "false");
        (void)json_object_put(o);
        o = client_call(&c, "bash", "{\"command\":\"echo begun; sleep 1000\",\"timeout\":1}");
        expect_in(text_at(o, "result.content.0.text"), "begun\n");
        expect_in(text_at(o, "result.content.0.text"), "Error: ");
        expect_at(o, "result.isError", "true");
        (void)json_object_put(o);
        client_end(&other, "");
        client_close(&c, "");
}

TEST(a_cancelled_command_is_gone_and_is_not_answered) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo");
        struct json_object *o;
        struct client c;
        unsigned id;
        int fd;

        assert_int_equal(mkfifo(fifo, 0666), 0);
        assert_int_equal(chmod(fifo, 0666), 0);
        CLIENT_OPEN_PLAIN(s, &c);
        id = client_begin(&c, "bash", "{\"command\":\"exec 9>fifo; sleep 1000; touch survived\"}");
        /* Returns when the command has opened its end, and reads the end when the command is gone. */
        fd = open(fifo, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        /* Meanwhile the client is heard. */
        (void)json_object_put(client_answer(&c, client_request(&c, "ping", "{}")));
        {
                _cleanup_free_ char *params = text_of("{\"requestId\":%u,\"reason\":\"enough\"}", id);
                char byte;

                client_notify(&c, "notifications/cancelled", params);
                assert_int_equal(read(fd, &byte, 1), 0);
                (void)close(fd);
        }
        /* The kernel closes a killed process's files before it takes the process away. */
        o = client_call(&c, "bash",
                        "{\"command\":\"until [ `pgrep -c sleep` = 0 ]; do :; done; ls survived\"}");
        expect_in(text_at(o, "result.content.0.text"), "survived");
        expect_in(text_at(o, "result.content.0.text"), "\n\nexit status: 2");
        (void)json_object_put(o);
        assert_int_equal(json_object_array_length(c.notices), 0);
        client_close(&c, "");
}

TEST(a_long_command_tells_how_far_it_is) {
        struct json_object *o;
        struct client c;
        unsigned id;

        CLIENT_OPEN_PLAIN(*state, &c);
        id = client_request(
                &c, "tools/call",
                "{\"name\":\"bash\",\"arguments\":{\"command\":\"echo half; read -t 1.3 <> <(:)\","
                "\"timeout\":9},\"_meta\":{\"progressToken\":\"p\"}}");
        o = client_answer(&c, id);
        (void)json_object_put(o);
        if (json_object_array_length(c.notices) == 0)
                fail_msg("no progress was told");
        o = json_object_array_get_idx(c.notices, 0);
        expect_at(o, "method", "\"notifications/progress\"");
        expect_at(o, "params.progressToken", "\"p\"");
        expect_at(o, "params.total", "9");
        expect_at(o, "params.message", "\"half\"");
        client_close(&c, "");
}

TEST(a_root_of_the_clients_that_the_sandbox_has_not_is_told_and_changes_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *roots =
                text_of("{\"jsonrpc\":\"2.0\",\"id\":\"nsrun-roots\",\"result\":{\"roots\":[{\"uri\":"
                        "\"file://%s\"},{\"uri\":\"https://x\"},{\"uri\":\"file://%s/a%%20b\"}]}}",
                        s->project, s->outside);
        _cleanup_free_ char *told =
                text_of("the sandbox hasn't got the client's root %s/a b: start nsrun mcp "
                        "there, or with --project or --rw",
                        s->outside);
        struct json_object *o;
        struct client c;

        make_folder(s->outside, "a b");
        client_start(s, &c, (const char *const[]){NULL});
        (void)json_object_put(client_initialize(&c, "2025-06-18", "{\"roots\":{}}"));
        o = client_read(&c);
        expect_at(o, "method", "\"roots/list\"");
        expect_at(o, "id", "\"nsrun-roots\"");
        (void)json_object_put(o);
        client_send(&c, roots);
        o = client_read(&c);
        expect_at(o, "method", "\"notifications/message\"");
        expect_at(o, "params.level", "\"warning\"");
        assert_string_equal(text_at(o, "params.data"), told);
        (void)json_object_put(o);
        o = client_call(&c, "bash", "{\"command\":\"ls -d ../outside || echo none\"}");
        expect_in(text_at(o, "result.content.0.text"), "\nnone\n");
        (void)json_object_put(o);
        assert_int_equal(json_object_array_length(c.notices), 0);
        client_close(&c, "");
}

/* In the text of the result, which clients show; a person alone can take it over. */
TEST(what_is_kept_aside_is_said_with_the_commands_result) {
        const struct site *s = *state;
        struct json_object *o;
        struct client c;

        CLIENT_OPEN_PLAIN(s, &c);
        o = client_call(&c, "bash", "{\"command\":\"echo x >.envrc\"}");
        expect_in(text_at(o, "result.content.0.text"), "\nnote: 1 kept aside: nsrun review");
        (void)json_object_put(o);
        o = client_call(&c, "bash", "{\"command\":\"true\"}");
        expect_not_in(text_at(o, "result.content.0.text"), "kept aside");
        (void)json_object_put(o);
        client_close(&c, "");
}

/* ------------------------------------------------------------------ other endings */

TEST(a_signal_ends_the_server_its_session_and_its_commands) {
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo");
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;
        char byte;
        int fd;

        assert_int_equal(mkfifo(fifo, 0666), 0);
        assert_int_equal(chmod(fifo, 0666), 0);
        CLIENT_OPEN_PLAIN(s, &c);
        (void)client_begin(&c, "bash", "{\"command\":\"exec 9>fifo; sleep 1000\"}");
        fd = open(fifo, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        send_signal(c.running.pidfd, SIGTERM);
        assert_int_equal(read(fd, &byte, 1), 0);
        (void)close(fd);
        finish(&c.running, &o);
        expect_status(&o, 0);
        (void)close(c.in);
        (void)json_object_put(c.notices);
        collect_orphans();
        expect_nothing_left(s);
}

/* More answers than a pipe holds: that one waits is no reason to stay. */
TEST(a_signal_ends_a_server_whose_client_does_not_read) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;
        int waiting = 0;

        CLIENT_OPEN_PLAIN(s, &c);
        for (size_t i = 0; i < 100; i++)
                (void)client_request(&c, "tools/list", "{}");
        /* All of them are in what it has read at once. */
        while (waiting == 0) {
                assert_int_equal(ioctl(c.running.out, FIONREAD, &waiting), 0);
                (void)sched_yield();
        }
        send_signal(c.running.pidfd, SIGTERM);
        finish(&c.running, &o);
        expect_status(&o, 0);
        (void)close(c.in);
        (void)json_object_put(c.notices);
        collect_orphans();
        expect_nothing_left(s);
}

TEST(a_killed_server_leaves_no_session) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;
        int monitor, init;

        CLIENT_OPEN(s, &c, "--name=of-the-client");
        monitor = session_pidfd(s, "of-the-client", "monitor");
        init = session_pidfd(s, "of-the-client", "init");
        send_signal(c.running.pidfd, SIGKILL);
        finish(&c.running, &o);
        expect_end_of(init, "the session");
        expect_end_of(monitor, "its monitor");
        (void)close(monitor);
        (void)close(init);
        (void)close(c.in);
        (void)json_object_put(c.notices);
        collect_orphans();
        expect_nothing_left(s);
}

TEST(a_session_that_was_there_stays) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        const char *const argv[] = {program(), "mcp", "--session", id, "--env=GIVEN=by the host", NULL};
        const char *const refused[] = {program(), "mcp", "--session", id, "--ro", "/usr", NULL};
        _cleanup_outcome_ struct outcome o = {0}, wider = {0};
        int ends[2];
        static const char lines[] =
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                "\"2024-11-05\",\"capabilities\":{}}}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                "\"arguments\":{\"command\":\"cat /tmp/f; echo $GIVEN\"}}}\n";

        expect_good_join(s, id, "echo kept >/tmp/f", "");
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(write(ends[1], lines, strlen(lines)), (ssize_t)strlen(lines));
        (void)close(ends[1]);
        run(&(struct request){.argv = argv, .cwd = s->root, .standard_input = ends[0]}, &o);
        (void)close(ends[0]);
        expect_status(&o, 0);
        expect_in(o.out, "$GIVEN\\nkept\\nby the host\\n");
        run(&(struct request){.argv = refused, .cwd = s->root}, &wider);
        expect_status(&wider, 125);
        expect_in(wider.err, "--ro");
        expect_good_join(s, id, "cat /tmp/f", "kept\n");
        end_session(s, id, "stop");
}

TEST(what_is_wrong_with_the_policy_is_told_before_any_client_is_served) {
        const struct site *s = *state;
        static const struct {
                const char *const words[6];
                const char *line;
        } cases[] = {
                {{"mcp", "--ro", "/nonexistent", NULL},
                 "nsrun: the source of --ro can't be opened: /nonexistent: No such file or directory"},
                {{"mcp", "true", NULL}, "nsrun: it takes no arguments: true; see 'nsrun mcp --help'"},
                {{"mcp", "--timeout=0", NULL}, "nsrun: --timeout: out of bounds: 0; 1 to 600"},
                {{"mcp", "--session", "nobody", NULL}, NO_SESSION("nobody")},
                {{"mcp", "--session", "nobody", "--name", "x", NULL},
                 "nsrun: the session that --session names has its own: --name; see 'nsrun mcp --help'"},
                {{"mcp", "--ask-commit", "--allow-commit", NULL},
                 "nsrun: --ask-commit and --allow-commit can't both be; leave one of them out"},
                {{"mcp", "--chdir=/usr", NULL},
                 "nsrun: --chdir is not for bash: its commands begin at the project's root"},
                {{"mcp", "--no-sandbox", NULL},
                 "nsrun: a session can't be had with --no-sandbox: it is a sandbox for many commands; leave one "
                 "of the two out"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ const char **argv = words_of(OPTIONS(program()), cases[i].words);
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_status(&o, 125);
                expect_in(o.err, cases[i].line);
                expect_out(&o, "");
        }
}

int main(void) {
        return run_all_tests();
}
