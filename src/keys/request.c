/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What exchanges and WebSockets do alike: which use a request has, what of its head goes on to the host, and
 * what nsrun answers by itself. */
#include <ctype.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include "base/str.h"
#include "net/layout.h"
#include "server.h"
#include "wire.h"

void answer_text(struct evhttp_request *r, int status, const char *text) {
        struct evbuffer *body = evbuffer_new();

        body_drop(r);
        if (body)
                (void)evbuffer_add_printf(body, "nsrun: %s\n", text);
        (void)evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type",
                                "text/plain; charset=utf-8");
        evhttp_send_reply(r, status, NULL, body);
        if (body)
                evbuffer_free(body);
}

void answer_host(struct evhttp_request *r, const struct key_use *use, int status, const char *what) {
        _cleanup_free_ char *text =
                str_format("%s:%u, which has the key %s, %s%s", use->host, (unsigned)use->port, use->name,
                           status == 502 ? "isn't reached: " : "", what);

        answer_text(r, status, text ? text : "out of memory");
}

void port_tell(const struct key_port *port, struct net_key_used *used) {
        used->port = port->number;
        (void)send(KEYS_FD_SOCKETS, used, sizeof(*used), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool is_same_header(const char *a, const char *b) {
        for (; *a && *b; a++, b++)
                if (tolower(*a == '_' ? '-' : (unsigned char)*a) !=
                    tolower(*b == '_' ? '-' : (unsigned char)*b))
                        return false;
        return *a == *b;
}

bool is_field_name(const char *name) {
        for (const char *at = name; *at; at++)
                if (*at <= ' ' || *at > '~' || strchr("()<>@,;:\\\"/[]?={}", *at))
                        return false;
        return *name;
}

bool is_field_text(const char *text) {
        for (const char *at = text; *at; at++)
                if ((*at >= 0 && *at < ' ' && *at != '\t') || *at == 0x7f)
                        return false;
        return true;
}

/* What is said of one connection alone, what curl says itself, what would make a server take the request for
 * one with another method or path; and parts of an answer, in which parts of a key could be. */
static bool is_dropped(const char *name) {
        static const char *const names[] = {
                "accept-encoding",
                "connection",
                "content-length",
                "expect",
                "host",
                "http2-settings",
                "if-range",
                "keep-alive",
                "proxy-authorization",
                "proxy-connection",
                "range",
                "request-range",
                "te",
                "trailer",
                "transfer-encoding",
                "upgrade",
                "x-http-method",
                "x-http-method-override",
                "x-method-override",
                "x-original-uri",
                "x-original-url",
                "x-rewrite-url",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (is_same_header(name, names[i]))
                        return true;
        return false;
}

int request_headers(struct evhttp_request *r, const struct key_port *port, const struct key_use *use,
                    add_header_fn *add, void *data) {
        struct evkeyvalq *said = evhttp_request_get_input_headers(r);
        _cleanup_secret_ char *line = NULL;
        int done = 0;

        for (const struct evkeyval *h = said->tqh_first; h && done >= 0; h = h->next.tqe_next) {
                if (!is_field_name(h->key) || !is_field_text(h->value))
                        return -EBADMSG;
                if (!is_dropped(h->key) &&
                    (use->form == KEY_IN_QUERY || !is_same_header(h->key, use->field)))
                        done = add(data, h->key, h->value);
        }
        if (done < 0 || use->form == KEY_IN_QUERY)
                return done;
        line = credential_value(use, port->value);
        return line ? add(data, use->field, line) : -ENOMEM;
}

const char *request_method(struct evhttp_request *r) {
        switch (evhttp_request_get_command(r)) {
        case EVHTTP_REQ_GET:
                return "GET";
        case EVHTTP_REQ_HEAD:
                return "HEAD";
        case EVHTTP_REQ_POST:
                return "POST";
        case EVHTTP_REQ_PUT:
                return "PUT";
        case EVHTTP_REQ_PATCH:
                return "PATCH";
        case EVHTTP_REQ_DELETE:
                return "DELETE";
        case EVHTTP_REQ_OPTIONS:
                return "OPTIONS";
        default:
                return NULL;
        }
}

bool is_target(const char *target) {
        if (!target || target[0] != '/')
                return false;
        for (const char *at = target; *at; at++)
                if (*at <= ' ' || *at > '~' || *at == '#')
                        return false;
        return true;
}

const struct key_use *find_use(const struct key_port *port, const char *method, const char *target) {
        for (size_t i = 0; i < port->n_uses; i++)
                if (key_use_covers(&port->uses[i], method, target))
                        return &port->uses[i];
        return NULL;
}
