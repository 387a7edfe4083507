/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A connection of the sandbox's and the one that was made for it.  relay.c has its beginning, bytes and end;
 * reach.c finds out where it leads. */
#pragma once

#include <fcntl.h>

#include "helper.h"

#define RELAY_FLOWS_MOST 16384U
#define REACH_AT_ONCE    3 /* attempts to connect */
/* What there is a number of, for a process or for the machine, is there again when others have ended. */
#define RELAY_AGAIN_MS 50U
static inline bool relay_is_lack(int r) {
        return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS || r == -ENOSPC;
}

struct end {
        struct watch w; /* first of all: a watch is cast to its end */
        struct flow *flow;
        bool is_readable, is_writable;
        bool is_urgent; /* a byte of MSG_OOB is among what wasn't read yet */
};

/* The bytes of one way.  What the receiver doesn't take yet stays in the sender's socket, or in a pipe: this
 * process keeps nothing of it. */
struct half {
        int pipe[2];
        uint32_t in_pipe, pipe_size;
        bool is_bulk, has_tried; /* much came at once; whether a pipe was tried for it */
        bool has_ended, is_over; /* the sender's end was read, and passed on */
        bool is_refused;         /* the receiver takes nothing any more */
        uint64_t *count;         /* of bytes, in the journal; or NULL */
};

struct attempt {
        struct watch w;
        struct flow *flow;
        bool is_v6;
};

/* How the host is reached. */
enum flow_way {
        FLOW_DIRECT,
        FLOW_TARGET, /* its address is looked up, for a proxy that is told addresses */
        FLOW_VIA,    /* the proxy is looked up, connected to, and asked */
};

struct flow {
        struct end client, server;
        struct half up, down; /* from the client; from the server */
        uint32_t index;       /* of the name that was meant; 0: none */
        uint32_t number;      /* of what is published, if it is inward */
        uint16_t port;
        bool is_connected, is_dead, is_busy, is_waiting;
        bool is_looking;               /* lookup.c has it */
        bool is_inward, is_v6_inward;  /* the server's socket is one of the helper's `inward` */
        char *host;                    /* NULL for want of memory */
        struct net_address *addresses; /* until one has answered */
        size_t n_addresses, next_address;
        struct attempt attempts[REACH_AT_ONCE];
        enum flow_way way;
        struct net_address target;    /* what a proxy is told, if it is an address */
        struct via *via;              /* while the proxy is asked */
        struct datagrams *datagrams;  /* it is UDP: it has neither a client's nor a server's end */
        uint64_t next_at;             /* when the next attempt begins, by sys_now_ms() */
        uint64_t lacking_since;       /* no socket could be had for the next one; 0: it could */
        struct flow *next, *previous; /* of all */
        struct flow *next_dead, *next_busy, *next_waiting;
};

/* relay.c */
struct flow *relay_new(struct helper *h);
void relay_end(struct helper *h, struct flow *f, bool is_reset);
void relay_connected(struct helper *h, struct flow *f, int fd);

/* reach.c: connects the flow, or ends it. */
void reach_outward(struct helper *h, struct flow *f);
void reach_address(struct helper *h, struct flow *f, const struct net_address *to);
void reach_inward(struct helper *h, struct flow *f, uint32_t number);
/* Whether rules allow it still; and whether one wants that socket. */
bool reach_is_allowed(const struct helper *h, const struct flow *f);
bool reach_is_wanted(const struct helper *h, const struct net_socket *s);
/* Connects to the proxy, whose addresses no rule has to name: via_connected() or via_unreached() follows. */
void reach_proxy(struct helper *h, struct flow *f, const struct net_address *addresses, size_t n);
void reach_stop(struct helper *h, struct flow *f);
int reach_turn(struct helper *h);

/* datagram.c */
void datagram_begin(struct helper *h, struct flow *f);
void datagram_stop(struct helper *h, struct flow *f);
void datagram_free(struct flow *f);
/* For connections that find no descriptor: ends some of those that were not used for longest. */
void datagram_make_room(struct helper *h);
