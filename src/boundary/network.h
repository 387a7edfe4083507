/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The network of a sandbox: loopback, and with --net=allow addresses that stand for names. */
#pragma once

#include "base/address.h"
#include "base/error.h"

enum net_socket_kind {
        NET_SOCKET_DNS_UDP,
        NET_SOCKET_DNS_TCP,
        NET_SOCKET_LISTEN,
        NET_SOCKET_UDP,     /* for datagrams, of rules that say udp: */
        NET_SOCKET_CONNECT, /* for connections into the sandbox, of what is published */
};

struct net_socket {
        enum net_socket_kind kind;
        struct net_address address; /* all 0: any */
        uint16_t port;
};

/* How the sandbox's pid 1 hands the sockets to nsrun-net: messages with up to so many numbers of sockets
 * (uint16_t), and the sockets.  IPv6 ones are missing where the kernel has none.  The last is
 * NET_HANDED_ALL.  nsrun-net answers with one int32_t: 0, or -errno and then nothing works. */
#define NET_HANDED_AT_ONCE 64U
#define NET_HANDED_ALL     UINT16_MAX

/* What pid 1 makes of it. */
struct boundary_network {
        int socket;                /* to nsrun-net, to which it hands the sockets; or -EBADF */
        struct net_address own[2]; /* the sandbox's own, from which connections come: IPv4's and IPv6's */
        const struct net_range *routes; /* of addresses that become the sandbox's own */
        size_t n_routes;
        const struct net_socket *sockets;
        size_t n_sockets;
};

/* Brings loopback up in the caller's network namespace, and lets all of its ports be bound to. */
int network_loopback(struct nsrun_error *err);
/* Makes the addresses that stand for names the namespace's own, if there are routes, and hands the sockets
 * that wait there to nsrun-net; waits until nsrun-net takes them over. */
int network_hand_over(const struct boundary_network *network, struct nsrun_error *err);
int network_await(const struct boundary_network *network, struct nsrun_error *err);
