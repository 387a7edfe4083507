/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp --listen`: clients of a socket, and who is none. */
#include <sys/socket.h>
#include <sys/un.h>

#include "mcp.h"

#define TURNED_AWAY(why) \
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"" why "\"}}\n"
#define SANDBOXED "the client runs in a sandbox or container, or can't be looked at"

/* The path of a socket, in a folder of its own. */
static char *socket_of(const struct site *s) {
        make_folder(s->root, "sockets");
        return path_of(s->root, "sockets/mcp");
}

/* Starts a server that listens at `socket`, once it says that it does.  Without options it is the project's.
 */
static void listen_at(const struct site *s, struct running *ret, const char *socket,
                      const char *const *options) {
        const char *const begin[] = {program(), "mcp", "--listen", socket, NULL};
        _cleanup_free_ const char **argv =
                words_of(begin, *options ? options : OPTIONS("--project", s->project));
        _cleanup_free_ char *line = NULL, *expected = text_of("listening on %s\n", socket);

        spawn(&(struct request){.argv = argv, .cwd = s->root}, ret);
        line = read_line(ret->out);
        assert_non_null(line);
        assert_string_equal(line, expected);
}
#define LISTEN(site, running, socket, ...)  listen_at(site, running, socket, OPTIONS(__VA_ARGS__))
#define LISTEN_PLAIN(site, running, socket) listen_at(site, running, socket, (const char *const[]){NULL})

static int connect_to(const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0 && strlen(path) < sizeof(address.sun_path));
        memcpy(address.sun_path, path, strlen(path) + 1);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
                (void)close(fd);
                return -1;
        }
        return fd;
}

/* A client of a socket: what it reads comes by the same descriptor. */
static void client_connect(struct client *c, const char *path) {
        int fd = connect_to(path);

        assert_true(fd >= 0);
        *c = (struct client){.in = fd, .running = {.out = fd}, .notices = json_object_new_array()};
        (void)json_object_put(client_initialize(c, "2025-06-18", CAPABILITIES_NONE));
}

static void client_disconnect(struct client *c) {
        (void)close(c->in);
        (void)json_object_put(c->notices);
}

/* All that comes, to its end. */
static char *read_all(int fd) {
        char *text = strdup("");
        char bytes[512];
        ssize_t n;

        while ((n = read(fd, bytes, sizeof(bytes) - 1)) > 0) {
                char *longer;

                bytes[n] = '\0';
                longer = text_of("%s%s", text, bytes);
                free(text);
                text = longer;
        }
        return text;
}

/* Ends a server, and expects that it has ended all that was its own. */
static void end_listening(const struct site *s, struct running *running, const char *socket,
                          const char *notes) {
        _cleanup_outcome_ struct outcome o = {0};

        send_signal(running->pidfd, SIGTERM);
        finish(running, &o);
        expect_status(&o, 0);
        expect_out(&o, "");
        assert_string_equal(o.err, notes);
        assert_int_equal(access(socket, F_OK), -1);
        collect_orphans();
        expect_nothing_left(s);
}

TEST(clients_of_a_socket_have_sessions_of_their_own) {
        const struct site *s = *state;
        _cleanup_free_ char *socket = socket_of(s);
        struct running server;
        struct client one, other;
        struct stat st;

        LISTEN_PLAIN(s, &server, socket);
        assert_int_equal(stat(socket, &st), 0);
        assert_int_equal(st.st_mode, S_IFSOCK | 0600);
        client_connect(&one, socket);
        client_connect(&other, socket);
        expect_call(&one, "bash", "{\"command\":\"echo here >/tmp/f; echo shared >f\"}",
                    "$ echo here >/tmp/f; echo shared >f\n\n\nexit status: 0", false);
        expect_call(&other, "bash", "{\"command\":\"ls /tmp; cat f\"}",
                    "$ ls /tmp; cat f\nshared\n\n\nexit status: 0", false);
        /* A client that goes ends its session alone. */
        client_disconnect(&other);
        expect_call(&one, "read", "{\"path\":\"/tmp/f\"}", "here\n", false);
        client_disconnect(&one);
        client_connect(&one, socket);
        expect_call(&one, "bash", "{\"command\":\"ls /tmp\"}", "$ ls /tmp\n\n\nexit status: 0", false);
        end_listening(s, &server, socket, "");
        client_disconnect(&one);
}

TEST(a_killed_listener_leaves_no_session) {
        const struct site *s = *state;
        _cleanup_free_ char *socket = socket_of(s), *rest = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running server;
        struct client c;

        LISTEN_PLAIN(s, &server, socket);
        client_connect(&c, socket);
        (void)client_begin(&c, "bash", "{\"command\":\"sleep 1000\"}");
        send_signal(server.pidfd, SIGKILL);
        finish(&server, &o);
        rest = read_all(c.in);
        client_disconnect(&c);
        collect_orphans();
        /* Its socket is taken over by the next. */
        assert_int_equal(access(socket, F_OK), 0);
        assert_int_equal(connect_to(socket), -1);
        LISTEN_PLAIN(s, &server, socket);
        client_connect(&c, socket);
        client_disconnect(&c);
        end_listening(s, &server, socket, "");
}

/* What a client of the socket would be told of its first message, by a program that isn't nsrun's. */
#define ASK                                                                         \
        "import socket, sys\n"                                                      \
        "s = socket.socket(socket.AF_UNIX)\n"                                       \
        "s.connect(sys.argv[1])\n"                                                  \
        "told = b''\n"                                                              \
        "try:\n"                                                                    \
        "    s.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n')\n" \
        "    while not told.endswith(b'\\n'): told += s.recv(1) or b'ended\\n'\n"   \
        "except OSError: told += s.recv(1000)\n"                                    \
        "print(told.decode(), end='')\n"

TEST(a_command_of_another_sandbox_is_turned_away) {
        const struct site *s = *state;
        _cleanup_free_ char *socket = socket_of(s), *folder = path_of(s->root, "sockets"),
                            *bind = text_of("%s:/mnt", folder);
        _cleanup_outcome_ struct outcome o = {0};
        struct running server;

        if (!has_program("python3"))
                skip_because("skipped: python3 is not installed");
        LISTEN(s, &server, socket, "--project", s->project, "--allow-commit");
        RUN(s, &o, "--ro", folder, "--", "/usr/bin/python3", "-c", ASK, socket);
        expect_status(&o, 0);
        expect_out(&o, TURNED_AWAY(SANDBOXED));
        RUN(s, &o, "--bind", bind, "--", "/usr/bin/python3", "-c", ASK, "/mnt/mcp");
        expect_status(&o, 0);
        expect_out(&o, TURNED_AWAY(SANDBOXED));
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("/usr/bin/python3", "-c", ASK, socket), .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_out(&o, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        end_listening(s, &server, socket, "nsrun: note: " SANDBOXED "\nnsrun: note: " SANDBOXED "\n");
}

TEST(no_more_than_32_clients_are_served_at_once) {
        const struct site *s = *state;
        _cleanup_free_ char *socket = socket_of(s), *id = START_PLAIN(s), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running server;
        int fds[32], last;

        LISTEN(s, &server, socket, "--session", id);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                assert_true((fds[i] = connect_to(socket)) >= 0);
        last = connect_to(socket);
        assert_true(last >= 0);
        text = read_all(last);
        assert_string_equal(text, TURNED_AWAY("too many clients are connected"));
        (void)close(last);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                (void)close(fds[i]);
        SESSION(s, &o, "show", id);
        expect_status(&o, 0);
        send_signal(server.pidfd, SIGTERM);
        outcome_clear(&o);
        finish(&server, &o);
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

/* Expects a refusal of `socket`, and that nothing was made. */
static void expect_refused(const struct site *s, const char *socket, const char *option, const char *line) {
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN_IN(s->root, &o, "mcp", "--project", s->project, "--listen", socket, option);
        expect_refusal(&o, 125, line);
}

#define ELSEWHERE \
        ": Operation not permitted; name one in a folder of your own that no sandbox shows, as $XDG_RUNTIME_DIR"

TEST(a_socket_that_commands_could_reach_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *shown = path_of(s->root, "shown"), *earlier = path_of(s->root, "earlier"),
                            *open = path_of(s->root, "open");
        _cleanup_free_ char *in_project = path_of(s->project, "mcp"), *in_shown = path_of(shown, "mcp"),
                            *in_earlier = path_of(earlier, "mcp"), *in_open = path_of(open, "mcp");
        _cleanup_free_ char *ro = text_of("--ro=%s", shown);
        _cleanup_free_ char *project_line = text_of(
                "nsrun: --listen: the sandbox's own commands could reach it: %s" ELSEWHERE, s->project);
        _cleanup_free_ char *shown_line =
                text_of("nsrun: --listen: the sandbox's own commands could reach it: %s" ELSEWHERE, shown);
        _cleanup_free_ char *earlier_line = text_of(
                "nsrun: --listen: a command of an earlier run could write in the folder: %s" ELSEWHERE,
                earlier);
        _cleanup_free_ char *open_line =
                text_of("nsrun: --listen: other users could replace it: %s" ELSEWHERE, open);
        _cleanup_outcome_ struct outcome o = {0};
        struct running server;

        make_folder(s->root, "shown");
        make_folder(s->root, "earlier");
        make_folder(s->root, "open");
        expect_refused(s, in_project, NULL, project_line);
        expect_refused(s, in_shown, ro, shown_line);
        LISTEN_PLAIN(s, &server, in_shown);
        end_listening(s, &server, in_shown, "");
        LISTEN_PLAIN(s, &server, in_earlier);
        end_listening(s, &server, in_earlier, "");
        RUN(s, &o, "--rw", earlier, "--", "true");
        expect_status(&o, 0);
        expect_refused(s, in_earlier, NULL, earlier_line);
        LISTEN_PLAIN(s, &server, in_open);
        end_listening(s, &server, in_open, "");
        assert_int_equal(chmod(open, 0777), 0);
        expect_refused(s, in_open, NULL, open_line);
}

TEST(a_name_that_is_taken_is_left_alone) {
        const struct site *s = *state;
        _cleanup_free_ char *socket = socket_of(s), *file = path_of(s->runtime, "file");
        _cleanup_free_ char *taken =
                text_of("nsrun: --listen: the name is taken: %s: Address already in use; "
                        "another server listens there, or it is no socket: name another one",
                        socket);
        _cleanup_free_ char *no_socket =
                text_of("nsrun: --listen: the name is taken: %s: Address already in use; "
                        "another server listens there, or it is no socket: name another "
                        "one",
                        file);
        _cleanup_free_ char *no_name = text_of("nsrun: --listen: no name of a file: %s/", s->runtime);
        _cleanup_free_ char *slash = text_of("%s/", s->runtime), *text = NULL;
        struct running server;
        struct client c;

        make_file(s->runtime, "file", "kept\n");
        expect_refused(s, file, NULL, no_socket);
        text = file_text(file);
        assert_string_equal(text, "kept\n");
        expect_refused(s, slash, NULL, no_name);
        expect_refused(
                s, socket, "--name=x",
                "nsrun: with --listen and --http each client has a session of its own: --name; see 'nsrun mcp --help'");
        LISTEN_PLAIN(s, &server, socket);
        expect_refused(s, socket, NULL, taken);
        client_connect(&c, socket);
        client_disconnect(&c);
        end_listening(s, &server, socket, "");
}

/* As the loader ends it where there is no libevent. */
TEST(an_end_of_nsrun_http_is_told_with_the_package) {
        const struct site *s = *state;
        _cleanup_free_ char *own = getenv("NSRUN_HTTP") ? strdup(getenv("NSRUN_HTTP")) : NULL;
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv("NSRUN_HTTP", "/bin/false", 1), 0);
        NSRUN_IN(s->root, &o, "mcp", "--http", "127.0.0.1:0", "--project", s->project);
        assert_int_equal(own ? setenv("NSRUN_HTTP", own, 1) : unsetenv("NSRUN_HTTP"), 0);
        collect_orphans();
        expect_status(&o, 125);
        expect_in(o.err,
                  "\nnsrun: nsrun-http has ended; where it says that a libevent is missing: install the "
                  "package libevent (Debian, Ubuntu: libevent-extra-2.1-7, or where there is none "
                  "libevent-extra-2.1-7t64)\n");
}

int main(void) {
        return run_all_tests();
}
