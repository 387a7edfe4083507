/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-net refused, for those who run a command to tell: the last so many events, in a file that both
 * sides map.  The sandbox chose the names in it. */
#pragma once

#include "rules.h"

#define NET_JOURNAL_EVENTS 1024U

enum net_event_kind {
        NET_EVENT_NAME = 1,   /* the name server was asked for a name that no rule has */
        NET_EVENT_PORT,       /* a port that no rule has for that host */
        NET_EVENT_HOME,       /* the host's name leads to an address (`text`) that no name may lead to */
        NET_EVENT_UNRESOLVED, /* the host's resolver doesn't know the name */
        NET_EVENT_UNREACHED,  /* the host didn't answer, or refused */
};

struct net_event {
        uint16_t kind, port;
        char host[NET_NAME_MOST + 3];
        char text[NET_ADDRESS_TEXT];
};

struct net_journal {
        uint64_t n; /* events in all; the last ones are at n - 1, n - 2, ... modulo NET_JOURNAL_EVENTS */
        struct net_event events[NET_JOURNAL_EVENTS];
};

/* Adds one.  `text` may be NULL. */
static inline void net_journal_add(struct net_journal *j, enum net_event_kind kind, const char *host,
                                   uint16_t port, const char *text) {
        uint64_t n = __atomic_load_n(&j->n, __ATOMIC_RELAXED);
        struct net_event *e = &j->events[n % NET_JOURNAL_EVENTS];

        *e = (struct net_event){.kind = (uint16_t)kind, .port = port};
        (void)snprintf(e->host, sizeof(e->host), "%s", host);
        (void)snprintf(e->text, sizeof(e->text), "%s", text ? text : "");
        __atomic_store_n(&j->n, n + 1, __ATOMIC_RELEASE);
}
