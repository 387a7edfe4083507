/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The questions of a run or a session, in the order in which they came, who is asked them, and the queries
 * that wait for them.  All are bounded: what is too much is refused, and said.
 *
 * A run has one who is asked.  In a session these come and go: all are asked whose program wants the name
 * (NET_QUESTION_WHOSE), and then that one, or for a program of nobody's one who isn't busy. */
#include "ask.h"

#include <sys/epoll.h>

#include "base/array.h"
#include "base/str.h"
#include "question.h"

#define WAITING_MOST 128U
/* Who says in that time nothing of whose program it is may be stopped, and isn't asked.  On a busy machine
 * an answer takes seconds, and the query has NET_QUESTION_MS. */
#define WHOSE_MS 10000U
#define NOBODY   UINT32_MAX
_Static_assert(NET_ASKERS_MOST <= 64, "struct question has a bit for each");

struct asker {
        struct watch w; /* fd -EBADF: there is none */
        uint32_t open;  /* the number of the question that is put to it; 0: none */
        uint32_t n_asked;
        bool is_never;
};

enum question_state {
        QUESTION_WHOSE,   /* it isn't known yet who is to be asked */
        QUESTION_WAITS,   /* for who is to be asked to have no other open */
        QUESTION_IS_OPEN, /* put to questions.owner, or to one of the willing */
        QUESTION_DECIDED, /* a rule has the name, or it is refused for good */
};

struct question {
        char name[NET_NAME_MOST + 1];
        enum question_state state;
        bool is_allowed;
        uint16_t client_port;
        uint32_t number;  /* from 1 on */
        uint32_t owner;   /* whose program it is, or NOBODY */
        uint64_t unheard; /* who hasn't said yet whether it is */
        uint64_t willing; /* who has said that it isn't, and may be asked all the same */
        uint64_t ends_at; /* of QUESTION_WHOSE */
};

struct waiting {
        uint64_t ends_at;
        uint32_t number; /* the question's */
        struct sockaddr_storage from;
        socklen_t length;
        size_t n;
        uint8_t bytes[DNS_QUERY_MOST];
};

/* A name that was refused without a decision.  Resolvers try it once more at once (resolv.conf's search),
 * which is no reason to ask again. */
struct refused {
        char name[NET_NAME_MOST + 1];
        uint64_t until;
};
#define REFUSED_MS 2000U

static struct asker askers[NET_ASKERS_MOST];
static uint32_t n_askers; /* that were ever used */
static struct question questions[NET_DECIDED_MOST + NET_QUESTIONS_MOST];
static uint32_t n_questions, n_decided, last_number;
static bool is_full;
static struct waiting *waiting[WAITING_MOST];
static struct refused refused[NET_QUESTIONS_MOST];
static uint32_t n_refused;

static struct question *find_question(const char *name) {
        for (uint32_t i = 0; i < n_questions; i++)
                if (streq(questions[i].name, name))
                        return &questions[i];
        return NULL;
}

static struct question *find_number(uint32_t number) {
        for (uint32_t i = 0; i < n_questions; i++)
                if (questions[i].number == number)
                        return &questions[i];
        return NULL;
}

/* ------------------------------------------------------------ who is asked */

static uint64_t bit_of(uint32_t asker) {
        return UINT64_C(1) << asker;
}

static bool asker_is_here(uint32_t i) {
        return i < n_askers && askers[i].w.fd >= 0;
}

static bool can_be_asked(uint32_t i) {
        return asker_is_here(i) && !askers[i].is_never && askers[i].n_asked < NET_QUESTIONS_MOST;
}

static void tell_full(struct helper *h, uint32_t n) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%u", n);
        if (!is_full)
                net_journal_add(h->journal, NET_EVENT_UNASKED, "", 0, text);
        is_full = true;
}

static bool somebody_can_be_asked(struct helper *h) {
        bool was_asked_enough = false;

        for (uint32_t i = 0; i < n_askers; i++) {
                if (can_be_asked(i))
                        return true;
                was_asked_enough |= asker_is_here(i) && !askers[i].is_never;
        }
        if (was_asked_enough)
                tell_full(h, NET_QUESTIONS_MOST);
        return false;
}

/* False: it can't be told, as if it were gone. */
static bool tell_asker(uint32_t asker, const struct question *q, enum net_question_kind kind) {
        struct net_question m = {.kind = (uint16_t)kind};

        if (q) {
                m.number = q->number;
                m.client_port = q->client_port;
                (void)snprintf(m.name, sizeof(m.name), "%s", q->name);
        }
        return send(askers[asker].w.fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(m);
}

/* ------------------------------------------------------- queries that wait */

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
        **room = (struct waiting){.ends_at = sys_now_ms() + NET_QUESTION_MS,
                                  .number = number,
                                  .from = *from,
                                  .length = length,
                                  .n = n};
        memcpy((*room)->bytes, bytes, n);
        return true;
}

/* Ends what waits for the question; with number 0 what has waited for too long. */
static void answer_waiting(struct helper *h, uint32_t number, uint64_t now, enum late how) {
        for (size_t i = 0; i < WAITING_MOST; i++) {
                struct waiting *w = waiting[i];

                if (!w || (number == 0 ? w->ends_at > now : w->number != number))
                        continue;
                waiting[i] = NULL;
                serve_late(h, w->bytes, w->n, &w->from, w->length, how);
                free(w);
        }
}

/* ---------------------------------------------------------------- the end of one */

/* As --allow NAME would. */
static void allow(struct helper *h, const char *name) {
        struct net_rule rule;

        if (!net_rule_parse(name, false, &rule))
                (void)control_allow(h, &rule);
}

static void decide(struct helper *h, struct question *q, bool is_allowed) {
        q->state = QUESTION_DECIDED;
        q->is_allowed = is_allowed;
        n_decided++;
        if (is_allowed)
                allow(h, q->name);
        answer_waiting(h, q->number, 0, LATE_BY_THE_RULES);
}

/* It is refused, and may be asked again. */
static void question_forget(struct helper *h, struct question *q) {
        uint32_t number = q->number, i = (uint32_t)(q - questions);
        struct refused *slot = &refused[n_refused++ % NET_QUESTIONS_MOST];

        (void)snprintf(slot->name, sizeof(slot->name), "%s", q->name);
        slot->until = sys_now_ms() + REFUSED_MS;
        memmove(q, q + 1, (n_questions - i - 1) * sizeof(*q));
        n_questions--;
        answer_waiting(h, number, 0, LATE_REFUSED);
}

static bool was_just_refused(const char *name) {
        for (uint32_t i = 0; i < NET_QUESTIONS_MOST; i++)
                if (streq(refused[i].name, name) && sys_now_ms() < refused[i].until)
                        return true;
        return false;
}

/* ------------------------------------------------------------------- their turns */

/* Who is to be asked now; NOBODY with *ret_waits: later. */
static uint32_t choose_asker(const struct question *q, bool *ret_waits) {
        *ret_waits = false;
        for (uint32_t i = 0; i < n_askers; i++) {
                bool may = q->owner == NOBODY ? q->willing & bit_of(i) : q->owner == i;

                if (!may || !can_be_asked(i))
                        continue;
                if (askers[i].open == 0)
                        return i;
                *ret_waits = true;
        }
        return NOBODY;
}

static void take_leave(struct helper *h, uint32_t asker);

/* False: the question is gone, or the array has been changed otherwise. */
static bool question_turn(struct helper *h, struct question *q) {
        bool waits;
        uint32_t i;

        if (q->state == QUESTION_WHOSE && (q->unheard == 0 || sys_now_ms() >= q->ends_at))
                q->state = QUESTION_WAITS;
        if (q->state != QUESTION_WAITS)
                return true;
        i = choose_asker(q, &waits);
        if (i == NOBODY && waits)
                return true;
        if (i == NOBODY) {
                if (q->owner < n_askers && askers[q->owner].n_asked == NET_QUESTIONS_MOST)
                        tell_full(h, NET_QUESTIONS_MOST);
                question_forget(h, q);
                return false;
        }
        if (!tell_asker(i, q, NET_QUESTION_PERSON)) {
                take_leave(h, i);
                return false;
        }
        askers[i].open = q->number;
        askers[i].n_asked++;
        q->state = QUESTION_IS_OPEN;
        return true;
}

static void questions_turn(struct helper *h) {
        for (uint32_t i = 0; i < n_questions;)
                i = question_turn(h, &questions[i]) ? i + 1 : 0;
}

/* Nobody is asked there any more.  What was open there, of its own program, is refused: of another one
 * others may be asked. */
static void take_leave(struct helper *h, uint32_t asker) {
        uint32_t open = askers[asker].open;

        if (askers[asker].w.fd >= 0 && askers[asker].w.ready)
                helper_unwatch(h, &askers[asker].w);
        if (askers[asker].w.ready)
                close_fdp(&askers[asker].w.fd);
        askers[asker] = (struct asker){.w = {.fd = -EBADF}};
        for (uint32_t i = 0; i < n_questions;) {
                struct question *q = &questions[i];

                q->unheard &= ~bit_of(asker);
                q->willing &= ~bit_of(asker);
                if (q->state == QUESTION_IS_OPEN && q->number == open)
                        q->state = QUESTION_WAITS;
                if (q->owner == asker && q->state != QUESTION_DECIDED)
                        question_forget(h, q);
                else
                        i++;
        }
}

static uint16_t port_of(const struct sockaddr_storage *from) {
        union net_sockaddr a = {.room = *from};
        struct net_address address;
        uint16_t port = 0;

        return net_address_from(&a, &address, &port) ? port : 0;
}

static void question_add(struct helper *h, const char *name, const struct sockaddr_storage *from) {
        struct question *q = &questions[n_questions++];

        *q = (struct question){.state = QUESTION_WAITS,
                               .client_port = from ? port_of(from) : 0,
                               .number = ++last_number,
                               .owner = 0};
        (void)snprintf(q->name, sizeof(q->name), "%s", name);
        if (h->rules.publishes_later) {
                q->state = QUESTION_WHOSE;
                q->owner = NOBODY;
                q->ends_at = sys_now_ms() + WHOSE_MS;
                for (uint32_t i = 0; i < n_askers; i++)
                        if (asker_is_here(i) && tell_asker(i, q, NET_QUESTION_WHOSE))
                                q->unheard |= bit_of(i);
        }
        questions_turn(h);
}

enum ask_state ask_about(struct helper *h, const struct dns_query *query, const uint8_t *bytes, size_t n,
                         const struct sockaddr_storage *from, socklen_t length) {
        const struct question *q;

        if (!h->rules.asks || !net_name_is_askable(query->name) ||
            net_rules_deny_name(&h->rules, query->name))
                return ASK_NO;
        q = find_question(query->name);
        if (q && q->state == QUESTION_DECIDED)
                return net_rules_have_name(&h->rules, query->name) ? ASK_YES : ASK_NO;
        if (!q) {
                uint32_t most =
                        h->rules.publishes_later ? (uint32_t)ARRAY_SIZE(questions) : NET_QUESTIONS_MOST;

                /* Others than these come beside them, and are no reason to ask. */
                if (query->type != DNS_TYPE_A && query->type != DNS_TYPE_AAAA)
                        return ASK_NO;
                if (n_questions == most)
                        tell_full(h, most);
                if (n_questions == most || n_questions - n_decided == NET_QUESTIONS_MOST ||
                    was_just_refused(query->name) || !somebody_can_be_asked(h))
                        return ASK_NO;
                question_add(h, query->name, from);
                q = find_question(query->name);
        }
        if (!q)
                return ASK_NO;
        if (from)
                (void)ask_wait(q->number, bytes, n, from, length);
        return ASK_PENDING;
}

/* ------------------------------------------------------------------- answers */

static void take_whose(struct question *q, uint32_t asker, enum net_verdict verdict) {
        if ((q->state != QUESTION_WHOSE && q->state != QUESTION_WAITS) || !(q->unheard & bit_of(asker)))
                return;
        q->unheard &= ~bit_of(asker);
        if (verdict == NET_VERDICT_MINE && q->owner == NOBODY) {
                q->owner = asker;
                q->state = QUESTION_WAITS;
        } else if (verdict == NET_VERDICT_NOT_MINE) {
                q->willing |= bit_of(asker);
        }
}

static void take_verdict(struct helper *h, struct question *q, uint32_t asker, enum net_verdict verdict) {
        if (q->state != QUESTION_IS_OPEN || askers[asker].open != q->number)
                return;
        askers[asker].open = 0;
        askers[asker].is_never |= verdict == NET_VERDICT_NEVER;
        if (verdict == NET_VERDICT_YES || verdict == NET_VERDICT_NO)
                decide(h, q, verdict == NET_VERDICT_YES);
        else
                question_forget(h, q);
}

bool ask_take_answer(struct helper *h, uint32_t asker, int fd) {
        struct question *q;
        struct net_answer a;
        ssize_t n = recv(fd, &a, sizeof(a), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n != (ssize_t)sizeof(a))
                return false;
        q = a.number == 0 ? NULL : find_number(a.number);
        if (q && (a.verdict == NET_VERDICT_MINE || a.verdict == NET_VERDICT_NOT_MINE))
                take_whose(q, asker, (enum net_verdict)a.verdict);
        else if (q)
                take_verdict(h, q, asker, (enum net_verdict)a.verdict);
        questions_turn(h);
        return true;
}

void ask_begin(const struct helper *h, int fd) {
        if (!h->rules.publishes_later) {
                n_askers = 1;
                askers[0] = (struct asker){.w = {.fd = fd}};
        }
}

static void asker_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        uint32_t asker = (uint32_t)((struct asker *)w - askers);

        /* It may have gone in this turn of the loop. */
        if (w->fd < 0 || ask_take_answer(h, asker, w->fd))
                return;
        take_leave(h, asker);
        questions_turn(h);
}

int ask_join(struct helper *h, int fd) {
        uint32_t i = 0;

        if (!h->rules.asks)
                return -EOPNOTSUPP;
        while (i < n_askers && askers[i].w.fd >= 0)
                i++;
        if (i == NET_ASKERS_MOST)
                return -E2BIG;
        if (i == n_askers)
                n_askers++;
        askers[i] = (struct asker){.w = {fd, asker_ready}};
        if (helper_watch(h, &askers[i].w, EPOLLIN) < 0 || !tell_asker(i, NULL, NET_QUESTION_HELLO)) {
                helper_unwatch(h, &askers[i].w);
                askers[i] = (struct asker){.w = {.fd = -EBADF}};
                return -EPIPE;
        }
        return 0;
}

uint32_t ask_decided(uint32_t index, char name[NET_NAME_MOST + 1], bool *ret_is_allowed) {
        for (uint32_t i = 0; i < n_questions; i++) {
                if (questions[i].state != QUESTION_DECIDED || index-- != 0)
                        continue;
                (void)snprintf(name, NET_NAME_MOST + 1, "%s", questions[i].name);
                *ret_is_allowed = questions[i].is_allowed;
                break;
        }
        return n_decided;
}

int ask_turn(struct helper *h) {
        uint64_t now, first = UINT64_MAX;

        if (n_questions == n_decided)
                return -1;
        now = sys_now_ms();
        answer_waiting(h, 0, now, LATE_FAILED);
        questions_turn(h);
        for (size_t i = 0; i < WAITING_MOST; i++)
                if (waiting[i] && waiting[i]->ends_at < first)
                        first = waiting[i]->ends_at;
        for (uint32_t i = 0; i < n_questions; i++)
                if (questions[i].state == QUESTION_WHOSE && questions[i].ends_at < first)
                        first = questions[i].ends_at;
        return first == UINT64_MAX ? -1 : first > now ? (int)(first - now) : 0;
}
