/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which addresses are this machine's own, as its kernel is asked whenever a connection is to be made. */
#include "own.h"

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/str.h"

int own_interface_has(const struct net_address *a, const char *name) {
        struct ifaddrs *list = NULL;
        bool has = false;

        if (getifaddrs(&list) < 0)
                return -errno;
        for (const struct ifaddrs *i = list; i && !has; i = i->ifa_next) {
                union net_sockaddr own = {.any = {.sa_family = AF_UNSPEC}};
                struct net_address address;
                uint16_t port;

                if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
                        memcpy(&own.v4, i->ifa_addr, sizeof(own.v4));
                else if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6)
                        memcpy(&own.v6, i->ifa_addr, sizeof(own.v6));
                has = net_address_from(&own, &address, &port) && net_address_is_same(&address, a) &&
                      (!name || streq(i->ifa_name, name));
        }
        freeifaddrs(list);
        return has;
}

/* The request for the way to an address, and what the kernel answers it with (rtnetlink(7)). */
struct route_request {
        struct nlmsghdr head;
        struct rtmsg route;
        struct rtattr to;
        uint8_t address[16];
};
union route_answer {
        struct nlmsghdr head;
        struct {
                struct nlmsghdr head;
                struct rtmsg route;
        } found;
        char room[4096];
};

/* Whether the way there ends in this machine, which no interface needs to have the address for: by
 * `ip route add local`, say.  What can't be known is. */
static bool is_route_local(const struct net_address *a) {
        _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        size_t length = a->is_v6 ? 16 : 4;
        struct route_request q = {
                .head = {.nlmsg_len = (uint32_t)(offsetof(struct route_request, address) + length),
                         .nlmsg_type = RTM_GETROUTE,
                         .nlmsg_flags = NLM_F_REQUEST},
                .route = {.rtm_family = a->is_v6 ? AF_INET6 : AF_INET, .rtm_dst_len = a->is_v6 ? 128 : 32},
                .to = {.rta_len = (unsigned short)RTA_LENGTH(length), .rta_type = RTA_DST}};
        union route_answer answer;
        ssize_t n;

        memcpy(q.address, a->bytes, length);
        if (fd < 0 || send(fd, &q, q.head.nlmsg_len, 0) < 0)
                return true;
        n = recv(fd, &answer, sizeof(answer), 0);
        if (n < (ssize_t)sizeof(answer.head))
                return true;
        /* There is none. */
        if (answer.head.nlmsg_type == NLMSG_ERROR)
                return false;
        return n < (ssize_t)sizeof(answer.found) || answer.head.nlmsg_type != RTM_NEWROUTE ||
               answer.found.route.rtm_type != RTN_UNICAST;
}

/* Whether it is an address of this machine: one of an interface's, or one that the
 * kernel gives a socket which is to send there as its own, too.  Nothing is sent. */
bool own_address(const struct net_address *a) {
        _cleanup_close_ int fd =
                socket(a->is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        union net_sockaddr to, own;
        socklen_t length = sizeof(own);
        struct net_address from;
        uint16_t port;

        if (net_address_carried(a, &from) && own_address(&from))
                return true;
        if (fd < 0 || own_interface_has(a, NULL) != 0)
                return true;
        if (connect(fd, &to.any, net_address_to(a, 9, &to)) < 0)
                return false;
        if (getsockname(fd, &own.any, &length) < 0 || !net_address_from(&own, &from, &port))
                return true;
        return net_address_is_same(&from, a) || is_route_local(a);
}
