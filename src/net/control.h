/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a session's nsrun-net is asked while it runs, by datagrams to a socket in the folder of the session's
 * record, which no command sees. */
#pragma once

#include "rules.h"

#define NET_CONTROL_NAME "network-control"

enum net_control_kind {
        NET_CONTROL_LIST = 1, /* says what is published */
        NET_CONTROL_PUBLISH,  /* publishes one more */
};

/* With it come descriptors: a socket that gets the answer, and with NET_CONTROL_PUBLISH one that listens. */
struct net_control {
        uint32_t kind;
        struct net_publish publish;
};
#define NET_CONTROL_FDS_MOST 2U

struct net_control_answer {
        int32_t error; /* 0 or -errno; -E2BIG: NET_PUBLISHES_MOST are published */
        uint32_t n;
        struct net_publish publishes[NET_PUBLISHES_MOST];
};
