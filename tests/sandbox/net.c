/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host and the client of net.h. */
#include "net.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PORT           WORLD_PORT
#define TABLE_OF_WORLD 100

/* ------------------------------------------------------------------ the host */

struct request_to_kernel {
        struct nlmsghdr head;
        union {
                struct ifaddrmsg address;
                struct rtmsg route;
                struct fib_rule_hdr rule;
                char room[128];
        } body;
};

static void add_bytes(struct request_to_kernel *q, unsigned short type, const void *data, size_t n) {
        const struct rtattr a = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(n)};
        char *at = (char *)q + NLMSG_ALIGN(q->head.nlmsg_len);

        memcpy(at, &a, sizeof(a));
        memcpy(at + RTA_LENGTH(0), data, n);
        q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + (unsigned)RTA_ALIGN(a.rta_len);
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

/* `ip route add TYPE TO/BITS dev lo table TABLE src 203.0.113.1`: 0, or the kernel's errno. */
static int add_route(const char *to, unsigned char bits, unsigned char type, unsigned char table) {
        bool is_v6 = strchr(to, ':');
        struct request_to_kernel q = {
                .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)), .nlmsg_type = RTM_NEWROUTE},
                .body.route = {.rtm_family = is_v6 ? AF_INET6 : AF_INET,
                               .rtm_dst_len = bits,
                               .rtm_table = table,
                               .rtm_protocol = RTPROT_STATIC,
                               .rtm_scope = type == RTN_LOCAL ? RT_SCOPE_HOST : RT_SCOPE_LINK,
                               .rtm_type = type}};
        unsigned char address[16];
        struct in_addr own;
        uint32_t lo = 1;

        (void)inet_pton(q.body.route.rtm_family, to, address);
        (void)inet_pton(AF_INET, "203.0.113.1", &own);
        add_bytes(&q, RTA_DST, address, is_v6 ? 16 : 4);
        add_bytes(&q, RTA_OIF, &lo, 4);
        if (!is_v6)
                add_bytes(&q, RTA_PREFSRC, &own, 4);
        return ask_kernel(&q);
}

int world_change_route(void) {
        return world_add_local_route("1.0.0.0", 8);
}

int world_add_local_route(const char *to, unsigned char bits) {
        return add_route(to, bits, RTN_LOCAL, RT_TABLE_LOCAL);
}

/* The server's addresses are others than the host's own: the way there leads to an interface (as which there
 * is only lo), and only what comes from the host's own address, as all does that is on its way, stays there.
 */
static int add_outer_route(const char *to, unsigned char bits) {
        int r = add_route(to, bits, RTN_UNICAST, RT_TABLE_MAIN);

        return r ? r : add_route(to, bits, RTN_LOCAL, TABLE_OF_WORLD);
}

/* `ip rule add from 203.0.113.1 lookup TABLE_OF_WORLD` */
static int add_rule(void) {
        struct request_to_kernel q = {
                .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct fib_rule_hdr)), .nlmsg_type = RTM_NEWRULE},
                .body.rule = {
                        .family = AF_INET, .src_len = 32, .table = TABLE_OF_WORLD, .action = FR_ACT_TO_TBL}};
        struct in_addr own;

        (void)inet_pton(AF_INET, "203.0.113.1", &own);
        add_bytes(&q, FRA_SRC, &own, 4);
        return ask_kernel(&q);
}

int world_add_address(const char *address) {
        struct request_to_kernel q = {
                .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)), .nlmsg_type = RTM_NEWADDR},
                .body.address = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1}};
        bool is_v6 = strchr(address, ':');
        unsigned char own[16];

        if (is_v6) {
                q.body.address.ifa_family = AF_INET6;
                q.body.address.ifa_prefixlen = 128;
        }
        if (inet_pton(q.body.address.ifa_family, address, own) != 1)
                return EINVAL;
        add_bytes(&q, IFA_LOCAL, own, is_v6 ? 16 : 4);
        return ask_kernel(&q);
}

static void make_network(void) {
        static const struct {
                const char *to;
                unsigned char bits;
        } ranges[] = {{"203.0.113.0", 24}, {"10.0.0.0", 8}, {"169.254.0.0", 16}, {"100.64.0.0", 10}};
        struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
        int fd;

        if (unshare(CLONE_NEWNET) < 0 || (fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0 ||
            ioctl(fd, SIOCSIFFLAGS, &up) < 0)
                stage_fail("a network");
        if ((errno = world_add_address("203.0.113.1")))
                stage_fail("an address");
        if ((errno = add_rule()))
                stage_fail("a rule");
        for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
                if ((errno = add_outer_route(ranges[i].to, ranges[i].bits)))
                        stage_fail(ranges[i].to);
        errno = world_add_local_route("2001:db8::", 64);
        if (errno && errno != EOPNOTSUPP)
                stage_fail("a route of IPv6");
}

static int bind_all(int type, unsigned short port) {
        struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
        int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), on = 1;

        /* IP_TRANSPARENT: addresses that no interface has. */
        if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)) < 0 ||
            bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
            (type == SOCK_STREAM && listen(fd, 64) < 0) ||
            (type == SOCK_DGRAM && setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) < 0))
                stage_fail("a server's socket");
        return fd;
}

/* Sockets at which nobody does more than wait: one of IPv6, and one of the kernel's abstract names. */
static void listen_unanswered(void) {
        const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
        const struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = WORLD_ABSTRACT};
        int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
        if (fd >= 0 && (bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 64) < 0))
                stage_fail("a server of IPv6");
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (const struct sockaddr *)&abstract, sizeof(abstract)) < 0 ||
            listen(fd, 64) < 0)
                stage_fail("an abstract socket");
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

static void refuse_one(int fd, int log) {
        int c = accept(fd, NULL, NULL);

        (void)dprintf(log, "tcp 53\n");
        close_fdp(&c);
}

/* From the address that it was sent to. */
static void answer_packet(int fd, int log) {
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(struct in_pktinfo))];
        } control;
        struct iovec iov = {.iov_base = (char[]){'x'}, .iov_len = 1};
        struct sockaddr_in from;
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof(from),
                                 .msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        struct in_pktinfo info;

        if (recvmsg(fd, &message, 0) < 0 || message.msg_controllen == 0)
                return;
        (void)dprintf(log, "udp\n");
        memcpy(&info, CMSG_DATA(&control.header), sizeof(info));
        info.ipi_spec_dst = info.ipi_addr;
        info.ipi_ifindex = 0;
        memcpy(CMSG_DATA(&control.header), &info, sizeof(info));
        (void)sendmsg(fd, &message, 0);
}

static void start_server(const struct world *w) {
        struct pollfd fds[] = {{bind_all(SOCK_STREAM, PORT), POLLIN, 0},
                               {bind_all(SOCK_DGRAM, PORT), POLLIN, 0},
                               {bind_all(SOCK_DGRAM, 53), POLLIN, 0},
                               {bind_all(SOCK_STREAM, 80), POLLIN, 0},
                               {bind_all(SOCK_STREAM, 53), POLLIN, 0}};
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
                if (fd != log && fd != fds[0].fd && fd != fds[1].fd && fd != fds[2].fd && fd != fds[3].fd &&
                    fd != fds[4].fd)
                        (void)close(fd);
        listen_unanswered();
        if (w->proxy)
                proxy_start(w->proxy, log);
        while (poll(fds, ARRAY_SIZE(fds), -1) > 0) {
                if (fds[0].revents)
                        answer_one(fds[0].fd, log);
                if (fds[3].revents)
                        answer_one(fds[3].fd, log);
                if (fds[4].revents)
                        refuse_one(fds[4].fd, log);
                for (size_t i = 1; i < 3; i++)
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
        *ret = (struct world){.site = s,
                              .hosts = path_of(s->root, "hosts"),
                              .resolv = path_of(s->root, "resolv"),
                              .log = path_of(s->root, "log")};
}

void world_clear(struct world *w) {
        free(w->hosts);
        free(w->resolv);
        free(w->log);
}

/* Takes count_packets()'s line off the output. */
static void take_count(struct world *w, struct outcome *o) {
        char *line = o->out + strlen(o->out);

        assert_true(line > o->out && line[-1] == '\n');
        while (--line > o->out && line[-1] != '\n')
                ;
        assert_int_equal(sscanf(line, "packets %lu", &w->n_packets), 1);
        *line = '\0';
}

void world_run(struct world *w, struct outcome *ret, const char *const *options, const char *const *words) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        const char *argv[48] = {self,        "count",          program(), w->command ? w->command : "run",
                                "--project", w->site->project, "--bind",  bind};
        size_t n = 8;

        while (options && *options)
                argv[n++] = *options++;
        argv[n++] = "--";
        if (!options)
                n = 2;
        argv[n++] = options ? "/client" : self;
        while (*words && n < ARRAY_SIZE(argv) - 1)
                argv[n++] = *words++;
        argv[n] = NULL;
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = w->site->root, .in_child = world_stage, .data = w}, ret);
        collect_orphans();
        take_count(w, ret);
}

/* ---------------------------------------------------------------- the client */

/* The kernel's own count of what went over the host's only interface while the program ran. */
static _Noreturn void count_packets(char **argv) {
        pid_t pid = fork();
        unsigned long n;
        char line[256];
        FILE *f;
        int status;

        if (pid == 0) {
                (void)execvp(argv[0], argv);
                _exit(96);
        }
        if (waitpid(pid, &status, 0) != pid || !(f = fopen("/proc/self/net/dev", "re")))
                _exit(95);
        while (fgets(line, sizeof(line), f))
                if (sscanf(line, " lo: %*u %lu", &n) == 1)
                        (void)printf("packets %lu\n", n);
        (void)fclose(f);
        (void)fflush(stdout);
        if (WIFSIGNALED(status))
                (void)raise(WTERMSIG(status));
        _exit(WEXITSTATUS(status));
}

static void reach_one(const char *where, const char *request) {
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
                if (connect(fd, i->ai_addr, i->ai_addrlen) >= 0)
                        break;
                close_fdp(&fd);
                /* A reset that comes within connect(2) is an answer, too. */
                if (errno == ECONNRESET)
                        break;
        }
        if (r == 0)
                freeaddrinfo(list);
        if (r != 0 || fd < 0) {
                (void)printf("%s: %s\n", where, r == 0 ? strerror(errno) : "no such name");
                return;
        }
        n = send(fd, request, strlen(request), MSG_NOSIGNAL);
        (void)(n < 0 ? 0 : shutdown(fd, SHUT_WR));
        while (n >= 0 && (n = recv(fd, answer + length, sizeof(answer) - 1 - length, 0)) > 0)
                length += (size_t)n;
        (void)printf("%s: %s\n", where, n < 0 ? strerror(errno) : answer);
        close_fdp(&fd);
}

/* A datagram from a socket that takes an answer from where it has sent to alone.  Behind a "~" is what
 * nobody answers, for which a second is enough: whether it came anywhere the server's log says. */
static void send_one(const char *word) {
        const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
        const char *where = word + (*word == '~'), *colon = strrchr(where, ':');
        struct addrinfo *list = NULL;
        char host[256], answer[16];
        ssize_t n = -1;
        int fd = -1;

        (void)snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
        if (getaddrinfo(host, colon + 1, &hints, &list) != 0) {
                (void)printf("%s: no such name\n", where);
                return;
        }
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (connect(fd, list->ai_addr, list->ai_addrlen) < 0 || send(fd, "hi", 2, 0) < 0 ||
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, *word == '~' ? 1000 : 60000) < 0 ||
            (n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT)) < 0)
                (void)printf("%s: %s\n", where, strerror(errno));
        else
                (void)printf("%s: %zd byte\n", where, n);
        freeaddrinfo(list);
        close_fdp(&fd);
}

/* A request that names another host than the connection does. */
static const char pretence[] = "GET http://private.test:8080/ HTTP/1.1\r\nHost: private.test:8080\r\n\r\n"
                               "CONNECT private.test:8080 HTTP/1.1\r\n\r\n";

/* Goes on in a process behind 20 others, each with a thousand descriptors. */
static void hide_in_a_crowd(void) {
        pid_t last;

        for (int i = 0; i < 20; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        stage_fail("a crowd");
                if (pid != 0)
                        continue;
                for (int n = 0; n < 1000; n++)
                        (void)dup(2);
                (void)kill(getpid(), SIGSTOP);
                _exit(0);
        }
        for (int i = 0; i < 20; i++)
                (void)waitpid(-1, NULL, WUNTRACED);
        last = fork();
        if (last != 0)
                _exit(waitpid(last, NULL, 0) == last ? 0 : 94);
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

void client_main(int argc, char **argv) {
        static const char *const modes[] = {"reach", "pretend", "attempt", "ask",  "serve",
                                            "count", "hammer",  "send",    "crowd"};
        bool is_ours = false;
        char line[16];

        for (size_t i = 0; i < ARRAY_SIZE(modes) && argc > 1; i++)
                is_ours |= streq(argv[1], modes[i]);
        if (!is_ours)
                return;
        if (streq(argv[1], "count"))
                count_packets(argv + 2);
        if (streq(argv[1], "attempt"))
                ways_attempt();
        if (streq(argv[1], "hammer"))
                ways_hammer();
        if (streq(argv[1], "crowd"))
                hide_in_a_crowd();
        for (int i = 2; i < argc; i++) {
                if (streq(argv[1], "serve"))
                        serve_one((unsigned short)atoi(argv[i]));
                else if (streq(argv[1], "ask"))
                        ways_ask(argv[i]);
                else if (streq(argv[1], "send"))
                        send_one(argv[i]);
                else if (!streq(argv[i], "wait"))
                        reach_one(argv[i], streq(argv[1], "pretend") ? pretence : "hi");
                else if (read(0, line, sizeof(line)) <= 0)
                        _exit(98);
                (void)fflush(stdout);
        }
        _exit(fflush(stdout) ? 97 : 0);
}
