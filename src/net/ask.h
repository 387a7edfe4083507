/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that no rule covers, put to a person by nsrun: queries wait for the answer. */
#pragma once

#include "helper.h"
#include "wire.h"

enum ask_state {
        ASK_NO,      /* it is refused */
        ASK_YES,     /* a rule has it now */
        ASK_PENDING, /* the query waits, and is answered by ask_turn() */
};

/* What becomes of a query for a name that the rules don't have.  `from` NULL: it came by TCP, and can't
 * wait. */
enum ask_state ask_about(struct helper *h, const struct dns_query *query, const uint8_t *bytes, size_t n,
                         const struct sockaddr_storage *from, socklen_t length);
/* A run's one who is asked: nsrun, by the socket that nsrun-net lives by. */
void ask_begin(const struct helper *h, int fd);
/* An answer of nsrun's has come, a run's being the first to be asked (0).  False: the other end is closed,
 * or speaks another language. */
bool ask_take_answer(struct helper *h, uint32_t asker, int fd);
/* Takes over the socket of one who can be asked in a session.  -E2BIG: there are NET_ASKERS_MOST;
 * -EOPNOTSUPP: nobody is asked in this session. */
int ask_join(struct helper *h, int fd);
/* Which name was answered as the index-th, of so many. */
uint32_t ask_decided(uint32_t index, char name[NET_NAME_MOST + 1], bool *ret_is_allowed);
/* Answers queries that waited for too long.  For how long to wait then, in milliseconds; -1: for ever. */
int ask_turn(struct helper *h);

/* serve.c: answers a query that waited. */
enum late {
        LATE_BY_THE_RULES, /* the person has decided */
        LATE_REFUSED,      /* nobody has */
        LATE_FAILED,       /* it took too long */
};
void serve_late(struct helper *h, const uint8_t *bytes, size_t n, const struct sockaddr_storage *to,
                socklen_t length, enum late how);
