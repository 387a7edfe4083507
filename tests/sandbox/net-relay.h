/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of nsrun-net's connections share: a server on the host's loopback, and a client inside. */
#pragma once

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "net.h"

static inline int listen_here(unsigned short *ret_port) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
        socklen_t n = sizeof(at);

        at.sin_port = htons(*ret_port);
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, (const struct sockaddr *)&at, n) < 0 || listen(fd, 4096) < 0 ||
            getsockname(fd, (struct sockaddr *)&at, &n) < 0)
                stage_fail("a socket");
        *ret_port = ntohs(at.sin_port);
        return fd;
}

static inline int connect_here(unsigned short port) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
                return -errno;
        return fd;
}

static inline size_t read_all(int fd) {
        static char bytes[1 << 16];
        size_t all = 0;
        ssize_t n;

        while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
                all += (size_t)n;
        if (n == 0)
                errno = 0;
        return all;
}

static inline void take_a_moment(void) {
        const struct timespec moment = {.tv_nsec = 50 * 1000000};

        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

typedef void serve_function(int connection);

/* A process that does so with each connection, one after the other; the caller kills it. */
static inline pid_t start_serving(serve_function *serve, unsigned short *ret_port) {
        int fd = listen_here(ret_port);
        pid_t parent = getpid(), pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(1);
                for (;;) {
                        int c = accept(fd, NULL, NULL);

                        serve(c);
                        (void)close(c);
                }
        }
        (void)close(fd);
        return pid;
}

static inline void stop_serving(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Answers before it has read what is sent, and closes. */
static inline void serve_too_large(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send(c, "too large", 9, MSG_NOSIGNAL);
        take_a_moment();
}

static inline void tell_end(int fd) {
        char bytes[256] = "";
        size_t n = 0;
        ssize_t k;

        while ((k = recv(fd, bytes + n, sizeof(bytes) - 1 - n, 0)) > 0)
                n += (size_t)k;
        (void)printf("'%s', %s\n", bytes, k < 0 ? strerror(errno) : "the end");
}

static inline void client_ask(int fd) {
        if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
                (void)printf("'', %s\n", strerror(errno));
        else
                tell_end(fd);
}

static inline void spawn_relay(const struct site *s, struct running *ret, int input, const char *option,
                               const char *const *words) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        const char *argv[32] = {program(),     "run",  "--project", s->project, "--bind", bind,
                                "--net=allow", option, "--",        "/client",  "relay"};
        size_t n = 11;

        while (*words)
                argv[n++] = *words++;
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input}, ret);
}
