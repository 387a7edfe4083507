/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the rules come to inside a sandbox: which addresses stand for which names, which routes make these
 * the sandbox's own, and which sockets wait there.  nsrun and nsrun-net work it out alike, each from the
 * rules. */
#pragma once

#include "boundary/network.h"
#include "rules.h"

/* 198.18.0.0/15 is kept for measurements (RFC 2544): nobody is reached there.  The prefix of the IPv6
 * addresses is a local one (RFC 4193).  The number of an address in its range is the same for both. */
#define NET_INDEX_OWN   1U      /* the sandbox's own, from which connections come */
#define NET_INDEX_HOST  2U      /* NET_HOST_NAME */
#define NET_INDEX_NAMES 16U     /* names that rules spell out, and behind them those that wildcards allow */
#define NET_INDEX_END   131072U /* 2^17 */

struct net_address net_index_address(uint32_t index, bool is_v6);

/* False: the address is of neither range. */
bool net_address_index(const struct net_address *a, uint32_t *ret);

/* Sockets of either family for connections of what is published: as many may be open at once. */
#define NET_CONNECTIONS_INWARD 64U

struct net_layout {
        struct net_socket *sockets;
        size_t n_sockets;
        struct net_range *routes;
        size_t n_routes;
        const char **names; /* the rules' own texts: names[i] has NET_INDEX_NAMES + i */
        size_t n_names;
};

/* *ret lives no longer than the rules.  -ENOMEM; -E2BIG: more sockets than NET_SOCKETS_MOST. */
int net_layout_make(const struct net_rules *rules, struct net_layout *ret);
int net_layout_add(struct net_layout *layout, const struct net_socket *socket);
void net_layout_clear(struct net_layout *layout);
/* Whether there is such a socket, or one that takes all addresses. */
void net_layout_forget(struct net_layout *layout, const struct net_socket *socket);
bool net_layout_has(const struct net_layout *layout, const struct net_socket *socket);
#define NET_SOCKETS_MOST 4096U

/* What nsrun-keys says of a request: that it was answered, or couldn't be; and of the bytes that come then.
 */
struct net_key_used {
        uint16_t port; /* of the rule */
        bool is_begun, is_failed;
        uint64_t sent, received; /* bytes to the host and from it */
};

/* The descriptors that nsrun-net starts with. */
enum {
        NET_FD_SANDBOX = 3, /* a socket to the sandbox's pid 1 */
        NET_FD_RULES,       /* a file with the rules' lines */
        NET_FD_LIFE,        /* a socket: when its other end is closed nsrun-net ends */
        NET_FD_JOURNAL,     /* struct net_journal */
        NET_FD_KEYS, /* a socket to nsrun-keys (keys/wire.h), which gets the sockets of the rules' keys, and
                        says how they are used; or none */
        NET_FD_PUBLISHED, /* a listening socket for each of the rules' publishes, and so on; behind them
                             a socket for what control.h says, or /dev/null */
};
