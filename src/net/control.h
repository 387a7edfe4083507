/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-net is asked while it runs, by datagrams to a socket that no command can reach: a session's is
 * in the folder of its record, any other's has no name any more, and is found by /proc/PID/fd of who waits
 * for the sandbox, as its plan is (running/plan_shown.h). */
#pragma once

#include "layout.h"

#define NET_CONTROL_NAME "network-control"

enum net_control_kind {
        NET_CONTROL_LIST = 1, /* says what is published, and what a person has answered */
        NET_CONTROL_ASK, /* has somebody who can be asked (question.h), by the socket that comes with it */
        NET_CONTROL_PREPARE, /* says what the line lacks in the sandbox: struct net_lacks */
        NET_CONTROL_ADD,     /* takes it over, once that is there */
        NET_CONTROL_REMOVE,  /* one that was added: connections that only it allows end */
};

#define NET_CONTROL_LINE 400U
/* With it come descriptors: a socket that gets the answer; and with NET_CONTROL_ADD one from which
 * those of net_lacks.sockets come as at a start (boundary/network.h), and behind it for a port the one that
 * listens.  Of LIST, PREPARE and REMOVE none needs to: then the answer goes to the sender's address. */
struct net_control {
        uint32_t kind;
        uint32_t index;              /* of NET_CONTROL_LIST: which answer of a person's is asked for */
        char line[NET_CONTROL_LINE]; /* "allow ..." or "publish ...", as net_rules_read() reads it */
};
#define NET_CONTROL_FDS_MOST 3U

struct net_control_answer {
        int32_t error; /* 0 or -errno; -ENOENT: there is no such line */
        uint32_t n;
        struct net_publish publishes[NET_PUBLISHES_MOST];
        uint32_t n_decided; /* names that a person has answered */
        uint32_t is_allowed;
        char name[NET_NAME_MOST + 1]; /* the one that was asked for */
};

#define NET_LACKS_MOST (2U * NET_CONNECTIONS_INWARD + 4U * NET_PORTS_MOST)
struct net_lacks {
        int32_t error;
        uint32_t n_sockets, n_routes;
        uint32_t takes_all; /* one of the sockets takes all addresses */
        struct net_socket sockets[NET_LACKS_MOST];
        struct net_range routes[1];
        struct net_address own[2]; /* from which connections to such a route come */
};

/* control_ask.c, nsrun's side.  `socket`: nsrun-net's, O_PATH.  Sends it, with descriptors; */
int control_submit(int socket, const struct net_control *question, const int *fds, size_t n);
/* waits for an answer of exactly that size, too.  -errno: nsrun-net has ended. */
int control_ask(int socket, const struct net_control *question, const int *fds, size_t n, void *ret,
                size_t size);
/* A socket of the host's at which what is published waits; `asked_by` comes before it in the refusal. */
int network_listen(const struct net_publish *p, const char *asked_by, struct nsrun_error *err);
