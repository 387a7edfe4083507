/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One request of the sandbox's: made anew for the key's host, with the key, and its answer passed on as it
 * comes, without.  evhttp and libcurl read and frame what passes: no byte of a request's or an answer's
 * head goes through as it came. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <strings.h>

#include "base/str.h"
#include "net/layout.h"
#include "server.h"
#include "wire.h"

#define LOOK_MS 250

struct exchange {
        struct transfer transfer; /* first, as CURLOPT_PRIVATE is one */
        struct key_port *port;
        const struct key_use *use;
        struct evhttp_request *request; /* NULL: the client has gone */
        struct event *looks;            /* at the client */
        CURL *easy;
        struct curl_slist *headers;
        struct mask_held held;
        int status;
        bool is_begun, is_paused;
        bool is_framed; /* the answer's length isn't its Content-Length */
};

static struct evkeyvalq *answer_headers(const struct exchange *e) {
        return evhttp_request_get_output_headers(e->request);
}

static void exchange_drop(struct exchange *e) {
        if (e->request)
                evhttp_connection_set_closecb(evhttp_request_get_connection(e->request), NULL, NULL);
        if (e->looks)
                event_free(e->looks);
        if (e->is_paused)
                (void)curl_easy_pause(e->easy, CURLPAUSE_CONT);
        if (e->easy)
                upstream_remove(e->port->server, e->easy);
        if (e->request)
                body_drop(e->request);
        for (struct curl_slist *i = e->headers; i; i = i->next)
                explicit_bzero(i->data, strlen(i->data));
        curl_slist_free_all(e->headers);
        mask_held_clear(&e->held);
        e->port->server->n_exchanges--;
        free(e);
}

/* ------------------------------------------------------------------- the request */

/* Takes over a line. */
static int exchange_add_line(struct exchange *e, char *line) {
        struct curl_slist *longer = line ? curl_slist_append(e->headers, line) : NULL;

        if (line)
                explicit_bzero(line, strlen(line));
        free(line);
        if (longer)
                e->headers = longer;
        return longer ? 0 : -ENOMEM;
}

static int exchange_add_header(void *exchange, const char *name, const char *value) {
        return exchange_add_line(exchange,
                                 *value ? str_concat(name, ": ", value) : str_concat(name, ";", ""));
}

static int add_headers(struct exchange *e) {
        /* What curl would add by itself, and who asked didn't say. */
        static const char *const unsaid[] = {"Accept", "User-Agent", "Content-Type"};
        struct evkeyvalq *said = evhttp_request_get_input_headers(e->request);
        int r = exchange_add_line(e, strdup("Expect:"));

        for (size_t i = 0; i < ARRAY_SIZE(unsaid) && r >= 0; i++)
                if (!evhttp_find_header(said, unsaid[i]))
                        r = exchange_add_line(e, str_concat(unsaid[i], ":", ""));
        return r < 0 ? r : request_headers(e->request, e->port, e->use, exchange_add_header, e);
}

/* -------------------------------------------------------------------- the answer */

/* Where the answer leads back to the same host it leads to the port inside. */
static char *lead_inside(const struct exchange *e, const char *value) {
        const struct key_use *use = e->use;
        _cleanup_free_ char *with_port = str_format("https://%s:%u/", use->host, (unsigned)use->port),
                            *host = str_format("https://%s/", use->host),
                            *inside = str_format("http://127.0.0.1:%u/", (unsigned)e->port->number);
        _cleanup_strbuf_ struct strbuf b = {0};

        if (!with_port || !host || !inside)
                return NULL;
        while (*value) {
                const char *rest = startswith(value, with_port);

                if (!rest && use->port == 443)
                        rest = startswith(value, host);
                if (rest)
                        strbuf_add(&b, inside);
                else
                        strbuf_add_bytes(&b, value, 1);
                value = rest ? rest : value + 1;
        }
        return strbuf_finish(&b);
}

static bool is_dropped_from_answer(const char *name) {
        static const char *const names[] = {"alt-svc",
                                            "connection",
                                            "keep-alive",
                                            "proxy-connection",
                                            "strict-transport-security",
                                            "trailer",
                                            "transfer-encoding",
                                            "upgrade"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcasecmp(name, names[i]) == 0)
                        return true;
        return false;
}

static int add_answer_header(struct exchange *e, char *line) {
        static const char *const leading[] = {"location", "content-location", "link"};
        _cleanup_free_ char *text = NULL;
        char *colon = strchr(line, ':');
        const char *value;
        bool leads = false;

        /* Neither obs-fold nor what isn't a header gets through. */
        if (!colon)
                return 0;
        *colon = '\0';
        value = colon + 1 + strspn(colon + 1, " \t");
        e->is_framed |= strcasecmp(line, "transfer-encoding") == 0;
        if (!is_field_name(line) || !is_field_text(value) || is_dropped_from_answer(line) ||
            mask_finds(&e->port->mask, line))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(leading); i++)
                leads |= strcasecmp(line, leading[i]) == 0;
        text = leads ? lead_inside(e, value) : strdup(value);
        if (!text)
                return -ENOMEM;
        mask_text(&e->port->mask, text);
        return evhttp_add_header(answer_headers(e), line, text) < 0 ? -ENOMEM : 0;
}

static void answer_begin(struct exchange *e) {
        struct evkeyvalq *to = answer_headers(e);
        curl_off_t up = 0;
        long asked = 0, head = 0;

        /* It was decoded. */
        e->is_framed |= evhttp_remove_header(to, "Content-Encoding") == 0;
        if (e->is_framed)
                (void)evhttp_remove_header(to, "Content-Length");
        e->is_begun = true;
        (void)curl_easy_getinfo(e->easy, CURLINFO_SIZE_UPLOAD_T, &up);
        (void)curl_easy_getinfo(e->easy, CURLINFO_REQUEST_SIZE, &asked);
        (void)curl_easy_getinfo(e->easy, CURLINFO_HEADER_SIZE, &head);
        port_tell(e->port, &(struct net_key_used){.is_begun = true,
                                                  .sent = (uint64_t)up + (uint64_t)asked,
                                                  .received = (uint64_t)head});
        evhttp_send_reply_start(e->request, e->status, NULL);
}

/* libcurl's: one line of an answer's head; of several heads (1xx) the last counts. */
static size_t take_head(char *bytes, size_t size, size_t n, void *data) {
        struct exchange *e = data;
        _cleanup_free_ char *line = NULL;
        size_t all = size * n, length = all;

        if (!e->request)
                return 0;
        if (e->is_begun)
                return all; /* a trailer */
        while (length > 0 && strchr("\r\n", bytes[length - 1]))
                length--;
        line = strndup(bytes, length);
        if (!line)
                return 0;
        if (startswith(line, "HTTP/")) {
                const char *code = strchr(line, ' ');

                evhttp_clear_headers(answer_headers(e));
                e->is_framed = false;
                e->status = code ? atoi(code + 1) : 0;
                return all;
        }
        if (length > 0)
                return add_answer_header(e, line) < 0 ? 0 : all;
        if (e->status >= 200 && e->status <= 599)
                answer_begin(e);
        return all;
}

static void client_took(nsrun_unused struct evhttp_connection *connection, void *data) {
        struct exchange *e = data;

        if (!e->is_paused)
                return;
        e->is_paused = false;
        (void)curl_easy_pause(e->easy, CURLPAUSE_CONT);
}

static int exchange_pass_on(struct exchange *e, const char *bytes, size_t n) {
        struct evbuffer *buffer = evbuffer_new();
        size_t length = 0;
        char *passed = mask_feed(&e->port->mask, &e->held, bytes, n, &length);
        int r = buffer && passed && evbuffer_add(buffer, passed, length) == 0 ? 0 : -ENOMEM;

        port_tell(e->port, &(struct net_key_used){.received = n});
        if (r >= 0 && length > 0)
                evhttp_send_reply_chunk_with_cb(e->request, buffer, client_took, e);
        if (buffer)
                evbuffer_free(buffer);
        free(passed);
        return r;
}

/* libcurl's: bytes of an answer's body. */
static size_t take_body(char *bytes, size_t size, size_t n, void *data) {
        struct exchange *e = data;
        struct bufferevent *to;

        if (!e->request || !e->is_begun)
                return 0;
        to = evhttp_connection_get_bufferevent(evhttp_request_get_connection(e->request));
        if (evbuffer_get_length(bufferevent_get_output(to)) >= UNTAKEN_MOST) {
                e->is_paused = true;
                return CURL_WRITEFUNC_PAUSE;
        }
        return exchange_pass_on(e, bytes, size * n) < 0 ? 0 : size * n;
}

static void exchange_finish(struct transfer *transfer, CURLcode result) {
        struct exchange *e = (struct exchange *)transfer;
        struct evhttp_request *r = e->request;
        bool is_whole = result == CURLE_OK && e->is_begun && exchange_pass_on(e, NULL, 0) >= 0;

        if (!e->is_begun)
                port_tell(e->port, &(struct net_key_used){.is_failed = true});
        if (is_whole) {
                exchange_drop(e);
                evhttp_send_reply_end(r);
        } else if (e->is_begun) {
                /* The client is to see that the rest is missing. */
                struct evhttp_connection *connection = evhttp_request_get_connection(r);

                exchange_drop(e);
                evhttp_connection_free(connection);
        } else {
                const struct key_use *use = e->use;

                evhttp_clear_headers(answer_headers(e));
                exchange_drop(e);
                answer_host(r, use, 502,
                            result == CURLE_WRITE_ERROR ? "its answer is none" : curl_easy_strerror(result));
        }
}

/* --------------------------------------------------------------------- its life */

/* evhttp has failed to write.  A request that nobody has answered yet is no longer the connection's, then.
 */
static void exchange_closed(nsrun_unused struct evhttp_connection *connection, void *data) {
        struct exchange *e = data;
        struct evhttp_request *r = TAKE_PTR(e->request);

        exchange_drop(e);
        if (!evhttp_request_get_connection(r))
                evhttp_request_free(r);
}

/* While a request is answered evhttp doesn't read, and hears nothing of a client that has gone.  Looked at
 * by the clock: what waits for its end alone would be woken by a reset for ever. */
static void look_at_client(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        struct exchange *e = data;
        struct evhttp_connection *connection = evhttp_request_get_connection(e->request);
        struct pollfd client = {.fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection)),
                                .events = POLLRDHUP};

        if (sys_poll(&client, 1, 0) <= 0)
                return;
        exchange_drop(e);
        evhttp_connection_free(connection);
}

static int watch_client(struct exchange *e) {
        static const struct timeval every = {.tv_usec = LOOK_MS * 1000};

        e->looks = event_new(e->port->server->base, -1, EV_PERSIST, look_at_client, e);
        if (!e->looks || event_add(e->looks, &every) < 0)
                return -ENOMEM;
        evhttp_connection_set_closecb(evhttp_request_get_connection(e->request), exchange_closed, e);
        return 0;
}

static CURLcode set_request(struct exchange *e, const char *method, const char *target) {
        struct evbuffer *body = evhttp_request_get_input_buffer(e->request);
        size_t n = evbuffer_get_length(body);
        bool has_body = n > 0 || STR_IS_ANY(method, ((const char *const[]){"POST", "PUT", "PATCH"}));
        CURLcode r = curl_easy_setopt(e->easy, CURLOPT_REQUEST_TARGET, target);

        if (streq(method, "HEAD"))
                r |= curl_easy_setopt(e->easy, CURLOPT_NOBODY, 1L);
        if (has_body) {
                r |= curl_easy_setopt(e->easy, CURLOPT_POST, 1L);
                r |= curl_easy_setopt(e->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
                /* evhttp's own bytes, which stay as long as the exchange. */
                r |= curl_easy_setopt(e->easy, CURLOPT_POSTFIELDS,
                                      n > 0 ? (const char *)evbuffer_pullup(body, -1) : "");
        }
        r |= curl_easy_setopt(e->easy, CURLOPT_CUSTOMREQUEST, method);
        r |= curl_easy_setopt(e->easy, CURLOPT_HTTPHEADER, e->headers);
        r |= curl_easy_setopt(e->easy, CURLOPT_HEADERFUNCTION, take_head);
        r |= curl_easy_setopt(e->easy, CURLOPT_HEADERDATA, e);
        r |= curl_easy_setopt(e->easy, CURLOPT_WRITEFUNCTION, take_body);
        r |= curl_easy_setopt(e->easy, CURLOPT_WRITEDATA, e);
        r |= curl_easy_setopt(e->easy, CURLOPT_PRIVATE, &e->transfer);
        return r;
}

/* 0, or -errno with the request as it was. */
static int exchange_ask(struct exchange *e, const char *method, const char *target) {
        _cleanup_secret_ char *with_key = NULL;
        int r = add_headers(e);

        if (r < 0)
                return r;
        if (e->use->form == KEY_IN_QUERY && !(with_key = credential_target(e->use, e->port->value, target)))
                return -ENOMEM;
        e->easy = upstream_handle(e->port);
        if (!e->easy || set_request(e, method, with_key ? with_key : target) != CURLE_OK)
                return -ENOMEM;
        r = upstream_add(e->port->server, e->easy);
        return r < 0 ? r : watch_client(e);
}

static int exchange_start(struct evhttp_request *r, struct key_port *port, const struct key_use *use,
                          const char *method) {
        struct exchange *e = calloc(1, sizeof(*e));
        int begun;

        if (!e)
                return -ENOMEM;
        /* The end of an answer whose length isn't known is the connection's, for HTTP/1.0. */
        if (r->major == 1 && r->minor == 0)
                (void)evhttp_remove_header(evhttp_request_get_input_headers(r), "Connection");
        *e = (struct exchange){.transfer = {exchange_finish}, .port = port, .use = use, .request = r};
        port->server->n_exchanges++;
        begun = exchange_ask(e, method, evhttp_request_get_uri(r));
        if (begun < 0)
                exchange_drop(e);
        return begun;
}

void exchange_take(struct evhttp_request *r, void *data) {
        struct key_port *port = data;
        const char *method = request_method(r), *target = evhttp_request_get_uri(r);
        const struct key_use *use = method && is_target(target) ? find_use(port, method, target) : NULL;
        int begun;

        if (!method || !is_target(target)) {
                answer_text(r, HTTP_BADREQUEST, "only paths of the key's host are asked for here");
                return;
        }
        if (!use) {
                answer_text(r, 403, "no use of this key lets it be sent so (--key-use)");
                return;
        }
        if (port->server->n_exchanges >= EXCHANGES_MOST) {
                answer_text(r, HTTP_SERVUNAVAIL, "too much is asked for at once");
                return;
        }
        begun = opening_is_asked_for(r) ? websocket_begin(r, port, use)
                                        : exchange_start(r, port, use, method);
        if (begun >= 0)
                return;
        if (begun == -EBADMSG)
                answer_text(r, HTTP_BADREQUEST, "a header has what none has");
        else
                answer_text(r, HTTP_SERVUNAVAIL, "out of memory");
}
