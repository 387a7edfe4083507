/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The questions of a run, in the order in which they came, and the queries that wait for them.  Both are
 * bounded: what is too much is refused, and said. */
#include "ask.h"

#include "base/array.h"
#include "base/str.h"
#include "question.h"

#define WAITING_MOST 128U

struct question {
        char name[NET_NAME_MOST + 1];
        uint16_t client_port;
        bool is_answered; /* then it was refused, or a rule has it */
};

struct waiting {
        uint64_t ends_at;
        uint32_t number; /* the question's; UINT32_MAX: unused */
        struct sockaddr_storage from;
        socklen_t length;
        size_t n;
        uint8_t bytes[DNS_QUERY_MOST];
};

static struct question questions[NET_QUESTIONS_MOST];
static uint32_t n_questions, n_sent; /* all before n_sent - 1 are answered */
static bool is_never, is_full;
static struct waiting *waiting[WAITING_MOST];

static void send_next(void) {
        struct net_question q = {.number = n_sent};

        if (n_sent == n_questions || (n_sent > 0 && !questions[n_sent - 1].is_answered))
                return;
        q.client_port = questions[n_sent].client_port;
        (void)snprintf(q.name, sizeof(q.name), "%s", questions[n_sent].name);
        n_sent++;
        (void)send(NET_FD_LIFE, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* UINT32_MAX: it was never asked. */
static uint32_t find_question(const char *name) {
        for (uint32_t i = 0; i < n_questions; i++)
                if (streq(questions[i].name, name))
                        return i;
        return UINT32_MAX;
}

static bool same_query(const struct waiting *w, const uint8_t *bytes, size_t n,
                       const struct sockaddr_storage *from, socklen_t length) {
        return w->n == n && w->length == length && memcmp(w->bytes, bytes, n) == 0 &&
               memcmp(&w->from, from, length) == 0;
}

/* A query that is sent again waits once.  False: there is no room. */
static bool ask_wait(uint32_t number, const uint8_t *bytes, size_t n, const struct sockaddr_storage *from,
                     socklen_t length) {
        struct waiting **room = NULL;

        for (size_t i = 0; i < WAITING_MOST; i++) {
                if (!waiting[i]) {
                        room = room ? room : &waiting[i];
                        continue;
                }
                if (same_query(waiting[i], bytes, n, from, length))
                        return true;
        }
        if (!room || n > DNS_QUERY_MOST || !(*room = malloc(sizeof(**room))))
                return false;
        **room = (struct waiting){.ends_at = helper_now() + NET_QUESTION_MS,
                                  .number = number,
                                  .from = *from,
                                  .length = length,
                                  .n = n};
        memcpy((*room)->bytes, bytes, n);
        return true;
}

static uint16_t port_of(const struct sockaddr_storage *from) {
        union net_sockaddr a = {.room = *from};
        struct net_address address;
        uint16_t port = 0;

        return net_address_from(&a, &address, &port) ? port : 0;
}

enum ask_state ask_about(struct helper *h, const struct dns_query *query, const uint8_t *bytes, size_t n,
                         const struct sockaddr_storage *from, socklen_t length) {
        uint32_t number;

        if (!h->rules.asks || !net_name_is_askable(query->name) ||
            net_rules_deny_name(&h->rules, query->name))
                return ASK_NO;
        number = find_question(query->name);
        if (number != UINT32_MAX && questions[number].is_answered)
                return net_rules_have_name(&h->rules, query->name) ? ASK_YES : ASK_NO;
        if (number == UINT32_MAX) {
                /* Others than these come beside them, and are no reason to ask. */
                if (is_never || (query->type != DNS_TYPE_A && query->type != DNS_TYPE_AAAA))
                        return ASK_NO;
                if (n_questions == NET_QUESTIONS_MOST) {
                        if (!is_full)
                                net_journal_add(h->journal, NET_EVENT_UNASKED, "", 0, NULL);
                        is_full = true;
                        return ASK_NO;
                }
                number = n_questions++;
                (void)snprintf(questions[number].name, sizeof(questions[number].name), "%s", query->name);
                questions[number].client_port = from ? port_of(from) : 0;
                send_next();
        }
        if (from)
                (void)ask_wait(number, bytes, n, from, length);
        return ASK_PENDING;
}

/* Ends what waits for the question; with UINT32_MAX what has waited for too long. */
static void answer_waiting(struct helper *h, uint32_t number, uint64_t now) {
        for (size_t i = 0; i < WAITING_MOST; i++) {
                struct waiting *w = waiting[i];

                if (!w || (number == UINT32_MAX ? w->ends_at > now : w->number != number))
                        continue;
                waiting[i] = NULL;
                serve_late(h, w->bytes, w->n, &w->from, w->length, number != UINT32_MAX);
                free(w);
        }
}

/* As --allow NAME would. */
static void allow(struct helper *h, const char *name) {
        if (ARRAY_GROW(h->rules.rules, h->rules.n) >= 0 &&
            !net_rule_parse(name, false, &h->rules.rules[h->rules.n]))
                h->rules.n++;
}

static void decide(struct helper *h, uint32_t number, bool is_allowed) {
        struct question *q = &questions[number];

        q->is_answered = true;
        if (is_allowed)
                allow(h, q->name);
        answer_waiting(h, number, 0);
}

bool ask_take_answer(struct helper *h, int fd) {
        struct net_answer a;
        ssize_t n = recv(fd, &a, sizeof(a), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n != (ssize_t)sizeof(a))
                return false;
        if (n_sent == 0 || a.number != n_sent - 1 || questions[a.number].is_answered)
                return true;
        decide(h, a.number, a.verdict == NET_VERDICT_YES);
        is_never |= a.verdict == NET_VERDICT_NEVER;
        for (; is_never && n_sent < n_questions; n_sent++)
                decide(h, n_sent, false);
        send_next();
        return true;
}

int ask_turn(struct helper *h) {
        uint64_t now, first = UINT64_MAX;

        if (n_questions == 0)
                return -1;
        now = helper_now();
        answer_waiting(h, UINT32_MAX, now);
        for (size_t i = 0; i < WAITING_MOST; i++)
                if (waiting[i] && waiting[i]->ends_at < first)
                        first = waiting[i]->ends_at;
        return first == UINT64_MAX ? -1 : (int)(first - now);
}
