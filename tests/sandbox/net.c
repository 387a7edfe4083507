/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host and the client of net.h. */
#include "net.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#define PORT 8080

/* ------------------------------------------------------------------ the host */

struct request_to_kernel {
        struct nlmsghdr head;
        union {
                struct ifaddrmsg address;
                struct rtmsg route;
                char room[128];
        } body;
};

static void add_bytes(struct request_to_kernel *q, unsigned short type, const void *data, size_t n) {
        struct rtattr *a = (struct rtattr *)(void *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));

        a->rta_type = type;
        a->rta_len = (unsigned short)RTA_LENGTH(n);
        memcpy(RTA_DATA(a), data, n);
        q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + (unsigned)RTA_ALIGN(a->rta_len);
}

/* 0, or the kernel's errno. */
static int ask_kernel(struct request_to_kernel *q) {
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        struct {
                struct nlmsghdr head;
                struct nlmsgerr error;
                char room[512];
        } answer;

        q->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
        if (fd < 0 || send(fd, q, q->head.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
                return errno;
        (void)close(fd);
        return -answer.error.error;
}

static struct request_to_kernel local_route(const char *to, unsigned char bits) {
        struct request_to_kernel q = {
                .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)), .nlmsg_type = RTM_NEWROUTE},
                .body.route = {.rtm_family = AF_INET,
                               .rtm_dst_len = bits,
                               .rtm_table = RT_TABLE_LOCAL,
                               .rtm_protocol = RTPROT_STATIC,
                               .rtm_scope = RT_SCOPE_HOST,
                               .rtm_type = RTN_LOCAL}};
        struct in_addr address, own;
        uint32_t lo = 1;

        (void)inet_pton(AF_INET, to, &address);
        (void)inet_pton(AF_INET, "203.0.113.1", &own);
        add_bytes(&q, RTA_DST, &address, 4);
        add_bytes(&q, RTA_OIF, &lo, 4);
        add_bytes(&q, RTA_PREFSRC, &own, 4);
        return q;
}

static void make_network(void) {
        static const struct {
                const char *to;
                unsigned char bits;
        } ranges[] = {{"203.0.113.0", 24}, {"10.0.0.0", 8}, {"169.254.0.0", 16}, {"100.64.0.0", 10}};
        struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
        struct request_to_kernel q = {
                .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)), .nlmsg_type = RTM_NEWADDR},
                .body.address = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1}};
        struct in_addr own;
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        (void)inet_pton(AF_INET, "203.0.113.1", &own);
        if (unshare(CLONE_NEWNET) < 0 || (fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0 ||
            ioctl(fd, SIOCSIFFLAGS, &up) < 0)
                stage_fail("a network");
        add_bytes(&q, IFA_LOCAL, &own, 4);
        if ((errno = ask_kernel(&q)))
                stage_fail("an address");
        for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
                q = local_route(ranges[i].to, ranges[i].bits);
                if ((errno = ask_kernel(&q)))
                        stage_fail(ranges[i].to);
        }
}

static int bind_all(int type, unsigned short port) {
        struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
        int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
            (type == SOCK_STREAM && listen(fd, 64) < 0))
                stage_fail("a server's socket");
        return fd;
}

static void answer_one(int fd, int log) {
        struct sockaddr_in own;
        socklen_t length = sizeof(own);
        char address[INET_ADDRSTRLEN], line[64], bytes[4096];
        int c = accept(fd, NULL, NULL);
        size_t all = 0;
        ssize_t n;

        if (c < 0 || getsockname(c, (struct sockaddr *)&own, &length) < 0)
                _exit(1);
        (void)inet_ntop(AF_INET, &own.sin_addr, address, sizeof(address));
        (void)dprintf(log, "tcp %s\n", address);
        while ((n = recv(c, bytes, sizeof(bytes), 0)) > 0)
                all += (size_t)n;
        (void)snprintf(line, sizeof(line), "to %s: %zu bytes", address, all);
        (void)send(c, line, strlen(line), MSG_NOSIGNAL);
        (void)close(c);
}

static void answer_packet(int fd, int log) {
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
        } from;
        socklen_t length = sizeof(from);
        char byte;

        if (recvfrom(fd, &byte, 1, 0, &from.any, &length) < 0)
                return;
        (void)dprintf(log, "udp\n");
        (void)sendto(fd, "x", 1, 0, &from.any, length);
}

static void start_server(const struct world *w) {
        struct pollfd fds[] = {{bind_all(SOCK_STREAM, PORT), POLLIN, 0},
                               {bind_all(SOCK_DGRAM, PORT), POLLIN, 0},
                               {bind_all(SOCK_DGRAM, 53), POLLIN, 0}};
        int log = open(w->log, O_WRONLY | O_APPEND | O_CLOEXEC);
        pid_t parent = getpid(), pid = fork();

        if (pid < 0 || log < 0)
                stage_fail("a server");
        if (pid > 0)
                return;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(1);
        /* Of pipes that others wait for, too. */
        for (int fd = 0; fd < 256; fd++)
                if (fd != log && fd != fds[0].fd && fd != fds[1].fd && fd != fds[2].fd)
                        (void)close(fd);
        while (poll(fds, ARRAY_SIZE(fds), -1) > 0) {
                if (fds[0].revents)
                        answer_one(fds[0].fd, log);
                for (size_t i = 1; i < ARRAY_SIZE(fds); i++)
                        if (fds[i].revents)
                                answer_packet(fds[i].fd, log);
        }
        _exit(0);
}

void world_stage(void *data) {
        const struct world *w = data;
        char resolv[4096];

        stage_enter();
        make_network();
        stage_bind(w->hosts, "/etc/hosts");
        if (realpath("/etc/resolv.conf", resolv))
                stage_bind(w->resolv, resolv);
        start_server(w);
}

void world_make(const struct site *s, struct world *ret, const char *hosts) {
        make_file(s->root, "hosts", hosts);
        make_file(s->root, "resolv", "nameserver 203.0.113.53\noptions timeout:1 attempts:1\n");
        make_file(s->root, "log", "");
        *ret = (struct world){s, path_of(s->root, "hosts"), path_of(s->root, "resolv"),
                              path_of(s->root, "log")};
}

void world_clear(struct world *w) {
        free(w->hosts);
        free(w->resolv);
        free(w->log);
}

void world_run(struct world *w, struct outcome *ret, const char *const *options, const char *const *words) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        const char *argv[48] = {program(), "run", "--project", w->site->project, "--bind", bind};
        size_t n = 6;

        while (options && *options)
                argv[n++] = *options++;
        argv[n++] = "--";
        if (!options)
                n = 0;
        argv[n++] = options ? "/client" : self;
        while (*words && n < ARRAY_SIZE(argv) - 1)
                argv[n++] = *words++;
        argv[n] = NULL;
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = w->site->root, .in_child = world_stage, .data = w}, ret);
        collect_orphans();
}

/* ---------------------------------------------------------------- the client */

static void reach_one(const char *where) {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
        const char *colon = strrchr(where, ':');
        struct addrinfo *list = NULL;
        char host[256], answer[256] = "";
        size_t length = 0;
        int fd = -1, r;
        ssize_t n;

        (void)snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
        r = getaddrinfo(host, colon + 1, &hints, &list);
        errno = 0;
        for (const struct addrinfo *i = list; i && fd < 0; i = i->ai_next) {
                fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, 0);
                if (connect(fd, i->ai_addr, i->ai_addrlen) < 0)
                        close_fdp(&fd);
        }
        if (r == 0)
                freeaddrinfo(list);
        if (r != 0 || fd < 0) {
                (void)printf("%s: %s\n", where, r == 0 ? strerror(errno) : "no such name");
                return;
        }
        n = send(fd, "hi", 2, MSG_NOSIGNAL);
        (void)(n < 0 ? 0 : shutdown(fd, SHUT_WR));
        while (n >= 0 && (n = recv(fd, answer + length, sizeof(answer) - 1 - length, 0)) > 0)
                length += (size_t)n;
        (void)printf("%s: %s\n", where, n < 0 ? strerror(errno) : answer);
        close_fdp(&fd);
}

static void serve_one(unsigned short port) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), c;
        char byte;

        if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 8) < 0)
                stage_fail("a server inside");
        (void)puts("serves");
        (void)fflush(stdout);
        c = accept(fd, NULL, NULL);
        while (recv(c, &byte, 1, 0) > 0)
                ;
        (void)send(c, "from inside", 11, MSG_NOSIGNAL);
        close_fdp(&c);
        close_fdp(&fd);
}

/* Waits for an answer where there may be one: the server ends with its client. */
static int send_udp(const char *to, unsigned short port, bool is_answered) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        (void)inet_pton(AF_INET, to, &at.sin_addr);
        if (sendto(fd, "x", 1, 0, (const struct sockaddr *)&at, sizeof(at)) < 0)
                return errno;
        if (is_answered)
                (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 10000);
        return 0;
}

static int connect_mapped(const char *to) {
        struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
        int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)inet_pton(AF_INET6, to, &at.sin6_addr);
        return connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? errno : 0;
}

static int open_socket(int family, int type, int protocol) {
        return socket(family, type | SOCK_CLOEXEC, protocol) < 0 ? errno : 0;
}

static int change_route(void) {
        struct request_to_kernel q = local_route("1.0.0.0", 8);

        return ask_kernel(&q);
}

static int nested_route(void) {
        return unshare(CLONE_NEWUSER) < 0 ? errno : change_route();
}

/* Prints how each way out of the table went; 0: it is open. */
static void attempt_all(void) {
        const struct {
                const char *what;
                int error;
        } all[] = {
                {"udp to a name server", send_udp("203.0.113.53", 53, true)},
                {"udp to an address", send_udp("203.0.113.5", PORT, true)},
                {"udp to the metadata", send_udp("169.254.169.254", 80, false)},
                {"a raw socket", open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW)},
                {"a packet socket", open_socket(AF_PACKET, SOCK_RAW, 0)},
                {"icmp", open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)},
                {"vsock", open_socket(AF_VSOCK, SOCK_STREAM, 0)},
                {"an address in IPv6", connect_mapped("::ffff:203.0.113.5")},
                {"an address of IPv6", connect_mapped("2001:db8::1")},
                {"a route", change_route()},
                {"a route of a nested namespace", nested_route()},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                (void)printf("%s: %s\n", all[i].what, all[i].error ? "refused" : "open");
}

void client_main(int argc, char **argv) {
        char line[16];

        if (argc < 2 || (!streq(argv[1], "reach") && !streq(argv[1], "attempt") && !streq(argv[1], "serve")))
                return;
        if (streq(argv[1], "attempt"))
                attempt_all();
        for (int i = 2; i < argc; i++) {
                if (streq(argv[1], "serve"))
                        serve_one((unsigned short)atoi(argv[i]));
                else if (!streq(argv[i], "wait"))
                        reach_one(argv[i]);
                else if (read(0, line, sizeof(line)) <= 0)
                        _exit(98);
                (void)fflush(stdout);
        }
        _exit(fflush(stdout) ? 97 : 0);
}
