/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A proxy is asked for a host (HTTP's CONNECT, SOCKS5), and believed no further than it must be: its answer
 * is bounded in bytes and in time.  Of the sandbox's bytes only a name that rules have gets into the
 * question. */
#include "via.h"

#include <sys/epoll.h>

#include "base/str.h"

#define ANSWER_MOST (16U << 10) /* bytes of an answer's head */
#define ANSWER_MS   60000U
#define LINE_MOST   64U

#define SOCKS_VERSION   5
#define SOCKS_NO_USER   0
#define SOCKS_USER      2
#define SOCKS_ADDRESS   1
#define SOCKS_NAME      3
#define SOCKS_ADDRESS_6 4

enum via_stage {
        VIA_HEAD,   /* HTTP's answer */
        VIA_METHOD, /* which kind of credentials SOCKS wants */
        VIA_USER,   /* what it says of them */
        VIA_REPLY,  /* what it says of the host: five bytes, which tell how many follow */
        VIA_REST,
};

struct via {
        struct watch w; /* first of all: a watch is cast to it */
        struct flow *flow;
        struct via *next, *previous; /* by the time at which they end */
        uint64_t ends_at;
        enum via_stage stage;
        size_t n, n_wanted; /* bytes of the answer: read, and of SOCKS's stage */
        size_t line_length; /* of the head's line that is being read */
        bool is_past_first;
        uint8_t bytes[LINE_MOST]; /* the first line's beginning; SOCKS's stage */
};

static void via_refuse(struct helper *h, struct flow *f, const char *why) {
        net_journal_add(h->journal, NET_EVENT_VIA, f->host, f->port, why);
        relay_end(h, f, true);
}

/* ------------------------------------------------------------- what is asked */

static bool send_all(int fd, const void *bytes, size_t n) {
        return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void add_base64(struct strbuf *b, const char *text) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size_t n = strlen(text);

        for (size_t i = 0; i < n; i += 3) {
                uint32_t word = (uint32_t)(unsigned char)text[i] << 16;

                if (i + 1 < n)
                        word |= (uint32_t)(unsigned char)text[i + 1] << 8;
                if (i + 2 < n)
                        word |= (unsigned char)text[i + 2];
                strbuf_addf(b, "%c%c%c%c", digits[word >> 18], digits[word >> 12 & 63],
                            i + 1 < n ? digits[word >> 6 & 63] : '=', i + 2 < n ? digits[word & 63] : '=');
        }
}

/* The name has letters, digits, '-', '_' and '.' alone: via_connected() has made sure of that again. */
static bool ask_http(const struct net_proxy *proxy, const struct flow *f, int fd) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *request = NULL;
        char pair[2 * NET_PROXY_CREDENTIAL_MOST + 2];
        bool is_sent;

        strbuf_addf(&b, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n", f->host, f->port, f->host, f->port);
        if (proxy->has_user) {
                (void)snprintf(pair, sizeof(pair), "%s:%s", proxy->user, proxy->password);
                strbuf_add(&b, "Proxy-Authorization: Basic ");
                add_base64(&b, pair);
                strbuf_add(&b, "\r\n");
                explicit_bzero(pair, sizeof(pair));
        }
        strbuf_add(&b, "\r\n");
        request = strbuf_finish(&b);
        is_sent = request && send_all(fd, request, strlen(request));
        if (request)
                explicit_bzero(request, strlen(request));
        return is_sent;
}

static bool ask_socks(const struct net_proxy *proxy, int fd) {
        const uint8_t methods[] = {SOCKS_VERSION, proxy->has_user ? 2 : 1, SOCKS_NO_USER, SOCKS_USER};

        return send_all(fd, methods, proxy->has_user ? 4 : 3);
}

static bool send_user(const struct net_proxy *proxy, int fd) {
        uint8_t bytes[3 + 2 * NET_PROXY_CREDENTIAL_MOST];
        size_t n = 0, user = strlen(proxy->user), password = strlen(proxy->password);
        bool is_sent;

        bytes[n++] = 1; /* RFC 1929's version */
        bytes[n++] = (uint8_t)user;
        memcpy(bytes + n, proxy->user, user);
        n += user;
        bytes[n++] = (uint8_t)password;
        memcpy(bytes + n, proxy->password, password);
        n += password;
        is_sent = send_all(fd, bytes, n);
        explicit_bzero(bytes, sizeof(bytes));
        return is_sent;
}

static bool send_host(const struct net_proxy *proxy, const struct flow *f, int fd) {
        uint8_t bytes[8 + NET_NAME_MOST] = {SOCKS_VERSION, 1, 0};
        size_t n = 3, length = strlen(f->host);

        if (proxy->kind == NET_PROXY_SOCKS5) {
                length = net_address_bits(&f->target) / 8;
                bytes[n++] = f->target.is_v6 ? SOCKS_ADDRESS_6 : SOCKS_ADDRESS;
                memcpy(bytes + n, f->target.bytes, length);
        } else {
                bytes[n++] = SOCKS_NAME;
                bytes[n++] = (uint8_t)length;
                memcpy(bytes + n, f->host, length);
        }
        n += length;
        bytes[n++] = (uint8_t)(f->port >> 8);
        bytes[n++] = (uint8_t)f->port;
        return send_all(fd, bytes, n);
}

/* ------------------------------------------------------------ what it answers */

static void unlink_via(struct helper *h, struct via *v) {
        *(v->previous ? &v->previous->next : &h->first_via) = v->next;
        *(v->next ? &v->next->previous : &h->last_via) = v->previous;
        v->next = v->previous = NULL;
}

/* The connection is the flow's own from now on: what follows the answer was not read. */
static void via_opened(struct helper *h, struct via *v) {
        struct flow *f = v->flow;
        int fd;

        helper_unwatch(h, &v->w);
        unlink_via(h, v);
        fd = TAKE_FD(v->w.fd);
        f->via = NULL;
        free(v);
        relay_connected(h, f, fd);
}

static void http_answered(struct helper *h, struct via *v) {
        char why[NET_ADDRESS_TEXT];

        if (v->bytes[9] == '2') {
                via_opened(h, v);
                return;
        }
        (void)snprintf(why, sizeof(why), "answers %.3s%s", (const char *)v->bytes + 9,
                       memcmp(v->bytes + 9, "407", 3) == 0 ? ": user or password" : "");
        via_refuse(h, v->flow, why);
}

/* "HTTP/1.1 200 ...", as much of it as there is. */
static bool is_http(const struct via *v) {
        static const char form[] = "HTTP/1.# ###";
        size_t n = v->n < sizeof(form) - 1 ? v->n : sizeof(form) - 1;

        for (size_t i = 0; i < n; i++)
                if (form[i] == '#' ? v->bytes[i] < '0' || v->bytes[i] > '9' : v->bytes[i] != form[i])
                        return false;
        return n == sizeof(form) - 1 || !v->is_past_first;
}

static void read_head(struct helper *h, struct via *v) {
        ssize_t n = recv(v->w.fd, h->buffer, 4096, MSG_PEEK);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                via_refuse(h, v->flow, "closed the connection");
                return;
        }
        for (ssize_t i = 0; i < n; i++) {
                char c = h->buffer[i];
                bool is_end = c == '\n' && v->line_length == 0 && v->is_past_first;

                if (v->n < LINE_MOST && !v->is_past_first)
                        v->bytes[v->n] = (uint8_t)c;
                v->n++;
                v->is_past_first |= c == '\n';
                v->line_length = c == '\n' ? 0 : v->line_length + (c != '\r');
                if (v->n > ANSWER_MOST || (v->n <= LINE_MOST && !is_http(v))) {
                        via_refuse(h, v->flow, v->n > ANSWER_MOST ? "answers too much" : "answers no HTTP");
                        return;
                }
                if (is_end) {
                        (void)recv(v->w.fd, h->buffer, (size_t)i + 1, 0);
                        http_answered(h, v);
                        return;
                }
        }
        (void)recv(v->w.fd, h->buffer, (size_t)n, 0);
}

static void refuse_by_reply(struct helper *h, struct flow *f, uint8_t reply) {
        static const char *const words[] = {"failure", "not allowed", "no network", "no host",
                                            "refused", "too far",     "no CONNECT", "no such address"};
        char why[NET_ADDRESS_TEXT];

        (void)snprintf(why, sizeof(why), "answers %u: %s", reply,
                       reply <= ARRAY_SIZE(words) ? words[reply - 1] : "unknown");
        via_refuse(h, f, why);
}

static bool next_stage(struct via *v, enum via_stage stage, size_t n_wanted) {
        v->stage = stage;
        v->n_wanted = n_wanted;
        v->n = 0;
        return true;
}

/* A stage is whole.  False: the proxy can't be talked to. */
static bool stage_read(struct helper *h, struct via *v) {
        const struct net_proxy *proxy = h->rules.via;
        size_t length;

        switch (v->stage) {
        case VIA_METHOD:
                if (v->bytes[0] != SOCKS_VERSION)
                        return false;
                if (v->bytes[1] == SOCKS_USER && proxy->has_user)
                        return send_user(proxy, v->w.fd) && next_stage(v, VIA_USER, 2);
                if (v->bytes[1] == SOCKS_NO_USER)
                        return send_host(proxy, v->flow, v->w.fd) && next_stage(v, VIA_REPLY, 5);
                via_refuse(h, v->flow, "wants a user and a password");
                return true;
        case VIA_USER:
                if (v->bytes[1] == 0)
                        return send_host(proxy, v->flow, v->w.fd) && next_stage(v, VIA_REPLY, 5);
                via_refuse(h, v->flow, "refuses the user or the password");
                return true;
        case VIA_REPLY:
                if (v->bytes[0] != SOCKS_VERSION)
                        return false;
                if (v->bytes[1] != 0) {
                        refuse_by_reply(h, v->flow, v->bytes[1]);
                        return true;
                }
                /* The address that the proxy has there is of no matter, but for its length.  Of it one byte
                 * was read, which is the length of a name. */
                length = v->bytes[3] == SOCKS_ADDRESS     ? 4
                         : v->bytes[3] == SOCKS_ADDRESS_6 ? 16
                         : v->bytes[3] == SOCKS_NAME      ? v->bytes[4] + 1U
                                                          : 0;
                return length > 0 && next_stage(v, VIA_REST, length - 1 + 2);
        case VIA_REST:
                via_opened(h, v);
                return true;
        case VIA_HEAD:
                break;
        }
        return false;
}

/* Reads no byte that is not SOCKS's own: what follows is the server's. */
static void read_stage(struct helper *h, struct via *v) {
        size_t left = v->n_wanted - v->n, at = v->n < LINE_MOST ? v->n : 0;
        ssize_t n = recv(v->w.fd, v->bytes + at, left < LINE_MOST - at ? left : LINE_MOST - at, 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                via_refuse(h, v->flow, "closed the connection");
                return;
        }
        v->n += (size_t)n;
        if (v->n == v->n_wanted && !stage_read(h, v))
                via_refuse(h, v->flow, "answers no SOCKS5");
}

static void via_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        struct via *v = (struct via *)w;

        if (w->fd < 0 || v->flow->is_dead)
                return;
        if (v->stage == VIA_HEAD)
                read_head(h, v);
        else
                read_stage(h, v);
}

/* -------------------------------------------------------------- its course */

void via_resolved(struct helper *h, struct flow *f, const struct net_address *addresses, size_t n) {
        if (n == 0) {
                via_refuse(h, f, "has no address");
                return;
        }
        reach_proxy(h, f, addresses, n);
}

void via_begin(struct helper *h, struct flow *f) {
        if (f->n_addresses > 0)
                f->target = f->addresses[0];
        f->n_addresses = 0;
        f->way = FLOW_VIA;
        f->is_looking = true;
        if (lookup_name(h, h->rules.via->host, f) < 0) {
                f->is_looking = false;
                via_refuse(h, f, "has no address");
        }
}

void via_unreached(struct helper *h, struct flow *f) {
        via_refuse(h, f, "can't be reached");
}

void via_connected(struct helper *h, struct flow *f, int fd) {
        struct via *v = calloc(1, sizeof(*v));
        bool is_http_proxy = h->rules.via->kind == NET_PROXY_HTTP;
        char name[NET_NAME_MOST + 1];

        if (!v) {
                (void)close(fd);
                relay_end(h, f, true);
                return;
        }
        v->w = (struct watch){fd, via_ready};
        v->flow = f;
        v->stage = is_http_proxy ? VIA_HEAD : VIA_METHOD;
        v->n_wanted = 2;
        v->ends_at = sys_now_ms() + ANSWER_MS;
        v->previous = h->last_via;
        *(v->previous ? &v->previous->next : &h->first_via) = v;
        h->last_via = v;
        f->via = v;
        if (helper_watch(h, &v->w, EPOLLIN) < 0)
                relay_end(h, f, true);
        else if (net_name_normalise(f->host, name))
                via_refuse(h, f, "isn't asked for what is no name");
        else if (!(is_http_proxy ? ask_http(h->rules.via, f, fd) : ask_socks(h->rules.via, fd)))
                via_refuse(h, f, "closed the connection");
}

void via_stop(struct helper *h, struct flow *f) {
        struct via *v = f->via;

        if (!v || v->w.fd < 0)
                return;
        helper_unwatch(h, &v->w);
        unlink_via(h, v);
        close_fdp(&v->w.fd);
}

void via_free(struct flow *f) {
        free(f->via);
}

int via_turn(struct helper *h) {
        uint64_t now = h->first_via ? sys_now_ms() : 0;

        while (h->first_via && h->first_via->ends_at <= now)
                via_refuse(h, h->first_via->flow, "doesn't answer");
        return h->first_via ? (int)(h->first_via->ends_at - now) : -1;
}
