/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of `nsrun grant ID --allow HOST` and `--publish PORT` share. */
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "grant.h"
#include "net.h"

/* A server on the host's loopback that answers each with "at home"; *ret_pid is to be killed. */
static inline unsigned short serve_at_home(pid_t *ret_pid) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t n = sizeof(at);
        pid_t parent = getpid();

        assert_int_equal(bind(fd, (const struct sockaddr *)&at, n), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
        *ret_pid = fork();
        if (*ret_pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (int c = -1; getppid() == parent; close_fdp(&c)) {
                        char byte;

                        c = accept(fd, NULL, NULL);
                        while (recv(c, &byte, 1, 0) > 0)
                                ;
                        (void)send(c, "at home", 7, MSG_NOSIGNAL);
                }
                _exit(0);
        }
        close_fdp(&fd);
        return ntohs(at.sin_port);
}

static inline void stop_serving(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static inline unsigned short port_of_host(void) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t n = sizeof(at);

        assert_int_equal(bind(fd, (const struct sockaddr *)&at, n), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
        close_fdp(&fd);
        return ntohs(at.sin_port);
}

/* What a server at the host's port answers; or why there is none. */
static inline void expect_at_port(unsigned short port, const char *expected) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char answer[64] = "";
        size_t length = 0;
        ssize_t n;

        if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0) {
                assert_string_equal(strerror(errno), expected);
                return;
        }
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        while ((n = recv(fd, answer + length, sizeof(answer) - 1 - length, 0)) > 0)
                length += (size_t)n;
        assert_string_equal(answer, expected);
}

/* The client, which goes on with each line that it is given. */
struct client {
        struct running running;
        int input;
        char id[16];
};

static inline void client_start(const struct site *s, struct client *ret, const char *net,
                                const char *const *words) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        _cleanup_free_ const char **argv = words_of(
                OPTIONS(program(), "run", "--project", s->project, "--bind", bind, net, "--", "/client"),
                words);
        int input[2];

        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input[0]}, &ret->running);
        close_fdp(&input[0]);
        ret->input = input[1];
        (void)snprintf(ret->id, sizeof(ret->id), "%d", (int)ret->running.pid);
}
#define CLIENT_START(s, client, net, ...) client_start(s, client, net, OPTIONS(__VA_ARGS__))

static inline void client_go(const struct client *c) {
        assert_int_equal(write(c->input, "\n", 1), 1);
}

static inline void client_end(struct client *c, int status) {
        _cleanup_outcome_ struct outcome o = {0};

        close_fdp(&c->input);
        finish(&c->running, &o);
        expect_status(&o, status);
}

#define REVOKED                                                                                         \
        "nsrun: note: connections that it alone allowed are ended; what was sent there can't be taken " \
        "back\n"

static inline void expect_revoked(const struct site *s, const char *id, const char *option,
                                  const char *value) {
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "revoke", id, option, value);
        assert_string_equal(o.err, REVOKED);
        expect_status(&o, 0);
        expect_out(&o, "");
}

static inline void expect_inspected(const struct site *s, const char *id, const char *line, bool is_there) {
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "inspect", id);
        expect_status(&o, 0);
        assert_int_equal(strstr(o.out, line) != NULL, is_there);
        NSRUN(s, &o, "inspect", "--json", id);
        assert_int_equal(strstr(o.out, line) != NULL, is_there);
}
