/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Servers, lines to and from them, and what these become for HTTP. */
#include <event2/buffer.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include "base/str.h"
#include "server.h"

enum {
        STREAM_MOST = 1024 * 1024, /* bytes that a client hasn't taken, before notifications are left out */
        PROBE_MS = 250,          /* between looks at a client, and comments to one that will send no more */
        PRIME_MS = 1000,         /* then a stream begins, so that its client can come back to it */
        KEPT_MOST = 1024 * 1024, /* bytes of a session's streams, for clients that come back */
};

/* An event of a stream, for a client that comes back (Last-Event-ID). */
struct kept_event {
        struct kept_event *next;
        unsigned number;
        bool is_answer;
        size_t n;
        char text[];
};

static time_t now_s(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec;
}

/* ------------------------------------------------------------------- answers of HTTP's */

static void add_header(struct evhttp_request *r, const char *name, const char *value) {
        (void)evhttp_add_header(evhttp_request_get_output_headers(r), name, value);
}

/* What evhttp sends it sends while it reads, and drops when the client sends no more: who has ended its half
 * of the connection waits for the answer.  Before and after each call that sends: */
static struct bufferevent *sending_begin(struct evhttp_request *r) {
        struct bufferevent *to = evhttp_connection_get_bufferevent(evhttp_request_get_connection(r));

        bufferevent_incref(to);
        return to;
}

static void sending_begun(struct bufferevent *to) {
        (void)bufferevent_disable(to, EV_READ);
        (void)bufferevent_decref(to);
}

void http_answer_empty(struct evhttp_request *r, int status) {
        struct bufferevent *to = sending_begin(r);

        evhttp_send_reply(r, status, NULL, NULL);
        sending_begun(to);
}

static void answer_json(struct evhttp_request *r, int status, const char *text) {
        struct bufferevent *to = sending_begin(r);
        struct evbuffer *body = evbuffer_new();

        if (body && text)
                (void)evbuffer_add(body, text, strlen(text));
        add_header(r, "Content-Type", "application/json");
        add_header(r, "Cache-Control", "no-store");
        evhttp_send_reply(r, status, NULL, body);
        sending_begun(to);
        if (body)
                evbuffer_free(body);
}

void http_refuse(struct evhttp_request *r, int status, const char *id, int code, const char *why,
                 const char *data) {
        _cleanup_free_ char *text = message_error(id, code, why, data);

        answer_json(r, status, text);
}

/* ---------------------------------------------------------------------------- exchanges */

static void drop_kept(struct exchange *e, struct kept_event **at) {
        struct kept_event *gone = *at;

        *at = gone->next;
        e->channel->n_kept -= gone->n;
        free(gone);
}

/* Lets go of the client. */
static void exchange_leave(struct exchange *e) {
        if (e->request)
                evhttp_connection_set_closecb(evhttp_request_get_connection(e->request), NULL, NULL);
        e->request = NULL;
        if (e->gone)
                event_free(TAKE_PTR(e->gone));
        if (e->primes)
                event_free(TAKE_PTR(e->primes));
}

static void exchange_free(struct exchange *e) {
        for (struct exchange **at = &e->channel->exchanges; *at; at = &(*at)->next)
                if (*at == e) {
                        *at = e->next;
                        break;
                }
        e->channel->used = now_s();
        exchange_leave(e);
        while (e->kept)
                drop_kept(e, &e->kept);
        free(e->id);
        free(e->progress_token);
        free(e);
}

/* A request that nobody has answered in whole is no longer the connection's.  A session's server goes on, as
 * its versions have it; one for this request ends, and so does what it does. */
static void connection_closed(nsrun_unused struct evhttp_connection *connection, void *data) {
        struct exchange *e = data;
        struct channel *c = e->channel;
        struct evhttp_request *r = TAKE_PTR(e->request);

        exchange_leave(e);
        if (!evhttp_request_get_connection(r))
                evhttp_request_free(r);
        if (!c->session[0] || !e->id)
                exchange_free(e);
        if (!c->session[0])
                channel_free(c);
}

static void stream_begin(struct exchange *e) {
        struct bufferevent *to;

        if (e->is_stream)
                return;
        to = sending_begin(e->request);
        e->is_stream = true;
        if (e->tells_session)
                add_header(e->request, "Mcp-Session-Id", e->channel->session);
        add_header(e->request, "Content-Type", "text/event-stream");
        add_header(e->request, "Cache-Control", "no-store");
        add_header(e->request, "X-Accel-Buffering", "no");
        evhttp_send_reply_start(e->request, HTTP_OK, NULL);
        sending_begun(to);
}

/* Whether the client takes what it is sent: who doesn't goes without what nobody waits for. */
static bool client_takes(const struct exchange *e) {
        struct bufferevent *to =
                evhttp_connection_get_bufferevent(evhttp_request_get_connection(e->request));

        return evbuffer_get_length(bufferevent_get_output(to)) < STREAM_MOST;
}

static void stream_write(struct exchange *e, const char *fields, const char *text) {
        struct evbuffer *event = evbuffer_new();
        struct bufferevent *to;

        stream_begin(e);
        to = sending_begin(e->request);
        if (event && evbuffer_add_printf(event, "%s%s\n\n", fields, text) > 0)
                evhttp_send_reply_chunk(e->request, event);
        sending_begun(to);
        if (event)
                evbuffer_free(event);
}

static void stream_send(struct exchange *e, unsigned number, const char *text) {
        char fields[64] = "data: ";

        if (e->channel->session[0] && e->id)
                (void)snprintf(fields, sizeof(fields), "id: %u-%u\ndata: ", e->number, number);
        stream_write(e, fields, text);
}

/* Makes room: the oldest of what nobody waits for goes first, then the oldest answers. */
static bool make_kept_room(struct channel *c, size_t n) {
        for (unsigned round = 0; round < 2 && n <= KEPT_MOST; round++)
                while (c->n_kept + n > KEPT_MOST) {
                        struct kept_event **at = NULL;
                        struct exchange *of = NULL;

                        for (struct exchange *e = c->exchanges; e; e = e->next)
                                for (struct kept_event **k = &e->kept; *k; k = &(*k)->next)
                                        if (round > 0 || !(*k)->is_answer) {
                                                at = k;
                                                of = e;
                                                break;
                                        }
                        if (!at)
                                break;
                        drop_kept(of, at);
                        if (of->is_done && !of->kept)
                                exchange_free(of);
                }
        return c->n_kept + n <= KEPT_MOST;
}

/* Keeps an event of a session's stream, whose client may come back, and numbers it. */
static unsigned stream_keep(struct exchange *e, const char *text, bool is_answer) {
        size_t n = sizeof(struct kept_event) + strlen(text) + 1;
        struct kept_event *event, **at = &e->kept;

        e->n_events++;
        if (!e->channel->session[0] || !e->id || !make_kept_room(e->channel, n) || !(event = malloc(n)))
                return e->n_events;
        *event = (struct kept_event){.number = e->n_events, .is_answer = is_answer, .n = n};
        strcpy(event->text, text);
        e->channel->n_kept += n;
        while (*at)
                at = &(*at)->next;
        *at = event;
        return e->n_events;
}

/* An event without a message, by whose id the client can come back. */
static void stream_prime(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        struct exchange *e = data;

        if (!e->is_stream)
                stream_send(e, 0, "");
}

/* While a request is answered evhttp doesn't read from its client.  It is looked at by the clock: what waits
 * for its end alone would be woken by a reset for ever.  That it sends no more may be its end, or half of
 * it: to whom a comment can't be written has gone, which evhttp sees. */
static void look_for_end(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        struct exchange *e = data;
        struct evhttp_connection *connection = evhttp_request_get_connection(e->request);
        struct pollfd client = {.fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection)),
                                .events = POLLRDHUP};

        if (sys_poll(&client, 1, 0) <= 0)
                return;
        if (client.revents & (POLLERR | POLLHUP))
                evhttp_connection_free(connection);
        else if ((client.revents & POLLRDHUP) && client_takes(e))
                stream_write(e, ":", "");
}

/* The errors of JSON-RPC that have a status of HTTP's, too. */
static int http_status_of(const struct exchange *e, const struct json_value *response) {
        const struct json_value *error = json_get(response, "error");
        _cleanup_free_ char *code = error ? json_spell(json_get(error, "code")) : NULL;
        int number = code ? atoi(code) : 0;

        if (e->channel->session[0])
                return HTTP_OK;
        return number == MESSAGE_NO_METHOD       ? HTTP_NOTFOUND
               : number == MESSAGE_NO_CAPABILITY ? HTTP_BADREQUEST
                                                 : HTTP_OK;
}

/* The answer, which a client that was sent an id can come back for. */
static void exchange_end(struct exchange *e, int status, const char *text) {
        struct evhttp_request *r = e->request;
        bool is_stream = e->is_stream;
        unsigned number = is_stream && text ? stream_keep(e, text, true) : 0;

        if (r && is_stream && text)
                stream_send(e, number, text);
        else if (r && e->tells_session)
                add_header(r, "Mcp-Session-Id", e->channel->session);
        e->is_done = true;
        e->channel->used = now_s();
        free(TAKE_PTR(e->progress_token));
        exchange_leave(e);
        if (!e->kept)
                exchange_free(e);
        if (r && is_stream) {
                struct bufferevent *to = sending_begin(r);

                evhttp_send_reply_end(r);
                sending_begun(to);
        } else if (r) {
                answer_json(r, status, text);
        }
}

bool channel_awaits(const struct channel *c, const char *id) {
        for (const struct exchange *e = c->exchanges; e; e = e->next)
                if (!e->is_done && (id ? e->id && streq(e->id, id) : !e->id))
                        return true;
        return false;
}

/* Whether anybody waits. */
static bool channel_is_busy(const struct channel *c) {
        const struct exchange *e = c->exchanges;

        while (e && e->is_done)
                e = e->next;
        return e;
}

static bool exchange_watch(struct exchange *e, struct evhttp_request *r) {
        struct evhttp_connection *connection = evhttp_request_get_connection(r);
        static const struct timeval every = {.tv_usec = PROBE_MS * 1000};

        e->gone = event_new(e->channel->server->base, -1, EV_PERSIST, look_for_end, e);
        if (!e->gone || event_add(e->gone, &every) < 0)
                return false;
        e->request = r;
        evhttp_connection_set_closecb(connection, connection_closed, e);
        return true;
}

static void refuse_for_memory(struct evhttp_request *r, const char *id) {
        http_refuse(r, HTTP_SERVUNAVAIL, id, MESSAGE_FAILED, "out of memory", NULL);
}

bool exchange_begin(struct channel *c, struct evhttp_request *r, const struct message *m, const char *line,
                    bool can_come_back) {
        static const struct timeval pause = {.tv_sec = PRIME_MS / 1000};
        const struct json_value *token = m ? json_get(json_get(m->params, "_meta"), "progressToken") : NULL;
        struct exchange *e = calloc(1, sizeof(*e));

        if (e) {
                *e = (struct exchange){.next = c->exchanges, .channel = c, .number = ++c->n_streams};
                c->exchanges = e;
                e->id = m ? strdup(m->id) : NULL;
                e->progress_token = token ? json_spell(token) : NULL;
                if (m && can_come_back)
                        e->primes = event_new(c->server->base, -1, 0, stream_prime, e);
        }
        if (!e || (m && !e->id) || !exchange_watch(e, r)) {
                if (e)
                        exchange_free(e);
                refuse_for_memory(r, m ? m->id : NULL);
                return false;
        }
        if (e->primes)
                (void)event_add(e->primes, &pause);
        e->tells_session = m && c->session[0] && streq(m->method, "initialize");
        if (m)
                channel_send(c, line);
        else
                stream_begin(e);
        return true;
}

bool exchange_resume(struct channel *c, struct evhttp_request *r, const char *last_event) {
        unsigned stream, number;
        struct exchange *e = c->exchanges;
        struct evhttp_request *before;

        if (sscanf(last_event, "%u-%u", &stream, &number) != 2)
                return false;
        while (e && (e->number != stream || !e->is_stream || !e->id))
                e = e->next;
        if (!e)
                return false;
        before = e->request;
        exchange_leave(e);
        if (before)
                evhttp_send_reply_end(before);
        e->is_stream = false;
        if (!exchange_watch(e, r)) {
                refuse_for_memory(r, NULL);
                e->is_stream = true;
                return true;
        }
        stream_begin(e);
        for (const struct kept_event *k = e->kept; k; k = k->next)
                if (k->number > number)
                        stream_send(e, k->number, k->text);
        if (e->is_done) {
                exchange_leave(e);
                evhttp_send_reply_end(r);
        }
        return true;
}

/* ----------------------------------------------------------------------------- channels */

/* 256 bits by lot, in hexadecimal. */
static bool http_draw(char ret[HTTP_TOKEN_SIZE]) {
        unsigned char lot[(HTTP_TOKEN_SIZE - 1) / 2];

        if (getrandom(lot, sizeof(lot), 0) != (ssize_t)sizeof(lot))
                return false;
        str_hex(lot, sizeof(lot), ret);
        return true;
}

void channel_send(struct channel *c, const char *line) {
        c->used = now_s();
        (void)bufferevent_write(c->lines, line, strlen(line));
        (void)bufferevent_write(c->lines, "\n", 1);
}

void channel_free(struct channel *c) {
        struct http_server *s = c->server;

        while (c->exchanges) {
                struct exchange *e = c->exchanges;
                _cleanup_free_ char *text =
                        e->id ? message_error(e->id, MESSAGE_FAILED, "the server has ended", NULL) : NULL;

                if (!e->is_done)
                        exchange_end(e, HTTP_SERVUNAVAIL, text);
                if (e == c->exchanges)
                        exchange_free(e);
        }
        for (struct channel **at = &s->channels; *at; at = &(*at)->next)
                if (*at == c) {
                        *at = c->next;
                        break;
                }
        s->n_channels--;
        s->n_sessions -= c->session[0] != '\0';
        bufferevent_free(c->lines);
        reader_clear(&c->reader);
        free(c);
}

/* To whom a message goes that is no answer: whose progress it is; else the newest request that waits, or the
 * session's stream. */
static struct exchange *receiver_of(const struct channel *c, const struct json_value *message) {
        const struct json_value *token = json_get(json_get(message, "params"), "progressToken");
        _cleanup_free_ char *text = token ? json_spell(token) : NULL;
        struct exchange *stream = NULL, *newest = NULL;

        for (struct exchange *e = c->exchanges; e; e = e->next) {
                if (e->is_done)
                        continue;
                if (!e->id)
                        stream = e;
                else if (!newest && e->request)
                        newest = e;
                if (text && e->progress_token && streq(e->progress_token, text))
                        return e;
        }
        return text ? NULL : newest ? newest : stream;
}

static void channel_take(struct channel *c, const char *line, size_t n) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *id = NULL, *text = NULL;
        struct exchange *e;

        if (json_parse(&d, line, n, NULL, NULL) < 0 || !(text = strndup(line, n)))
                return;
        id = message_id(d.root);
        if (json_has(d.root, "method")) {
                unsigned number;

                e = receiver_of(c, d.root);
                if (!e || (!e->request && !e->is_stream))
                        return;
                number = stream_keep(e, text, false);
                if (e->request && (id || client_takes(e)))
                        stream_send(e, number, text);
                return;
        }
        for (e = c->exchanges; e; e = e->next)
                if (!e->is_done && e->id && (!id || streq(e->id, id))) {
                        exchange_end(e, id ? http_status_of(e, d.root) : HTTP_SERVUNAVAIL, text);
                        break;
                }
        c->has_ended |= !c->session[0] && !c->exchanges;
}

static void lines_ready(struct bufferevent *lines, void *data) {
        struct channel *c = data;
        char chunk[16384];
        const char *line;
        size_t n;
        int r = 0;

        while ((n = bufferevent_read(lines, chunk, sizeof(chunk))) > 0 && !c->has_ended) {
                r = reader_add(&c->reader, chunk, n);
                while (r >= 0 && !c->has_ended && (r = reader_next(&c->reader, false, &line, &n)) == 1)
                        channel_take(c, line, n);
                if (r < 0)
                        break;
        }
        if (r < 0 || c->has_ended)
                channel_free(c);
}

static void lines_ended(nsrun_unused struct bufferevent *lines, nsrun_unused short what, void *data) {
        channel_free(data);
}

/* The session that nobody has used for longest, and nobody waits for: of those of one second the oldest. */
static bool end_a_session(struct http_server *s) {
        struct channel *oldest = NULL;

        for (struct channel *c = s->channels; c; c = c->next)
                if (c->session[0] && !channel_is_busy(c) && (!oldest || c->used <= oldest->used))
                        oldest = c;
        if (oldest)
                channel_free(oldest);
        return oldest != NULL;
}

struct channel *channel_new(struct http_server *s, bool is_session) {
        const char wanted = is_session ? HTTP_WANTS_SESSION : HTTP_WANTS_REQUEST;
        _cleanup_close_ int own = -EBADF, other = -EBADF;
        struct channel *c = NULL;
        int pair[2];

        if ((is_session && s->n_sessions >= HTTP_SESSIONS_MOST && !end_a_session(s)) ||
            s->n_channels >= HTTP_SERVERS_MOST ||
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return NULL;
        own = pair[0];
        other = pair[1];
        c = calloc(1, sizeof(*c));
        if (!c || evutil_make_socket_nonblocking(own) < 0 || (is_session && !http_draw(c->session)) ||
            sys_send_fds(HTTP_FD_CONTROL, &wanted, 1, &other, 1) < 0 ||
            !(c->lines = bufferevent_socket_new(s->base, own, BEV_OPT_CLOSE_ON_FREE))) {
                free(c);
                return NULL;
        }
        (void)TAKE_FD(own);
        c->server = s;
        c->used = now_s();
        c->next = s->channels;
        s->channels = c;
        s->n_channels++;
        s->n_sessions += is_session;
        bufferevent_setcb(c->lines, lines_ready, NULL, lines_ended, c);
        (void)bufferevent_enable(c->lines, EV_READ | EV_WRITE);
        return c;
}

struct channel *channel_find(struct http_server *s, const char *session) {
        for (struct channel *c = s->channels; c; c = c->next)
                if (c->session[0] && streq(c->session, session))
                        return c;
        return NULL;
}

void channels_end_idle(struct http_server *s) {
        time_t now = now_s();

        for (struct channel *c = s->channels, *next; c; c = next) {
                next = c->next;
                if (c->session[0] && !channel_is_busy(c) && now - c->used >= HTTP_SESSION_IDLE_S)
                        channel_free(c);
        }
}
