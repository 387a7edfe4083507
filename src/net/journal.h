/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-net refused, for those who run a command to tell: the last so many events; and how often each
 * host was connected to or refused.  In a file that both sides map.  The sandbox chose the names in it. */
#pragma once

#include <time.h>

#include "rules.h"

#define NET_JOURNAL_EVENTS 1024U

enum net_event_kind {
        NET_EVENT_NAME = 1,   /* the name server was asked for a name that no rule has */
        NET_EVENT_PORT,       /* a port that no rule has for that host */
        NET_EVENT_HOME,       /* the host's name leads to an address (`text`) that no name may lead to */
        NET_EVENT_UNRESOLVED, /* the host's resolver doesn't know the name */
        NET_EVENT_UNREACHED,  /* the host didn't answer, or refused */
        NET_EVENT_UNASKED,    /* there were too many questions, and nobody is asked any more */
        NET_EVENT_VIA,        /* the proxy didn't lead there: `text` */
};

/* A host's name or address; of UDP with NET_HOST_UDP before it. */
#define NET_HOST_UDP  "udp:"
#define NET_HOST_TEXT (NET_NAME_MOST + sizeof(NET_HOST_UDP) + 2)

struct net_event {
        uint16_t kind, port;
        char host[NET_HOST_TEXT];
        char text[NET_ADDRESS_TEXT];
};

/* Of connections that were made; beside those of enum net_event_kind.  With NET_TALLY_KEY as `text`: they
 * were nsrun-keys'. */
#define NET_TALLY_CONNECTED 255
#define NET_TALLY_KEY       "key"
#define NET_TALLIES         256U

/* All connections to a port of a host, and all refusals of one kind. */
struct net_tally {
        uint16_t kind, port;
        char host[NET_HOST_TEXT];
        char text[NET_ADDRESS_TEXT];
        uint64_t n, sent, received; /* bytes out of the sandbox and into it */
        uint64_t first, last;       /* when the first and the last one began, in ms of the epoch */
};

struct net_journal {
        uint32_t n_tallies;
        uint64_t n_others; /* what there was no tally left for */
        struct net_tally tallies[NET_TALLIES];
        uint64_t n; /* events in all; the last ones are at n - 1, n - 2, ... modulo NET_JOURNAL_EVENTS */
        struct net_event events[NET_JOURNAL_EVENTS];
};

/* Counts one, and has its tally; NULL: there is none left.  `text` may be NULL. */
static inline struct net_tally *net_journal_count(struct net_journal *j, unsigned kind, const char *host,
                                                  uint16_t port, const char *text) {
        struct net_tally *tally = NULL;
        struct timespec now;

        text = text ? text : "";
        for (uint32_t i = 0; i < j->n_tallies && !tally; i++)
                if (j->tallies[i].kind == kind && j->tallies[i].port == port &&
                    streq(j->tallies[i].host, host) && streq(j->tallies[i].text, text))
                        tally = &j->tallies[i];
        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (!tally) {
                if (j->n_tallies == NET_TALLIES) {
                        j->n_others++;
                        return NULL;
                }
                tally = &j->tallies[j->n_tallies];
                *tally = (struct net_tally){.kind = (uint16_t)kind, .port = port};
                (void)snprintf(tally->host, sizeof(tally->host), "%s", host);
                (void)snprintf(tally->text, sizeof(tally->text), "%s", text);
                tally->first = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
                __atomic_store_n(&j->n_tallies, j->n_tallies + 1, __ATOMIC_RELEASE);
        }
        tally->last = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
        tally->n++;
        return tally;
}

/* Adds one.  `text` may be NULL. */
static inline void net_journal_add(struct net_journal *j, enum net_event_kind kind, const char *host,
                                   uint16_t port, const char *text) {
        uint64_t n = __atomic_load_n(&j->n, __ATOMIC_RELAXED);
        struct net_event *e = &j->events[n % NET_JOURNAL_EVENTS];

        (void)net_journal_count(j, kind, host, port, text);
        *e = (struct net_event){.kind = (uint16_t)kind, .port = port};
        (void)snprintf(e->host, sizeof(e->host), "%s", host);
        (void)snprintf(e->text, sizeof(e->text), "%s", text ? text : "");
        __atomic_store_n(&j->n, n + 1, __ATOMIC_RELEASE);
}
