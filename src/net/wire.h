/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A query of DNS read, and its answer written.  Every byte of a query is the sandbox's. */
#pragma once

#include "rules.h"

#define DNS_QUERY_MOST  4096U /* longer ones are not answered */
#define DNS_ANSWER_MOST 512U

enum dns_type {
        DNS_TYPE_A = 1,
        DNS_TYPE_AAAA = 28,
        DNS_TYPE_ANY = 255,
};

enum dns_code {
        DNS_OK = 0,
        DNS_MALFORMED = 1, /* FORMERR */
        DNS_FAILED = 2,    /* SERVFAIL */
        DNS_NO_NAME = 3,   /* NXDOMAIN */
        DNS_UNKNOWN = 4,   /* NOTIMP */
};

struct dns_query {
        char name[NET_NAME_MOST + 1]; /* in small letters; "" where it is no host's name */
        uint16_t type;
        size_t question_end; /* where in the query the question ends */
};

/* DNS_OK with *ret filled; else what to answer.  -EBADMSG: nothing at all. */
int dns_read_query(const uint8_t *bytes, size_t n, struct dns_query *ret);
/* Writes the answer: the query's head and question, and up to one address of either family.  The length. */
size_t dns_write_answer(const uint8_t *bytes, const struct dns_query *query, enum dns_code code,
                        const struct net_address *v4, const struct net_address *v6,
                        uint8_t to[DNS_ANSWER_MOST]);
