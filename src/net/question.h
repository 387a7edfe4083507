/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* With --net=ask: what nsrun-net asks nsrun, and the answer.  Of a run by the socket that it lives by; of a
 * session by one of each command whose nsrun has a person to ask, and of 'nsrun session ask'.  Of each of
 * these one question is open at a time. */
#pragma once

#include "rules.h"

#define NET_QUESTIONS_MOST 32U     /* of a run; of a session for each who is asked */
#define NET_DECIDED_MOST   256U    /* names of a session that were answered */
#define NET_ASKERS_MOST    64U     /* who can be asked in a session at once */
#define NET_QUESTION_MS    110000U /* how long a query waits; the sandbox's resolv.conf lets it */

enum net_question_kind {
        NET_QUESTION_HELLO = 1, /* no question: who joined may be asked from now on */
        NET_QUESTION_WHOSE,     /* whether a program of that nsrun's own command wants the name; answered at
                                   once, also while another question is open */
        NET_QUESTION_PERSON,    /* whether the name may be reached */
};

struct net_question {
        uint32_t number;
        uint16_t kind;
        uint16_t client_port;         /* of 127.0.0.1 inside: whose socket that is asked; 0: unknown */
        char name[NET_NAME_MOST + 1]; /* what is to be reached; of --ssh-agent: the key */
};

enum net_verdict {
        NET_VERDICT_NO,
        NET_VERDICT_YES,
        NET_VERDICT_NEVER,   /* no, and the same for what this one would be asked later */
        NET_VERDICT_NOT_NOW, /* it is refused, and asked about again when it is wanted again */
        NET_VERDICT_MINE,    /* of NET_QUESTION_WHOSE */
        NET_VERDICT_NOT_MINE,
};

struct net_answer {
        uint32_t number;
        uint32_t verdict;
};

/* Whether a person may be asked about a name: one of the outer world's. */
bool net_name_is_askable(const char *name);
