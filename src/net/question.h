/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* With --net=ask: what nsrun-net asks nsrun by the socket that it lives by, and the answer.  One question is
 * open at a time. */
#pragma once

#include "rules.h"

#define NET_QUESTIONS_MOST 32U     /* of a run */
#define NET_QUESTION_MS    110000U /* how long a query waits; the sandbox's resolv.conf lets it */

struct net_question {
        uint32_t number;
        uint16_t client_port; /* of 127.0.0.1 inside: whose socket that is asked; 0: unknown */
        char name[NET_NAME_MOST + 1];
};

enum net_verdict {
        NET_VERDICT_NO,
        NET_VERDICT_YES,
        NET_VERDICT_NEVER, /* no, and the same for what would be asked later */
};

struct net_answer {
        uint32_t number;
        uint32_t verdict;
};

/* Whether a person may be asked about a name: one of the outer world's. */
bool net_name_is_askable(const char *name);
