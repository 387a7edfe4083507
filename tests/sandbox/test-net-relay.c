/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-net makes of connections: ends, resets, urgent bytes, back-pressure.  Servers are on the host's
 * loopback; each client is tried without a sandbox first. */
#include <netinet/in.h>
#include <poll.h>

#include "net-relay.h"

#define LARGE (24U << 20)

/* ------------------------------------------------------------------ both sides */

static size_t send_much(int fd, size_t n) {
        static char bytes[1 << 16];
        size_t done = 0;

        while (done < n) {
                ssize_t k =
                        send(fd, bytes, n - done < sizeof(bytes) ? n - done : sizeof(bytes), MSG_NOSIGNAL);

                if (k < 0)
                        break;
                done += (size_t)k;
        }
        return done;
}

static void end_with_reset(int fd) {
        const struct linger none = {.l_onoff = 1};

        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        (void)close(fd);
}

/* ------------------------------------------------------------------ the servers */

static void serve_reset(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send(c, "hello", 5, MSG_NOSIGNAL);
        take_a_moment();
        end_with_reset(dup(c));
}

/* Much, and then no end but a reset. */
static void serve_much_and_reset(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send_much(c, 1 << 20);
        take_a_moment();
        end_with_reset(dup(c));
}

/* Says what came urgently, and what didn't; in between it sends an urgent byte itself. */
static void serve_urgent(int c) {
        struct pollfd urgent = {.fd = c, .events = POLLPRI};
        char byte = '?', bytes[64] = "", line[128];
        size_t n = 0;
        ssize_t k;

        (void)poll(&urgent, 1, 10000);
        (void)recv(c, &byte, 1, MSG_OOB);
        while ((k = recv(c, bytes + n, sizeof(bytes) - 1 - n, 0)) > 0)
                n += (size_t)k;
        (void)snprintf(line, sizeof(line), "%c urgently, %s", byte, bytes);
        (void)send(c, line, strlen(line), MSG_NOSIGNAL);
        (void)send(c, "!", 1, MSG_NOSIGNAL | MSG_OOB);
}

static void serve_urgent_last(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send(c, "abc", 3, MSG_NOSIGNAL);
        (void)send(c, "!", 1, MSG_NOSIGNAL | MSG_OOB);
}

static void serve_nothing_at_first(int c) {
        char line[64];

        take_a_moment();
        take_a_moment();
        (void)snprintf(line, sizeof(line), "%zu", read_all(c));
        (void)send(c, line, strlen(line), MSG_NOSIGNAL);
}

/* ------------------------------------------------------------------ the clients */

/* How much came, and how it ended. */
static void client_read(int fd) {
        size_t n;

        (void)send(fd, "x", 1, MSG_NOSIGNAL);
        n = read_all(fd);
        (void)printf("%zu, %s\n", n, errno ? strerror(errno) : "the end");
}

static void client_upload(int fd) {
        bool is_whole = send_much(fd, LARGE) == LARGE;

        (void)printf("%s, ", is_whole ? "all" : "not all");
        (void)shutdown(fd, SHUT_WR);
        tell_end(fd);
}

static void client_urgent(int fd) {
        struct pollfd urgent = {.fd = fd, .events = POLLPRI};
        char byte = '?';

        (void)send(fd, "ab", 2, MSG_NOSIGNAL);
        (void)send(fd, "c", 1, MSG_NOSIGNAL | MSG_OOB);
        (void)send(fd, "de", 2, MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        (void)poll(&urgent, 1, 10000);
        (void)recv(fd, &byte, 1, MSG_OOB);
        (void)printf("%c urgently, ", byte);
        tell_end(fd);
}

/* How often an urgent byte came as any other. */
static void client_urgents(int first) {
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
        } to;
        socklen_t length = sizeof(to);
        int wrong = 0;

        (void)getpeername(first, &to.any, &length);
        (void)close(first);
        for (int i = 0; i < 400; i++) {
                int fd = connect_here(ntohs(to.v4.sin_port));

                (void)send(fd, "x", 1, MSG_NOSIGNAL);
                wrong += read_all(fd) != 3;
                (void)close(fd);
        }
        (void)printf("%d wrong\n", wrong);
}

/* A server inside that answers and sends its end first, and then reads slowly. */
static void serve_inside(unsigned short port, int n) {
        int fd = listen_here(&port);

        (void)puts("serves");
        (void)fflush(stdout);
        for (int i = 0; i < n; i++) {
                int c = accept(fd, NULL, NULL);

                (void)send(c, "from inside", 11, MSG_NOSIGNAL);
                (void)shutdown(c, SHUT_WR);
                take_a_moment();
                (void)printf("%zu\n", read_all(c));
                (void)fflush(stdout);
                (void)close(c);
        }
}

/* relay MODE PORT [N] */
static void relay_main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*client)(int fd);
        } modes[] = {{"ask", client_ask},
                     {"read", client_read},
                     {"upload", client_upload},
                     {"urgent", client_urgent},
                     {"urgents", client_urgents}};
        unsigned short port = argc > 3 ? (unsigned short)atoi(argv[3]) : 0;

        if (argc < 4 || !streq(argv[1], "relay"))
                return;
        if (streq(argv[2], "serve"))
                serve_inside(port, atoi(argv[4]));
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                int fd = streq(argv[2], modes[i].name) ? connect_here(port) : -EBADF;

                if (fd >= 0)
                        modes[i].client(fd);
                else if (fd != -EBADF)
                        /* A reset that comes before the call's end is the call's. */
                        (void)printf("%s%s\n", fd == -ECONNRESET ? "'', " : "", strerror(-fd));
        }
        _exit(fflush(stdout) ? 97 : 0);
}

/* -------------------------------------------------------------------- the tests */

/* The client's words at a port of the host: without a sandbox, and within one. */
static void compare(const struct site *s, const char *mode, unsigned short port, const char *outside,
                    const char *inside) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *number = text_of("%u", port),
                            *rule = text_of("--allow=localhost:%u", port);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        run(&(struct request){.argv = OPTIONS(self, "relay", mode, number), .cwd = s->root}, &o);
        expect_out(&o, outside);
        outcome_clear(&o);
        spawn_relay(s, &running, 0, rule, OPTIONS(mode, number));
        finish(&running, &o);
        expect_out(&o, inside);
        expect_status(&o, 0);
}

TEST(a_reset_arrives_as_a_reset_behind_all_that_was_sent) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_reset, &port);

        compare(*state, "ask", port, "'hello', Connection reset by peer\n",
                "'hello', Connection reset by peer\n");
        stop_serving(pid);
        port = 0;
        pid = start_serving(serve_much_and_reset, &port);
        compare(*state, "read", port, "1048576, Connection reset by peer\n",
                "1048576, Connection reset by peer\n");
        stop_serving(pid);
}

/* The kernel has accepted for nsrun-net by the time that the host says no. */
TEST(what_the_host_refuses_is_reset_at_once) {
        unsigned short port = 0;

        (void)close(listen_here(&port));
        compare(*state, "ask", port, "Connection refused\n", "'', Connection reset by peer\n");
}

TEST(an_answer_arrives_although_the_server_wants_no_more_of_the_question) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_too_large, &port);

        compare(*state, "upload", port, "not all, 'too large', the end\n",
                "not all, 'too large', the end\n");
        stop_serving(pid);
}

TEST(an_urgent_byte_stays_urgent_and_none_is_lost) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_urgent, &port);

        compare(*state, "urgent", port, "! urgently, 'c urgently, abde', the end\n",
                "! urgently, 'c urgently, abde', the end\n");
        stop_serving(pid);
}

/* It may come at any moment of the other bytes' way. */
TEST(an_urgent_byte_is_urgent_whenever_it_comes) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_urgent_last, &port);

        compare(*state, "urgents", port, "0 wrong\n", "0 wrong\n");
        stop_serving(pid);
}

TEST(an_upload_waits_for_a_slow_server_and_arrives_whole) {
        _cleanup_free_ char *expected = text_of("all, '%u', the end\n", LARGE);
        unsigned short port = 0;
        pid_t pid = start_serving(serve_nothing_at_first, &port);

        compare(*state, "upload", port, expected, expected);
        stop_serving(pid);
}

/* The server's end is read before the upload's. */
TEST(an_upload_into_the_sandbox_arrives_whole_behind_the_answer) {
        const struct site *s = *state;
        unsigned short port = 0;
        _cleanup_free_ char *publish = NULL, *line = NULL, *expected = text_of("%u\n", LARGE);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        (void)close(listen_here(&port));
        publish = text_of("--publish=%u:4567", port);
        spawn_relay(s, &running, 0, publish, OPTIONS("serve", "4567", "3"));
        line = read_line(running.out);
        assert_string_equal(line, "serves\n");
        for (int i = 0; i < 3; i++) {
                _cleanup_close_ int fd = connect_here(port);
                char answer[16] = "";

                free(TAKE_PTR(line));
                assert_true(fd >= 0);
                assert_int_equal(send_much(fd, LARGE), LARGE);
                assert_int_equal(shutdown(fd, SHUT_WR), 0);
                assert_int_equal(recv(fd, answer, 11, MSG_WAITALL), 11);
                assert_string_equal(answer, "from inside");
                line = read_line(running.out);
                assert_string_equal(line, expected);
        }
        finish(&running, &o);
        expect_status(&o, 0);
}

int main(int argc, char **argv) {
        relay_main(argc, argv);
        return run_all_tests();
}
