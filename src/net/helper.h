/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of nsrun-net share: one loop over epoll(7), in one thread; only the lookup of names has
 * threads of its own. */
#pragma once

#include "base/sys.h"
#include "journal.h"
#include "pool.h"

struct helper;

/* A descriptor in the loop. */
struct watch {
        int fd;
        void (*ready)(struct helper *h, struct watch *w, uint32_t events);
};

struct datagrams;
struct flow;
struct lookup;
struct via;

struct helper {
        int epoll;
        struct net_rules rules;
        struct net_layout layout;
        struct net_pool *pool;
        struct net_journal *journal;
        bool has_v6;      /* the sandbox has IPv6 */
        uint64_t ends_at; /* the sandbox has ended: what it has sent goes on until then; 0: it lives */
        /* relay.c */
        struct watch *listeners;                    /* the sandbox's */
        struct watch published[NET_PUBLISHES_MOST]; /* of rules.publishes; fd -EBADF: not any more */
        size_t n_listeners;
        size_t n_flows, n_flows_most;
        size_t n_pipes;
        bool is_full;         /* no connection is accepted */
        uint64_t listen_at;   /* until then, since no descriptor could be had; 0: until another has ended */
        struct flow *flows;   /* all */
        struct flow *dead;    /* to be freed when all events of this turn were seen */
        struct flow *busy;    /* with more to move than one turn lets them */
        struct flow *waiting; /* whose next attempt to connect begins at a certain time */
        int *inward[2];       /* unused sockets for connections into the sandbox, of IPv4 and IPv6 */
        size_t n_inward[2];
        char *buffer;
        /* via.c: those that wait for the proxy, by the time at which they end */
        struct via *first_via, *last_via;
        /* datagram.c: by the time of their last use */
        struct datagrams *newest, *oldest;
        size_t n_datagrams;
        /* lookup.c */
        struct lookup *lookups;
        size_t n_lookups;
        struct watch looked_up;
};

/* nsrun-net.c */
int helper_watch(struct helper *h, struct watch *w, uint32_t events);
int helper_watch_for(const struct helper *h, struct watch *w, uint32_t events);
void helper_unwatch(const struct helper *h, const struct watch *w);
/* Takes over the sandbox's sockets until it says that these were all; what isn't the layout's is added to
 * it. */
int helper_receive_sockets(struct helper *h, int from, const struct net_socket *sockets, size_t n_sockets);

/* serve.c: the sandbox's name server. */
int serve_udp(struct helper *h, int fd);
int serve_tcp(struct helper *h, int fd);

/* relay.c */
#define RELAY_BUFFER (UINT32_C(256) << 10)
/* Connections of either kind, and those to the name server, are taken as long as there are descriptors. */
int relay_listen(struct helper *h, int fd);
int relay_listen_for(struct helper *h, int fd, void (*ready)(struct helper *, struct watch *, uint32_t));
/* Takes over a socket at which that one of h->rules.publishes waits; and ends that. */
int relay_publish(struct helper *h, size_t number, int fd);
void relay_unpublish(struct helper *h, size_t number);
/* Whether others of this user's may wait at the same ports. */
void relay_share(const struct helper *h, bool is_shared);
/* A rule less: nobody waits any more where no other wants it, and ends what none allows. */
void relay_narrow(struct helper *h);
/* For a listener's lack of descriptors: nobody is accepted for a moment. */
void relay_pause(struct helper *h);
int relay_prepare(struct helper *h);
/* What is left of a turn of the loop: moves more bytes, begins attempts, frees.  For how long to wait then,
 * in milliseconds; -1: for ever. */
int relay_turn(struct helper *h);
/* The sandbox has ended: nothing begins any more. */
void relay_finish(struct helper *h);
/* A name that a flow waits for is looked up: n addresses; n 0: there are none. */
void relay_resolved(struct helper *h, struct flow *f, const struct net_address *addresses, size_t n);

/* lookup.c: names looked up by the host's resolver. */
#define LOOKUP_ADDRESSES 16U
int lookup_start(struct helper *h);
/* Once in a turn of the loop; for how long to wait then, in milliseconds; -1: for ever. */
int lookup_turn(struct helper *h);
/* Calls relay_resolved(), now or later, unless lookup_forget() comes first.  -errno: it won't. */
int lookup_name(struct helper *h, const char *name, struct flow *f);
void lookup_forget(struct helper *h, const struct flow *f);

/* datagram.c: UDP of rules that say so. */
int datagram_listen(struct helper *h, int fd, bool is_v6);
int datagram_turn(struct helper *h);

/* control.c: what is asked of nsrun-net while it lives.  For that it keeps some descriptors. */
#define CONTROL_SPARES 16U
int control_start(struct helper *h, int fd);
int control_allow(struct helper *h, const struct net_rule *rule);
