/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A proxy on the host of net.h: one that does as it should, by HTTP or by SOCKS, and the ways in which one
 * doesn't.  It writes down what it is asked for. */
#include "net.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>

#define CREDENTIALS "dTpwQDpzcw==" /* u:p@:ss */

struct proxy {
        const char *way;
        int log, client;
};

static bool is_way(const struct proxy *p, const char *way) {
        return streq(p->way, way);
}

static void say(const struct proxy *p, const char *text) {
        (void)send(p->client, text, strlen(text), MSG_NOSIGNAL);
}

static int proxy_connect(const char *host, const char *port) {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
        struct addrinfo *list = NULL;
        int fd = -1;

        if (getaddrinfo(host, port, &hints, &list) != 0)
                return -1;
        for (const struct addrinfo *i = list; i && fd < 0; i = i->ai_next) {
                fd = socket(i->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
                if (connect(fd, i->ai_addr, i->ai_addrlen) < 0)
                        close_fdp(&fd);
        }
        freeaddrinfo(list);
        return fd;
}

/* Moves bytes until both sides have ended. */
static void proxy_relay(int a, int b) {
        struct pollfd fds[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
        char bytes[65536];

        for (int left = 2; left > 0 && poll(fds, 2, -1) > 0;)
                for (size_t i = 0; i < 2; i++) {
                        ssize_t n = fds[i].revents ? recv(fds[i].fd, bytes, sizeof(bytes), 0) : -2;
                        int to = i == 0 ? b : a;

                        if (n == -2)
                                continue;
                        for (ssize_t at = 0, m; at < n; at += m)
                                if ((m = send(to, bytes + at, (size_t)(n - at), MSG_NOSIGNAL)) < 0)
                                        return;
                        if (n <= 0) {
                                (void)shutdown(to, SHUT_WR);
                                fds[i].fd = -1;
                                left--;
                        }
                }
}

static bool read_exactly(int fd, void *to, size_t n) {
        return recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static void connect_to(const struct proxy *p, const char *host, const char *port, const char *answer,
                       size_t n) {
        int fd = proxy_connect(host, port);

        if (fd < 0)
                _exit(1);
        (void)send(p->client, answer, n, MSG_NOSIGNAL);
        if (is_way(p, "die"))
                _exit(0);
        proxy_relay(p->client, fd);
}

static void say_slowly(const struct proxy *p, const char *text) {
        for (; *text; text++) {
                (void)poll(NULL, 0, 10);
                (void)send(p->client, text, 1, MSG_NOSIGNAL);
        }
}

static void speak_http(const struct proxy *p) {
        char head[4096] = "", host[256], port[16];
        static const char opened[] = "HTTP/1.1 200 Connection established\r\nX-Proxy: y\r\n\r\n";
        size_t n = 0;

        while (!strstr(head, "\r\n\r\n")) {
                if (n == sizeof(head) - 1 || !read_exactly(p->client, head + n, 1))
                        return;
                n++;
        }
        (void)dprintf(p->log, "proxy %.*s%s\n", (int)strcspn(head, "\r"), head,
                      strstr(head, "Basic " CREDENTIALS "\r\n") ? ", with credentials" : "");
        if (sscanf(head, "CONNECT %255[^:]:%15[0-9] HTTP/1.1", host, port) != 2)
                return;
        if (is_way(p, "403"))
                say(p, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        else if (is_way(p, "407") && !strstr(head, CREDENTIALS))
                say(p, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n");
        else if (is_way(p, "garbage"))
                say(p, "SSH-2.0-none\r\n\r\n");
        else if (is_way(p, "half"))
                say(p, "HTTP/1.1 200 Connection");
        else if (is_way(p, "short"))
                say(p, "HTTP/1.1 \r\n\r\n");
        else if (is_way(p, "flood")) {
                say(p, "HTTP/1.1 200 OK\r\n");
                for (int i = 0; i < 1024; i++)
                        say(p, "X-Filler: 0123456789012345678901234567890123456789012345678901\r\n");
                say(p, "\r\n");
        } else if (is_way(p, "early")) {
                say(p, "HTTP/1.1 200 OK\n\nbehind it");
                while (recv(p->client, head, sizeof(head), 0) > 0)
                        ;
        } else if (is_way(p, "slow")) {
                say_slowly(p, opened);
                connect_to(p, host, port, "", 0);
        } else
                connect_to(p, host, port, opened, strlen(opened));
}

static void speak_socks(const struct proxy *p) {
        static const char opened[] = {5, 0, 0, 3, 4, 'h', 'e', 'r', 'e', 0, 80};
        unsigned char bytes[2], methods[255], head[5], room[300];
        char host[260] = "", port[16], user[256] = "";
        bool wants_user = is_way(p, "socks-user");

        if (!read_exactly(p->client, bytes, 2) || !read_exactly(p->client, methods, bytes[1]))
                return;
        if (is_way(p, "socks-garbage")) {
                say(p, "HTTP/1.1 400 Bad request\r\n\r\n");
                return;
        }
        if (wants_user && !memchr(methods, 2, bytes[1])) {
                (void)send(p->client, "\5\377", 2, MSG_NOSIGNAL);
                return;
        }
        (void)send(p->client, wants_user ? "\5\2" : "\5\0", 2, MSG_NOSIGNAL);
        if (wants_user) {
                if (!read_exactly(p->client, bytes, 2) || !read_exactly(p->client, user, bytes[1]) ||
                    !read_exactly(p->client, bytes, 1) || !read_exactly(p->client, room, bytes[0]))
                        return;
                (void)dprintf(p->log, "user %s, password %.*s\n", user, bytes[0], (const char *)room);
                (void)send(p->client, streq(user, "u") ? "\1\0" : "\1\1", 2, MSG_NOSIGNAL);
                if (!streq(user, "u"))
                        return;
        }
        if (!read_exactly(p->client, head, 5))
                return;
        room[0] = head[4];
        if (!read_exactly(p->client, room + 1, (head[3] == 1 ? 4U : head[3] == 4 ? 16U : head[4] + 1U) + 1))
                return;
        if (head[3] == 3)
                (void)snprintf(host, sizeof(host), "%.*s", room[0], (const char *)room + 1);
        else
                (void)inet_ntop(head[3] == 1 ? AF_INET : AF_INET6, room, host, sizeof(host));
        memcpy(bytes, room + (head[3] == 1 ? 4 : head[3] == 4 ? 16 : room[0] + 1), 2);
        (void)snprintf(port, sizeof(port), "%u", (unsigned)(bytes[0] << 8 | bytes[1]));
        (void)dprintf(p->log, "proxy %s %s:%s\n", head[3] == 3 ? "name" : "address", host, port);
        if (is_way(p, "socks-refuse"))
                (void)send(p->client, "\5\2\0\1\0\0\0\0\0\0", 10, MSG_NOSIGNAL);
        else if (is_way(p, "socks-odd"))
                (void)send(p->client, "\5\0\0\7\0\0\0\0\0\0", 10, MSG_NOSIGNAL);
        else
                connect_to(p, host, port, opened, sizeof(opened));
}

void proxy_start(const char *way, int log) {
        const struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pid_t parent = getpid(), pid;

        if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 64) < 0)
                stage_fail("a proxy's socket");
        pid = fork();
        if (pid != 0) {
                (void)close(fd);
                return;
        }
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(1);
        for (int i = 0; i < 256; i++)
                if (i != fd && i != log)
                        (void)close(i);
        (void)signal(SIGCHLD, SIG_IGN);
        for (;;) {
                struct proxy p = {way, log, accept(fd, NULL, NULL)};

                if (p.client < 0)
                        _exit(1);
                if (fork() == 0) {
                        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                                _exit(1);
                        if (is_way(&p, "close"))
                                _exit(0);
                        if (startswith(way, "socks"))
                                speak_socks(&p);
                        else
                                speak_http(&p);
                        _exit(0);
                }
                (void)close(p.client);
        }
}
