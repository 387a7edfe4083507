/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a session's nsrun-net is asked while it runs, by datagrams to a socket in the folder of the session's
 * record, which no command sees. */
#pragma once

#include <stdio.h>
#include <sys/un.h>

#include "rules.h"

#define NET_CONTROL_NAME "network-control"

enum net_control_kind {
        NET_CONTROL_LIST = 1, /* says what is published, and what a person has answered */
        NET_CONTROL_PUBLISH,  /* publishes one more */
        NET_CONTROL_ASK, /* has somebody who can be asked (question.h), by the socket that comes with it */
};

/* With it come descriptors: a socket that gets the answer, and with NET_CONTROL_PUBLISH one that listens. */
struct net_control {
        uint32_t kind;
        uint32_t index; /* of NET_CONTROL_LIST: which answer of a person's is asked for */
        struct net_publish publish;
};
#define NET_CONTROL_FDS_MOST 2U

struct net_control_answer {
        int32_t error; /* 0 or -errno; -E2BIG: NET_PUBLISHES_MOST are published */
        uint32_t n;
        struct net_publish publishes[NET_PUBLISHES_MOST];
        uint32_t n_decided; /* names that a person has answered */
        uint32_t is_allowed;
        char name[NET_NAME_MOST + 1]; /* the one that was asked for */
};

/* The address of the socket in that folder, an open one: its own path may be longer than a socket's may be.
 */
static inline const struct sockaddr *network_control_at(int dir, struct sockaddr_un *ret) {
        *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
        (void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/" NET_CONTROL_NAME, dir);
        return (const struct sockaddr *)ret;
}
