/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ports of a session that are published while it lives. */
#include "net.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/control.h"
#include "session.h"

/* A port of the host's loopback that was free a moment ago; *ret_fd, if wanted, keeps it. */
static unsigned short free_port(int *ret_fd) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t n = sizeof(at);

        assert_int_equal(bind(fd, (const struct sockaddr *)&at, n), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
        if (ret_fd)
                *ret_fd = fd;
        else
                close_fdp(&fd);
        return ntohs(at.sin_port);
}

/* What a server at the host's port answers; "": nobody listens there. */
static char *ask_port(unsigned short port) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char answer[64] = "";
        size_t length = 0;
        ssize_t n;

        if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
                return strdup("");
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        while ((n = recv(fd, answer + length, sizeof(answer) - 1 - length, 0)) > 0)
                length += (size_t)n;
        return strdup(answer);
}

static char *start_with_client(const struct site *s, const char *rule) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);

        return START(s, "--net=allow", rule, "--bind", bind);
}

TEST(a_port_of_a_session_is_published_while_it_runs) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_with_client(s, "--allow=good.test"), *answer = NULL;
        unsigned short ports[] = {free_port(NULL), free_port(NULL)};
        _cleanup_free_ char *one = text_of("%u:4567", ports[0]), *other = text_of("127.0.0.2:%u", ports[1]),
                            *listed = text_of("127.0.0.1:%u:4567\n127.0.0.2:%u:%u\n", ports[0], ports[1],
                                              ports[1]),
                            *shown = text_of("\"published\":[\"127.0.0.1:%u:4567\",\"127.0.0.2:%u:%u\"]",
                                             ports[0], ports[1], ports[1]);
        _cleanup_outcome_ struct outcome o = {0};
        struct running server;

        SESSION(s, &o, "publish", id);
        expect_out(&o, "");
        expect_status(&o, 0);
        SESSION(s, &o, "show", "--json", id);
        expect_in(o.out, "\"published\":[]");
        SPAWN_JOINED(s, id, &server, "--", "/client", "serve", "4567");
        await_line(server.out, "serves\n");
        answer = ask_port(ports[0]);
        assert_string_equal(answer, "");
        SESSION(s, &o, "publish", id, one, other);
        expect_out(&o, "");
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        free(TAKE_PTR(answer));
        answer = ask_port(ports[0]);
        assert_string_equal(answer, "from inside");
        outcome_clear(&o);
        finish(&server, &o);
        SESSION(s, &o, "publish", id);
        expect_out(&o, listed);
        SESSION(s, &o, "show", "--json", id);
        expect_in(o.out, shown);
        end_session(s, id, "stop");
        free(TAKE_PTR(answer));
        answer = ask_port(ports[0]);
        assert_string_equal(answer, "");
}

static void expect_publish(const struct site *s, const char *id, const char *port, const char *line) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "publish", id, port);
        expect_refusal(&o, 125, line);
}

TEST(what_can_not_be_published_is_refused) {
        const struct site *s = *state;
        _cleanup_close_ int taken = -EBADF;
        unsigned short port = free_port(&taken);
        _cleanup_free_ char *
                id = START(s, "--net=allow", "--allow=*.test:8080"),
               *plain = START_PLAIN(s), *word = text_of("%u:99", port),
               *busy = text_of("nsrun: the host's port can't be had: publish 127.0.0.1:%u:99: "
                               "Address already in use; choose another PORT, with PORT:INSIDE",
                               port),
               *none = text_of(
                       "nsrun: --publish is of no use without its network; start the sandbox with --net=allow");
        _cleanup_outcome_ struct outcome o = {0};

        expect_publish(s, id, "0",
                       "nsrun: --publish: not a port: 0; write PORT, PORT:INSIDE or ADDRESS:PORT:INSIDE");
        expect_publish(s, id, word, busy);
        expect_publish(s, id, "9:8080",
                       "nsrun: no server inside can have port 8080, which --publish leads to: it is taken "
                       "for --allow *.test:8080; let the server inside have another port");
        expect_publish(s, plain, "8080", none);
        expect_publish(s, "nobody", "8080", NO_SESSION("nobody"));
        SESSION(s, &o, "stop", plain);
        end_session(s, id, "stop");
}

TEST(so_many_ports_are_published_and_no_more) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=allow");
        _cleanup_outcome_ struct outcome o = {0};
        unsigned short port = free_port(NULL);
        const char *words[NET_PUBLISHES_MOST + 4] = {"publish", id};
        size_t n = 0;

        for (unsigned i = 0; i <= NET_PUBLISHES_MOST; i++)
                words[2 + i] = text_of("127.77.0.%u:%u:1", i + 1, port);
        run_session(s, &o, words);
        expect_refusal(&o, 125, "nsrun: 65 ports are published, and 64 are the most");
        SESSION(s, &o, "publish", id);
        for (const char *at = o.out; (at = strchr(at, '\n')); at++)
                n++;
        assert_int_equal(n, NET_PUBLISHES_MOST);
        for (unsigned i = 0; i <= NET_PUBLISHES_MOST; i++)
                free((void *)(uintptr_t)words[2 + i]);
        end_session(s, id, "stop");
}

/* What is no question is nothing to nsrun-net, and without it nothing is published. */
TEST(a_sessions_network_takes_questions_alone) {
        const struct site *s = *state;
        unsigned short port = free_port(NULL);
        char number[8];
        _cleanup_free_ char *
                id = START(s, "--net=allow"),
               *path = text_of("%s/nsrun/sessions/%s/" NET_CONTROL_NAME, s->runtime, id),
               *ended = text_of("nsrun: the sandbox's nsrun-net doesn't answer: 127.0.0.1:%u:%u: Connection "
                                "refused; its network has ended: start another sandbox",
                                port, port);
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), helper = -EBADF;
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        struct net_control question = {.kind = 77};
        _cleanup_outcome_ struct outcome o = {0};
        char bytes[4096] = "";
        pid_t pid;

        (void)snprintf(number, sizeof(number), "%u", port);
        assert_true(strlen(path) < sizeof(at.sun_path));
        memcpy(at.sun_path, path, strlen(path));
        assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        for (size_t n = 0; n < sizeof(bytes); n += 509)
                assert_int_equal(send(fd, bytes, n, 0), n);
        assert_int_equal(send(fd, &question, sizeof(question), 0), sizeof(question));
        for (question.kind = NET_CONTROL_LIST; question.kind <= NET_CONTROL_REMOVE; question.kind++)
                assert_int_equal(send(fd, &question, sizeof(question), 0), sizeof(question));
        SESSION(s, &o, "publish", id);
        expect_status(&o, 0);
        expect_out(&o, "");
        pid = net_helper_of((pid_t)session_number(s, id, "monitor"));
        assert_true(pid > 0);
        helper = open_pidfd(pid);
        send_signal(helper, SIGKILL);
        expect_end_of(helper, "nsrun-net");
        expect_publish(s, id, number, ended);
        end_session(s, id, "stop");
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}
