/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A connection of the sandbox's and the one that was made for it.  relay.c has its beginning, bytes and end;
 * reach.c finds out where it leads. */
#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include "helper.h"

#define RELAY_FLOWS_MOST 16384U
#define REACH_AT_ONCE    3 /* attempts to connect */

struct end {
        struct watch w; /* first of all: a watch is cast to its end */
        struct flow *flow;
        bool is_readable, is_writable;
};

/* The bytes of one way. */
struct half {
        char *pending; /* n bytes from `at` on, which could not be sent yet */
        size_t at, n;
        int pipe[2]; /* or what is in this pipe */
        size_t in_pipe, pipe_size;
        bool is_bulk, has_tried; /* much came at once; whether a pipe was tried for it */
        bool has_ended, is_over; /* the sender's end was read, and passed on */
};

struct attempt {
        struct watch w;
        struct flow *flow;
        bool is_v6;
};

struct flow {
        struct end client, server;
        struct half up, down; /* from the client; from the server */
        uint32_t index;       /* of the name that was meant; 0: none */
        uint16_t port;
        bool is_connected, is_dead, is_busy, is_waiting;
        bool is_looking;              /* lookup.c has it */
        bool is_inward, is_v6_inward; /* the server's socket is one of the helper's `inward` */
        char host[NET_NAME_MOST + 3];
        struct net_address addresses[LOOKUP_ADDRESSES];
        size_t n_addresses, next_address;
        struct attempt attempts[REACH_AT_ONCE];
        uint64_t next_at;             /* when the next attempt begins, by helper_now() */
        struct flow *next, *previous; /* of all */
        struct flow *next_dead, *next_busy, *next_waiting;
};

/* relay.c */
struct flow *relay_begin(struct helper *h, int *fd);
void relay_reset(int *fd);
void relay_end(struct helper *h, struct flow *f, bool is_reset);
void relay_connected(struct helper *h, struct flow *f, int fd);

/* reach.c: connects the flow, or ends it. */
void reach_outward(struct helper *h, struct flow *f);
void reach_inward(struct helper *h, struct flow *f, uint16_t port);
void reach_stop(struct helper *h, struct flow *f);
int reach_turn(struct helper *h);
