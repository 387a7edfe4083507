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
/* An answer has come.  False: nsrun's end is closed. */
bool ask_take_answer(struct helper *h, int fd);
/* Answers queries that waited for too long.  For how long to wait then, in milliseconds; -1: for ever. */
int ask_turn(struct helper *h);

/* serve.c: answers a query that waited. */
void serve_late(struct helper *h, const uint8_t *bytes, size_t n, const struct sockaddr_storage *to,
                socklen_t length, bool is_decided);
