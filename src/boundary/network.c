/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The network namespace of a sandbox: loopback; and with --net=allow addresses that stand for names, with
 * sockets that wait at them.  The sockets are made here, where they need the rights of the namespace's
 * owner, and belong to nsrun-net from then on: no process inside has one. */
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "base/causes.h"
#include "base/sys.h"
#include "network.h"

#define LO_INDEX   1 /* the first interface of every network namespace */
#define BACKLOG    4096
#define HANDING_MS 2000U /* for how long descriptors can't be sent */
/* IPV6_FREEBIND (4.15), which musl doesn't have. */
#define FREEBIND_V6 78

/* No other's port is among them: those below 1024 too are the command's, which has no capability
 * (since 4.11; ip-sysctl).  Where /proc/sys can't be written they stay refused. */
static void open_low_ports(void) {
        _cleanup_close_ int fd =
                sys_open(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY, 0);

        if (fd >= 0)
                (void)sys_write(fd, "0", 1);
}

int network_loopback(struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
        int r;

        fd = sys_socket(AF_INET, SOCK_DGRAM, 0);
        if (fd == -EAFNOSUPPORT || fd == -EPERM || fd == -EACCES)
                return error_cause(err, NSRUN_ERROR_FILTER_SOCKETS, fd, NULL);
        if (fd < 0)
                return error_cause_with(err, NSRUN_ERROR_FILTER_SOCKETS, fd, NULL, NULL);
        r = sys_ioctl(fd, SIOCSIFFLAGS, &request);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, r, NULL, "loopback can't be brought up", NULL);
        open_low_ports();
        return 0;
}

/* ------------------------------------------------------- addresses and routes */

struct request {
        struct nlmsghdr head;
        union {
                struct ifaddrmsg address;
                struct rtmsg route;
                char room[256];
        } body;
};

static void add_attribute(struct request *q, unsigned short type, const void *data, size_t n) {
        const struct rtattr attribute = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(n)};
        char *at = (char *)q + NLMSG_ALIGN(q->head.nlmsg_len);

        /* Copied: written by a pointer of another type it may come after what reads the request. */
        memcpy(at, &attribute, sizeof(attribute));
        memcpy(at + RTA_LENGTH(0), data, n);
        q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + (unsigned)RTA_ALIGN(attribute.rta_len);
}

/* Sends the request, and reads what the kernel says to it. */
static int ask_kernel(int fd, struct request *q) {
        union {
                struct nlmsghdr head;
                char room[1024];
        } answer = {.room = {0}};
        struct nlmsgerr error;
        ssize_t n;

        q->head.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
        n = sys_write(fd, q, q->head.nlmsg_len);
        if (n >= 0)
                n = sys_read(fd, &answer, sizeof(answer));
        if (n < 0)
                return (int)n;
        if ((size_t)n < NLMSG_LENGTH(sizeof(error)) || answer.head.nlmsg_type != NLMSG_ERROR)
                return -EBADMSG;
        memcpy(&error, NLMSG_DATA(&answer.head), sizeof(error));
        return error.error;
}

static int add_own_address(int fd, const struct net_address *a) {
        struct request q = {
                .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)),
                         .nlmsg_type = RTM_NEWADDR,
                         .nlmsg_flags = NLM_F_CREATE},
                .body.address = {.ifa_family = a->is_v6 ? AF_INET6 : AF_INET,
                                 .ifa_prefixlen = (unsigned char)net_address_bits(a),
                                 .ifa_flags = IFA_F_NODAD,
                                 .ifa_index = LO_INDEX},
        };

        add_attribute(&q, IFA_LOCAL, a->bytes, net_address_bits(a) / 8);
        add_attribute(&q, IFA_ADDRESS, a->bytes, net_address_bits(a) / 8);
        return ask_kernel(fd, &q);
}

/* `ip route add local RANGE dev lo`.  IPv4 connections come from the sandbox's own address; else they would
 * come from the one that they are made to. */
static int add_local_route(int fd, const struct net_range *range, const struct net_address *own) {
        const uint32_t lo = LO_INDEX;
        bool is_v6 = range->address.is_v6;
        struct request q = {
                .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                         .nlmsg_type = RTM_NEWROUTE,
                         .nlmsg_flags = NLM_F_CREATE},
                .body.route = {.rtm_family = is_v6 ? AF_INET6 : AF_INET,
                               .rtm_dst_len = (unsigned char)range->bits,
                               .rtm_table = RT_TABLE_LOCAL,
                               .rtm_protocol = RTPROT_STATIC,
                               .rtm_scope = RT_SCOPE_HOST,
                               .rtm_type = RTN_LOCAL},
        };

        add_attribute(&q, RTA_DST, range->address.bytes, is_v6 ? 16 : 4);
        add_attribute(&q, RTA_OIF, &lo, sizeof(lo));
        if (!is_v6)
                add_attribute(&q, RTA_PREFSRC, own->bytes, 4);
        return ask_kernel(fd, &q);
}

/* A kernel without IPv6, or where it is switched off, has IPv4 alone: *ret_has_v6. */
static int add_routes(const struct boundary_network *network, bool *ret_has_v6) {
        _cleanup_close_ int fd = sys_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
        int r = fd < 0 ? fd : add_own_address(fd, &network->own[0]);

        *ret_has_v6 = r >= 0 && add_own_address(fd, &network->own[1]) >= 0;
        for (size_t i = 0; i < network->n_routes && r >= 0; i++)
                if (!network->routes[i].address.is_v6 || *ret_has_v6)
                        r = add_local_route(fd, &network->routes[i], &network->own[0]);
        return r;
}

/* ------------------------------------------------------------------- sockets */

static int make_socket(const struct net_socket *s) {
        static const struct net_address any;
        bool is_v6 = s->address.is_v6, is_shared = false,
             is_datagram = s->kind == NET_SOCKET_DNS_UDP || s->kind == NET_SOCKET_UDP;
        _cleanup_close_ int fd = sys_socket(is_v6 ? AF_INET6 : AF_INET,
                                            (is_datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK, 0);
        union net_sockaddr address;
        socklen_t length = net_address_to(&s->address, s->port, &address);
        int r = fd < 0 ? fd : 0;

        if (s->kind == NET_SOCKET_CONNECT)
                return r < 0 ? r : TAKE_FD(fd);
        if (r >= 0 && is_v6)
                r = sys_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        /* A route makes an IPv4 address one to bind to; of IPv6 only an interface's own is. */
        if (r >= 0 && is_v6)
                r = sys_setsockopt(fd, IPPROTO_IPV6, FREEBIND_V6, 1);
        if (r >= 0)
                r = sys_bind(fd, &address.any, length);
        /* A grant's, beside nsrun-net's own that take one address each (relay_share()).  The kernel
         * remembers that. */
        is_shared = r == -EADDRINUSE && memcmp(any.bytes, s->address.bytes, sizeof(any.bytes)) == 0 &&
                    sys_setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, 1) >= 0;
        if (is_shared)
                r = sys_bind(fd, &address.any, length);
        if (r >= 0 && !is_datagram)
                r = sys_listen(fd, BACKLOG);
        if (r >= 0 && is_shared)
                r = sys_setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, 0);
        return r < 0 ? r : TAKE_FD(fd);
}

struct handing {
        uint16_t numbers[NET_HANDED_AT_ONCE];
        int fds[NET_HANDED_AT_ONCE];
        size_t n;
};

/* A user may have so many descriptors on their way, in all processes: nsrun-net takes these, and others
 * theirs. */
static int hand_at_last(const struct boundary_network *network, const struct handing *h) {
        int r = -ETOOMANYREFS;

        for (unsigned i = 0; i < HANDING_MS && r == -ETOOMANYREFS; i++) {
                if (i > 0)
                        (void)sys_poll(NULL, 0, 1);
                r = sys_send_fds(network->socket, h->numbers, h->n * sizeof(*h->numbers), h->fds, h->n);
        }
        return r;
}

static int hand(const struct boundary_network *network, struct handing *h) {
        int r = h->n == 0 ? 0 : hand_at_last(network, h);

        for (size_t i = 0; i < h->n; i++)
                (void)sys_close(h->fds[i]);
        h->n = 0;
        return r;
}

static int hand_sockets(const struct boundary_network *network, bool has_v6) {
        static const uint16_t all = NET_HANDED_ALL;
        struct handing h = {.n = 0};
        int r = 0, last;

        for (size_t i = 0; i < network->n_sockets && r >= 0; i++) {
                if (network->sockets[i].address.is_v6 && !has_v6)
                        continue;
                r = h.fds[h.n] = make_socket(&network->sockets[i]);
                if (r < 0)
                        break;
                h.numbers[h.n++] = (uint16_t)i;
                if (h.n == NET_HANDED_AT_ONCE)
                        r = hand(network, &h);
        }
        last = hand(network, &h);
        if (r >= 0)
                r = last;
        return r < 0 ? r : sys_send_fds(network->socket, &all, sizeof(all), NULL, 0);
}

static int helper_is_gone(int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_NETWORK, r, NULL, "nsrun-net has ended before it was ready",
                         "install nsrun completely");
}

int network_hand_over(const struct boundary_network *network, struct nsrun_error *err) {
        bool has_v6 = true;
        int r = network->n_routes > 0 ? add_routes(network, &has_v6) : 0;

        if (r < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, r, NULL,
                                 "the addresses that stand for names can't be made the sandbox's own", NULL);
        r = hand_sockets(network, has_v6);
        if (r == -EPIPE || r == -ECONNRESET)
                return helper_is_gone(r, err);
        if (r == -ETOOMANYREFS)
                return error_set(
                        err, NSRUN_STAGE_NETWORK, r, NULL,
                        "the sockets of the sandbox's network can't be handed to nsrun-net",
                        "the user's processes have more descriptors on their way than RLIMIT_NOFILE "
                        "allows; raise it");
        if (r < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, r, NULL,
                                 "the sockets of the sandbox's network can't be made", NULL);
        return 0;
}

int network_await(const struct boundary_network *network, struct nsrun_error *err) {
        int32_t answer = 0;
        ssize_t n = sys_read(network->socket, &answer, sizeof(answer));

        if (n != (ssize_t)sizeof(answer))
                return helper_is_gone(n < 0 ? (int)n : -EPIPE, err);
        if (answer < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, answer, NULL, "nsrun-net can't do its work",
                                 NULL);
        return 0;
}
