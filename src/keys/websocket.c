/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One WebSocket of the sandbox's (RFC 6455): its opening is made anew for the key's host, with the key, as
 * other requests are; after the host's 101 what both say is passed on, the host's without the key. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "base/str.h"
#include "frame.h"
#include "net/layout.h"
#include "server.h"
#include "wire.h"

enum {
        CHUNK = 16 * 1024,     /* bytes; what a record of TLS has at most */
        HEAD_MOST = 16 * 1024, /* bytes of the host's answer */
        UNSENT_MOST = 64 * 1024,
        TURNS_MOST = 16, /* chunks of one host's before others' turn */
        LOOK_MS = 250,
};

struct websocket {
        struct transfer transfer; /* first, as CURLOPT_PRIVATE is one */
        struct key_port *port;
        const struct key_use *use;
        struct evhttp_request *request;
        struct bufferevent *client;
        struct event *clock; /* bounds the opening, and the end */
        CURL *easy;          /* NULL: the host has ended */
        struct event *host_reads, *host_writes;
        char *asked; /* the opening, until it is sent */
        size_t n_asked;
        const char *unsent; /* of that, or of `chunk` */
        size_t n_unsent;
        char *head; /* the host's answer, until it is read */
        size_t n_head;
        struct frame frame;       /* of the host's */
        struct mask_held held[2]; /* of messages; and of control frames, which stand among them */
        bool is_open, is_paused, client_has_ended;
        bool is_unheard; /* the host takes no more */
        char chunk[CHUNK];
};

/* What is compressed can't be looked through for the key. */
static int websocket_add_header(void *text, const char *name, const char *value) {
        if (!is_same_header(name, "Sec-WebSocket-Extensions"))
                strbuf_addf(text, "%s: %s\r\n", name, value);
        return 0;
}

static int write_opening(struct websocket *w) {
        const char *target = evhttp_request_get_uri(w->request);
        _cleanup_secret_ char *with_key = NULL;
        _cleanup_strbuf_ struct strbuf b = {0};
        int r;

        if (w->use->form == KEY_IN_QUERY && !(with_key = credential_target(w->use, w->port->value, target)))
                return -ENOMEM;
        strbuf_addf(&b, "GET %s HTTP/1.1\r\nHost: %s", with_key ? with_key : target, w->use->host);
        if (w->use->port != 443)
                strbuf_addf(&b, ":%u", (unsigned)w->use->port);
        strbuf_add(&b, "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n");
        r = request_headers(w->request, w->port, w->use, websocket_add_header, &b);
        strbuf_add(&b, "\r\n");
        w->asked = strbuf_finish(&b);
        if (r < 0 || !w->asked)
                return r < 0 ? r : -ENOMEM;
        w->unsent = w->asked;
        w->n_unsent = w->n_asked = strlen(w->asked);
        return 0;
}

/* ------------------------------------------------------------------------ its end */

static void websocket_drop_host(struct websocket *w) {
        if (w->host_reads)
                event_free(w->host_reads);
        if (w->host_writes)
                event_free(w->host_writes);
        w->host_reads = w->host_writes = NULL;
        if (w->easy)
                upstream_remove(w->port->server, w->easy);
        w->easy = NULL;
}

/* Its connection stays, evhttp's again. */
static void websocket_drop(struct websocket *w) {
        static const struct timeval idle = {.tv_sec = CONNECTION_IDLE_S};

        websocket_drop_host(w);
        if (w->client) {
                bufferevent_setcb(w->client, NULL, NULL, NULL, NULL);
                (void)bufferevent_disable(w->client, EV_READ | EV_WRITE);
                bufferevent_setwatermark(w->client, EV_READ | EV_WRITE, 0, 0);
                bufferevent_set_timeouts(w->client, &idle, &idle);
        }
        if (w->clock)
                event_free(w->clock);
        secret_forget(&w->asked);
        free(w->head);
        mask_held_clear(&w->held[0]);
        mask_held_clear(&w->held[1]);
        w->port->server->n_exchanges--;
        free(w);
}

static void websocket_end(struct websocket *w) {
        struct evhttp_connection *connection = evhttp_request_get_connection(w->request);

        websocket_drop(w);
        evhttp_connection_free(connection);
}

/* A status of 502 is nsrun's. */
static void websocket_refuse(struct websocket *w, int status, const char *why) {
        struct evhttp_request *r = w->request;
        const struct key_use *use = w->use;
        struct net_key_used used = {.is_failed = status == 502};

        if (!used.is_failed)
                used = (struct net_key_used){.is_begun = true, .sent = w->n_asked, .received = w->n_head};
        port_tell(w->port, &used);
        websocket_drop(w);
        /* What came behind the opening may be no request. */
        (void)evhttp_add_header(evhttp_request_get_output_headers(r), "Connection", "close");
        answer_host(r, use, status, why);
}

static void set_clock(struct websocket *w) {
        static const struct timeval most = {.tv_sec = CONNECT_S};

        (void)event_add(w->clock, &most);
}

static void time_is_over(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        struct websocket *w = data;

        if (w->is_open)
                websocket_end(w);
        else
                websocket_refuse(w, 502, curl_easy_strerror(CURLE_OPERATION_TIMEDOUT));
}

/* ------------------------------------------------------------------- to the host */

static bool websocket_take_chunk(struct websocket *w) {
        struct evbuffer *input = bufferevent_get_input(w->client);
        int n;

        if (w->n_unsent > 0)
                return true;
        secret_forget(&w->asked);
        w->asked = NULL;
        if (!w->is_open)
                return false; /* what comes behind an opening waits for its answer */
        if (w->is_unheard)
                (void)evbuffer_drain(input, evbuffer_get_length(input));
        n = evbuffer_remove(input, w->chunk, sizeof(w->chunk));
        w->unsent = w->chunk;
        w->n_unsent = n > 0 ? (size_t)n : 0;
        return n > 0;
}

static void tell_host(struct websocket *w) {
        static const struct timeval look = {.tv_usec = LOOK_MS * 1000};

        while (websocket_take_chunk(w)) {
                size_t n = 0;
                CURLcode result = curl_easy_send(w->easy, w->unsent, w->n_unsent, &n);

                if (result == CURLE_AGAIN) {
                        (void)event_add(w->host_writes, &look);
                        return;
                }
                /* It may have said why: that is read. */
                w->is_unheard = result != CURLE_OK;
                w->unsent += n;
                w->n_unsent = w->is_unheard ? 0 : w->n_unsent - n;
                if (w->is_open)
                        port_tell(w->port, &(struct net_key_used){.sent = n});
                if (w->is_open && event_pending(w->clock, EV_TIMEOUT, NULL))
                        set_clock(w);
        }
        if (w->client_has_ended && w->host_reads) {
                /* libcurl has no half of an end. */
                (void)shutdown(event_get_fd(w->host_reads), SHUT_WR);
                set_clock(w);
        }
}

/* The host takes more; or hasn't for a while, in which nobody reads what the client says, nor its end. */
static void host_takes(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        struct websocket *w = data;
        struct pollfd client = {.fd = bufferevent_getfd(w->client), .events = POLLRDHUP};

        if (sys_poll(&client, 1, 0) > 0 && (client.revents & (POLLERR | POLLHUP))) {
                websocket_end(w);
                return;
        }
        if ((client.revents & POLLRDHUP) && !event_pending(w->clock, EV_TIMEOUT, NULL))
                set_clock(w);
        tell_host(w);
}

static void client_said(nsrun_unused struct bufferevent *client, void *data) {
        struct websocket *w = data;

        /* What comes behind an opening waits for its answer. */
        if (w->is_open)
                tell_host(w);
}

/* ----------------------------------------------------------------- to the client */

static void client_has_taken(struct bufferevent *client, void *data) {
        struct websocket *w = data;
        size_t n = evbuffer_get_length(bufferevent_get_output(client));

        if (!w->easy && n == 0) {
                if (w->client_has_ended) {
                        websocket_end(w);
                        return;
                }
                (void)shutdown(bufferevent_getfd(client), SHUT_WR);
                set_clock(w);
        }
        if (w->easy && w->is_paused && n < UNTAKEN_MOST / 2) {
                w->is_paused = false;
                (void)event_add(w->host_reads, NULL);
                event_active(w->host_reads, EV_READ, 0);
        }
}

static void client_ended(struct bufferevent *client, short what, void *data) {
        struct websocket *w = data;

        if (!w->is_open || (what & (BEV_EVENT_EOF | BEV_EVENT_WRITING)) != BEV_EVENT_EOF) {
                websocket_end(w);
                return;
        }
        w->client_has_ended = true;
        if (w->easy)
                tell_host(w);
        else
                client_has_taken(client, w);
}

/* The host says no more.  What the client still says is read, or it could lose what it hasn't taken. */
static void host_ended(struct websocket *w) {
        if (!w->is_open) {
                websocket_refuse(w, 502, "its answer is none");
                return;
        }
        websocket_drop_host(w);
        w->is_unheard = true;
        w->n_unsent = 0;
        client_has_taken(w->client, w);
}

/* What ends a frame waits for none that follows, which may be long in coming: of a key in two frames the
 * first bytes, fewer than tell something of it, are passed on. */
static int pass_payload(struct websocket *w, const char *bytes, size_t n) {
        const struct mask *mask = &w->port->mask;
        struct mask_held *held = &w->held[w->frame.is_control];
        struct evbuffer *output = bufferevent_get_output(w->client);
        size_t n_sure = 0, n_begun = 0;
        _cleanup_free_ char *sure = mask_feed(mask, held, bytes, n, &n_sure), *begun = NULL;

        if (!sure || evbuffer_add(output, sure, n_sure) < 0)
                return -ENOMEM;
        if (w->frame.left > 0)
                return 0;
        begun = mask_pass_held(mask, held, &n_begun);
        return begun && evbuffer_add(output, begun, n_begun) == 0 ? 0 : -ENOMEM;
}

static int pass_to_client(struct websocket *w, const char *bytes, size_t n) {
        int r = 0;

        for (size_t part = 0; n > 0 && r >= 0; bytes += part, n -= part) {
                bool is_head = w->frame.left == 0;

                r = frame_take(&w->frame, bytes, n, &part);
                if (r >= 0)
                        r = is_head ? evbuffer_add(bufferevent_get_output(w->client), bytes, part)
                                    : pass_payload(w, bytes, part);
        }
        return r;
}

/* Whether the WebSocket is still there. */
static bool websocket_open(struct websocket *w, size_t n_answer) {
        struct evbuffer *output = bufferevent_get_output(w->client);
        size_t n_rest = w->n_head - n_answer;
        const char *accept = NULL;
        char *protocol = NULL;
        int status = -EBADMSG;

        w->head[n_answer - 2] = '\0'; /* the empty line */
        if (strlen(w->head) == n_answer - 2)
                status = opening_read_answer(w->head, &accept, &protocol);
        if (status != 101) {
                websocket_refuse(w, status < 0 ? 502 : status,
                                 status < 0 ? "its answer is none" : "opens no WebSocket");
                return false;
        }
        if (protocol)
                mask_text(&w->port->mask, protocol);
        (void)event_del(w->clock);
        body_uncount(w->request);
        w->is_open = true;
        port_tell(w->port,
                  &(struct net_key_used){.is_begun = true, .sent = w->n_asked, .received = w->n_head});
        (void)evbuffer_add_printf(output,
                                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s%s%s\r\n",
                                  accept, protocol ? "Sec-WebSocket-Protocol: " : "",
                                  protocol ? protocol : "", protocol ? "\r\n" : "");
        if (n_rest > 0 && pass_to_client(w, w->head + n_answer, n_rest) < 0) {
                websocket_end(w);
                return false;
        }
        free(TAKE_PTR(w->head));
        tell_host(w);
        return true;
}

static bool websocket_take(struct websocket *w, const char *bytes, size_t n) {
        const char *end;

        if (w->is_open) {
                port_tell(w->port, &(struct net_key_used){.received = n});
                if (pass_to_client(w, bytes, n) >= 0)
                        return true;
                websocket_end(w);
                return false;
        }
        memcpy(w->head + w->n_head, bytes, n);
        w->n_head += n;
        end = memmem(w->head, w->n_head, "\r\n\r\n", 4);
        if (end && end - w->head <= HEAD_MOST - 4)
                return websocket_open(w, (size_t)(end - w->head) + 4);
        if (w->n_head < HEAD_MOST)
                return true;
        websocket_refuse(w, 502, "its answer has no end");
        return false;
}

static void host_said(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        struct websocket *w = data;
        char bytes[CHUNK];

        for (unsigned i = 0; i < TURNS_MOST; i++) {
                size_t n = 0;
                CURLcode result;

                if (evbuffer_get_length(bufferevent_get_output(w->client)) >= UNTAKEN_MOST) {
                        w->is_paused = true;
                        (void)event_del(w->host_reads);
                        return;
                }
                result = curl_easy_recv(w->easy, bytes, sizeof(bytes), &n);
                if (result == CURLE_AGAIN)
                        return;
                if (result != CURLE_OK || n == 0) {
                        host_ended(w);
                        return;
                }
                if (!websocket_take(w, bytes, n))
                        return;
        }
        /* TLS may have more, of which the socket says nothing. */
        event_active(w->host_reads, EV_READ, 0);
}

/* -------------------------------------------------------------------- its beginning */

static void websocket_connected(struct transfer *transfer, CURLcode result) {
        struct websocket *w = (struct websocket *)transfer;
        struct event_base *base = w->port->server->base;
        curl_socket_t fd = -1;

        if (result == CURLE_OK)
                result = curl_easy_getinfo(w->easy, CURLINFO_ACTIVESOCKET, &fd);
        if (result == CURLE_OK) {
                w->host_reads = event_new(base, fd, EV_READ | EV_PERSIST, host_said, w);
                w->host_writes = event_new(base, fd, EV_WRITE, host_takes, w);
                if (!w->host_reads || !w->host_writes || event_add(w->host_reads, NULL) < 0)
                        result = CURLE_OUT_OF_MEMORY;
        }
        if (result == CURLE_OK)
                tell_host(w);
        else
                websocket_refuse(w, 502, curl_easy_strerror(result));
}

static int websocket_ask(struct websocket *w) {
        int r = write_opening(w);

        if (r < 0)
                return r;
        w->head = malloc(HEAD_MOST + CHUNK);
        w->clock = evtimer_new(w->port->server->base, time_is_over, w);
        w->easy = upstream_handle(w->port);
        if (!w->head || !w->clock || !w->easy ||
            curl_easy_setopt(w->easy, CURLOPT_CONNECT_ONLY, 1L) != CURLE_OK ||
            curl_easy_setopt(w->easy, CURLOPT_PRIVATE, &w->transfer) != CURLE_OK)
                return -ENOMEM;
        return upstream_add(w->port->server, w->easy);
}

int websocket_begin(struct evhttp_request *r, struct key_port *port, const struct key_use *use) {
        static const struct timeval idle = {.tv_sec = CONNECTION_IDLE_S};
        struct websocket *w = calloc(1, sizeof(*w));
        int begun;

        if (!w)
                return -ENOMEM;
        w->transfer.finish = websocket_connected;
        w->port = port;
        w->use = use;
        w->request = r;
        port->server->n_exchanges++;
        begun = websocket_ask(w);
        if (begun < 0) {
                websocket_drop(w);
                return begun;
        }
        set_clock(w);
        body_drop(r);
        /* evhttp's no more. */
        w->client = evhttp_connection_get_bufferevent(evhttp_request_get_connection(r));
        bufferevent_setcb(w->client, client_said, client_has_taken, client_ended, w);
        bufferevent_setwatermark(w->client, EV_READ, 0, UNSENT_MOST);
        bufferevent_setwatermark(w->client, EV_WRITE, UNTAKEN_MOST / 2, 0);
        bufferevent_set_timeouts(w->client, NULL, &idle);
        (void)bufferevent_enable(w->client, EV_READ | EV_WRITE);
        return 0;
}
