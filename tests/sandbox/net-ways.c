/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ways out of a sandbox's network that the client of net.h tries, and what it asks its name server. */
#include "net.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <sys/wait.h>

union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
};

/* A socket that is connected to `to`, or -errno. */
static int connect_to(const char *to, int type, unsigned short port) {
        union address at = {.v6 = {.sin6_port = htons(port)}};
        bool is_v6 = strchr(to, ':');
        int fd, r = 0;

        at.any.sa_family = is_v6 ? AF_INET6 : AF_INET;
        if (inet_pton(at.any.sa_family, to, is_v6 ? (void *)&at.v6.sin6_addr : (void *)&at.v4.sin_addr) != 1)
                return -EINVAL;
        fd = socket(at.any.sa_family, type | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, &at.any, is_v6 ? sizeof(at.v6) : sizeof(at.v4)) < 0)
                r = -errno;
        if (r < 0)
                close_fdp(&fd);
        return r < 0 ? r : fd;
}

static int way_tcp(const char *to) {
        _cleanup_close_ int fd = connect_to(to, SOCK_STREAM, WORLD_PORT);

        return fd < 0 ? -fd : 0;
}

/* Gives the socket the address that one which is connected there would have: in the world only what comes
 * from it arrives (net.c).  Where there is no way it has none. */
static void take_address(int fd, const struct sockaddr *to, socklen_t n) {
        _cleanup_close_ int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in own;
        socklen_t length = sizeof(own);

        if (connect(other, to, n) < 0 || getsockname(other, (struct sockaddr *)&own, &length) < 0)
                return;
        own.sin_port = 0;
        (void)bind(fd, (const struct sockaddr *)&own, sizeof(own));
}

/* A socket that has sent so many bytes to `to`, and that is told where nobody is there; -errno.  It isn't
 * connected: the world's server answers from another address. */
static int send_to(const char *to, unsigned short port, const void *bytes, size_t n) {
        union address at = {.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1, r = 0;

        if (inet_pton(AF_INET, to, &at.v4.sin_addr) != 1)
                r = -EINVAL;
        else
                take_address(fd, &at.any, sizeof(at.v4));
        if (r == 0 && (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on)) < 0 ||
                       sendto(fd, bytes, n, 0, &at.any, sizeof(at.v4)) < 0))
                r = -errno;
        if (r < 0)
                close_fdp(&fd);
        return r < 0 ? r : fd;
}

/* The answer's length, or -errno; what is no socket is one. */
static ssize_t await_answer(int fd, void *to, size_t size) {
        ssize_t n;

        if (fd < 0)
                return fd;
        if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 10000) != 1)
                return -ETIMEDOUT;
        n = recv(fd, to, size, 0);
        return n < 0 ? -errno : n;
}

static int udp_to(const char *to, unsigned short port) {
        _cleanup_close_ int fd = send_to(to, port, "x", 1);
        char byte;
        ssize_t n = await_answer(fd, &byte, 1);

        return n < 0 ? (int)-n : 0;
}

static int way_udp(const char *to) {
        return udp_to(to, WORLD_PORT);
}

static int way_udp_dns(const char *to) {
        return udp_to(to, 53);
}

/* Where the host's name leads to. */
static int way_udp_name(const char *name) {
        const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
        char text[INET_ADDRSTRLEN] = "";
        struct addrinfo *list;
        union address at;

        if (getaddrinfo(name, NULL, &hints, &list) != 0)
                return ENOENT;
        memcpy(&at, list->ai_addr, sizeof(at.v4));
        freeaddrinfo(list);
        return inet_ntop(AF_INET, &at.v4.sin_addr, text, sizeof(text)) ? way_udp(text) : errno;
}

static int open_socket(int family, int type, int protocol) {
        _cleanup_close_ int fd = socket(family, type | SOCK_CLOEXEC, protocol);

        return fd < 0 ? errno : 0;
}

static int way_raw(nsrun_unused const char *to) {
        return open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
}

static int way_packet(nsrun_unused const char *to) {
        return open_socket(AF_PACKET, SOCK_RAW, 0);
}

static int way_icmp(nsrun_unused const char *to) {
        return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int way_ping(const char *to) {
        const unsigned char echo[8] = {8};
        struct sockaddr_in at = {.sin_family = AF_INET};
        _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);

        (void)inet_pton(AF_INET, to, &at.sin_addr);
        return fd < 0 || sendto(fd, echo, sizeof(echo), 0, (const struct sockaddr *)&at, sizeof(at)) < 0
                       ? errno
                       : 0;
}

static int way_vsock(nsrun_unused const char *to) {
        return open_socket(AF_VSOCK, SOCK_STREAM, 0);
}

static int way_abstract(nsrun_unused const char *to) {
        const struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = WORLD_ABSTRACT};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        return fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? errno : 0;
}

static int way_route(nsrun_unused const char *to) {
        return world_change_route();
}

/* 0 or an errno of what `way` makes of a child that is in namespaces of its own. */
static int in_namespaces(int flags, int (*way)(const char *), const char *to) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0)
                _exit(unshare(flags) < 0 ? errno : way(to));
        return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ? ECHILD
                                                                                : WEXITSTATUS(status);
}

static int way_nested_route(const char *to) {
        return in_namespaces(CLONE_NEWUSER, way_route, to);
}

/* A network in which it may do all leads nowhere, either. */
static int own_network(const char *to) {
        struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
        _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) < 0)
                return errno;
        (void)world_change_route();
        return way_tcp(to);
}

static int way_nested_network(const char *to) {
        return in_namespaces(CLONE_NEWUSER | CLONE_NEWNET, own_network, to);
}

/* Prints how each way out of the table went. */
void ways_attempt(void) {
        static const struct {
                const char *what;
                int (*way)(const char *to);
                const char *to;
        } all[] = {
                {"an address", way_tcp, "203.0.113.5"},
                {"a name server", way_tcp, "203.0.113.53"},
                {"the metadata", way_tcp, "169.254.169.254"},
                {"the host's loopback", way_tcp, "127.0.0.1"},
                {"all addresses", way_tcp, "0.0.0.0"},
                {"an address in IPv6", way_tcp, "::ffff:203.0.113.5"},
                {"an address of IPv6", way_tcp, "2001:db8::1"},
                {"udp to a name server", way_udp_dns, "203.0.113.53"},
                {"udp to an address", way_udp, "203.0.113.5"},
                {"udp to the metadata", way_udp, "169.254.169.254"},
                {"udp to an allowed name", way_udp_name, "good.test"},
                {"an abstract socket", way_abstract, NULL},
                {"a raw socket", way_raw, NULL},
                {"a packet socket", way_packet, NULL},
                {"icmp", way_icmp, NULL},
                {"a ping", way_ping, "203.0.113.5"},
                {"vsock", way_vsock, NULL},
                {"a route", way_route, NULL},
                {"a route of a nested namespace", way_nested_route, NULL},
                {"a network of a nested namespace", way_nested_network, "203.0.113.5"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                (void)printf("%s: %s\n", all[i].what, all[i].way(all[i].to) ? "refused" : "open");
}

/* Where good.test is inside, while there is a network. */
static bool find_good(char text[INET_ADDRSTRLEN]) {
        const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
        struct addrinfo *list;
        union address at;

        if (getaddrinfo("good.test", NULL, &hints, &list) != 0)
                return false;
        memcpy(&at, list->ai_addr, sizeof(at.v4));
        freeaddrinfo(list);
        return inet_ntop(AF_INET, &at.v4.sin_addr, text, INET_ADDRSTRLEN);
}

void ways_hammer(void) {
        char good[INET_ADDRSTRLEN];

        if (!find_good(good))
                return;
        /* On a busy machine a connection may fail while there is a network still. */
        for (bool has_begun = false; way_tcp(good) == 0 || find_good(good); has_begun = true) {
                if (!has_begun)
                        (void)puts("begun");
                (void)fflush(stdout);
                if (way_tcp("10.0.0.9") == 0 || way_udp_dns("203.0.113.53") == 0)
                        (void)puts("a way out");
        }
        (void)puts(way_tcp("10.0.0.9") == 0 || way_udp_dns("203.0.113.53") == 0 ? "a way out"
                                                                                : "no network");
}

/* ------------------------------------------------------------------- queries */

#define LONG_LABEL "stolen-0123456789abcdef0123456789abcdef0123456789abcdef01234567"

static const struct {
        const char *type;
        unsigned char number;
} types[] = {{"A", 1}, {"NULL", 10}, {"MX", 15}, {"TXT", 16}, {"SRV", 33}, {"HTTPS", 65}, {"AXFR", 252}};
static const char *const names[] = {"good.test", "stolen.good.test", "evil.test",
                                    LONG_LABEL "." LONG_LABEL "." LONG_LABEL ".evil.test",
                                    LONG_LABEL "." LONG_LABEL "." LONG_LABEL ".wild.test"};

static size_t make_query(unsigned char to[512], const char *name, unsigned char type) {
        static const unsigned char head[12] = {'n', 's', 1, 0, 0, 1};
        size_t n = sizeof(head);

        memcpy(to, head, n);
        while (*name) {
                size_t label = strcspn(name, ".");

                to[n++] = (unsigned char)label;
                memcpy(to + n, name, label);
                n += label;
                name += label + (name[label] == '.');
        }
        memcpy(to + n, (const unsigned char[]){0, 0, type, 0, 1}, 5);
        return n + 5;
}

/* Prints what the server says. */
static void ask_one(const char *server, size_t type, const char *name, bool by_tcp) {
        unsigned char query[514], answer[514];
        size_t n = make_query(query + 2, name, types[type].number), at = by_tcp ? 2 : 0;
        _cleanup_close_ int fd =
                by_tcp ? connect_to(server, SOCK_STREAM, 53) : send_to(server, 53, query + 2, n);
        ssize_t got;

        query[0] = (unsigned char)(n >> 8);
        query[1] = (unsigned char)n;
        if (by_tcp && fd >= 0)
                (void)send(fd, query, n + 2, MSG_NOSIGNAL);
        got = await_answer(fd, answer, sizeof(answer));
        (void)printf("%s %.24s%s: ", types[type].type, name, by_tcp ? " by TCP" : "");
        if (got < (ssize_t)at + 12)
                (void)printf("no answer\n");
        else
                (void)printf("code %u, %u answers\n", answer[at + 3] & 15U, answer[at + 7]);
}

void ways_ask(const char *server) {
        for (size_t type = 0; type < ARRAY_SIZE(types); type++)
                for (size_t name = 0; name < ARRAY_SIZE(names); name++) {
                        ask_one(server, type, names[name], false);
                        ask_one(server, type, names[name], true);
                }
}

pid_t net_helper_of(pid_t parent) {
        DIR *proc = opendir("/proc");
        pid_t found = 0;

        for (const struct dirent *e; found == 0 && (e = readdir(proc));) {
                _cleanup_free_ char *path = text_of("/proc/%s/stat", e->d_name), *text = NULL,
                                    *expected = text_of(" %d ", (int)parent);
                const char *at;

                text = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? file_text(path) : NULL;
                at = text ? strstr(text, "(nsrun-net) ") : NULL;
                at = at ? at + strlen("(nsrun-net) ") : NULL;
                if (at && *at != 'Z' && startswith(at + 1, expected))
                        found = (pid_t)atoi(e->d_name);
        }
        (void)closedir(proc);
        return found;
}
