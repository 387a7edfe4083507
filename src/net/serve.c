/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox's name server.  It answers what the rules have, at once, and asks nobody. */
#include <sys/epoll.h>

#include "ask.h"
#include "relay.h"

#define AT_ONCE      64 /* packets of a turn */
#define STREAMS_MOST 32
#define DNS_WAITS    16 /* no code of DNS, which has four bits */

/* Of a name that no rule has.  DNS_WAITS: somebody is asked. */
static int code_of_other(struct helper *h, const struct dns_query *query, const uint8_t *bytes, size_t n,
                         const struct sockaddr_storage *from, socklen_t length) {
        enum ask_state state = query->name[0] ? ask_about(h, query, bytes, n, from, length) : ASK_NO;

        if (state == ASK_NO && query->name[0])
                net_journal_add(h->journal, NET_EVENT_NAME, query->name, 0, NULL);
        return state == ASK_YES ? DNS_OK : state == ASK_NO ? DNS_NO_NAME : from ? DNS_WAITS : DNS_FAILED;
}

/* 0: there is none, or not yet.  `from` NULL: by TCP. */
static size_t answer(struct helper *h, const uint8_t *bytes, size_t n, uint8_t to[DNS_ANSWER_MOST],
                     const struct sockaddr_storage *from, socklen_t length) {
        struct net_address v4, v6;
        struct dns_query query;
        int code = dns_read_query(bytes, n, &query);
        uint32_t index = 0;

        if (code < 0)
                return 0;
        if (code == DNS_OK && (!query.name[0] || !net_rules_have_name(&h->rules, query.name)))
                code = code_of_other(h, &query, bytes, n, from, length);
        if (code == DNS_WAITS)
                return 0;
        if (code == DNS_OK) {
                index = streq(query.name, NET_HOST_NAME) ? NET_INDEX_HOST
                                                         : net_pool_find(h->pool, query.name);
                if (index == 0)
                        code = DNS_FAILED;
        }
        v4 = net_index_address(index, false);
        v6 = net_index_address(index, true);
        return dns_write_answer(bytes, &query, (enum dns_code)code, &v4, h->has_v6 ? &v6 : NULL, to);
}

static void take_packets(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        for (int i = 0; i < AT_ONCE; i++) {
                uint8_t bytes[DNS_QUERY_MOST + 1], to[DNS_ANSWER_MOST];
                struct sockaddr_storage from;
                socklen_t length = sizeof(from);
                ssize_t n = recvfrom(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from,
                                     &length);
                size_t m;

                if (n < 0)
                        return;
                m = answer(h, bytes, (size_t)n, to, &from, length);
                if (m > 0)
                        (void)sendto(w->fd, to, m, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from,
                                     length);
        }
}

static struct watch packets;

int serve_udp(struct helper *h, int fd) {
        packets = (struct watch){fd, take_packets};
        return helper_watch(h, &packets, EPOLLIN);
}

void serve_late(struct helper *h, const uint8_t *bytes, size_t n, const struct sockaddr_storage *to,
                socklen_t length, enum late how) {
        uint8_t answered[DNS_ANSWER_MOST];
        struct dns_query query;
        size_t m = 0;

        if (how == LATE_BY_THE_RULES)
                m = answer(h, bytes, n, answered, to, length);
        else if (dns_read_query(bytes, n, &query) >= 0)
                m = dns_write_answer(bytes, &query, how == LATE_REFUSED ? DNS_NO_NAME : DNS_FAILED, NULL,
                                     NULL, answered);
        if (how == LATE_REFUSED && m > 0)
                net_journal_add(h->journal, NET_EVENT_NAME, query.name, 0, NULL);
        if (m > 0)
                (void)sendto(packets.fd, answered, m, MSG_DONTWAIT | MSG_NOSIGNAL,
                             (const struct sockaddr *)to, length);
}

/* A connection of DNS over TCP.  There is a small number of them: a new one takes the place of the oldest.
 */
struct stream {
        struct watch w; /* fd -EBADF: unused */
        size_t n;
        uint8_t bytes[2 + DNS_QUERY_MOST];
};

static struct stream *streams[STREAMS_MOST];
static unsigned next_stream;

static void close_stream(struct helper *h, struct stream *s) {
        if (s->w.fd >= 0)
                helper_unwatch(h, &s->w);
        close_fdp(&s->w.fd);
        s->n = 0;
}

/* Answers the first query in the buffer.  False: there is none that is whole; or -errno by *ret. */
static bool answer_first(struct helper *h, struct stream *s, bool *ret_broken) {
        uint8_t to[2 + DNS_ANSWER_MOST];
        size_t length = s->n < 2 ? 0 : (size_t)(s->bytes[0] << 8 | s->bytes[1]), m;

        *ret_broken = s->n >= 2 && (length == 0 || length > DNS_QUERY_MOST);
        if (s->n < 2 || *ret_broken || s->n < 2 + length)
                return false;
        m = answer(h, s->bytes + 2, length, to + 2, NULL, 0);
        to[0] = (uint8_t)(m >> 8);
        to[1] = (uint8_t)m;
        /* A client that reads no answers gets no more of them. */
        *ret_broken = m == 0 || send(s->w.fd, to, m + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(m + 2);
        memmove(s->bytes, s->bytes + 2 + length, s->n - 2 - length);
        s->n -= 2 + length;
        return !*ret_broken;
}

static void read_stream(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        struct stream *s = (struct stream *)w;
        bool is_broken;
        ssize_t n;

        if (w->fd < 0)
                return;
        n = recv(w->fd, s->bytes + s->n, sizeof(s->bytes) - s->n, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n > 0)
                s->n += (size_t)n;
        is_broken = n <= 0;
        while (!is_broken && answer_first(h, s, &is_broken))
                ;
        if (is_broken)
                close_stream(h, s);
}

static void take_streams(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct stream **s = &streams[next_stream];

        if (fd < 0) {
                if (relay_is_lack(-errno))
                        relay_pause(h);
                return;
        }
        if (!*s && (*s = calloc(1, sizeof(**s))))
                (*s)->w.fd = -EBADF;
        if (!*s) {
                (void)close(fd);
                return;
        }
        next_stream = (next_stream + 1) % STREAMS_MOST;
        close_stream(h, *s);
        (*s)->w = (struct watch){fd, read_stream};
        if (helper_watch(h, &(*s)->w, EPOLLIN) < 0)
                close_fdp(&(*s)->w.fd);
}

int serve_tcp(struct helper *h, int fd) {
        return relay_listen_for(h, fd, take_streams);
}
