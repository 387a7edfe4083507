/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A request's headers and body: who may ask, and which server is to answer. */
#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <strings.h>

#include "base/str.h"
#include "mcp/peer.h"
#include "mcp/terms.h"
#include "server.h"

#define PATH "/mcp"

enum {
        STATUS_UNAUTHORISED = 401,
        STATUS_FORBIDDEN = 403,
        STATUS_NOT_ACCEPTABLE = 406,
        STATUS_UNSUPPORTED_TYPE = 415,
        STATUS_ACCEPTED = 202,
};

/* ------------------------------------------------------------------------------ headers */

/* A header's value; NULL: it isn't there. */
static const char *header(struct evhttp_request *r, const char *name) {
        return evhttp_find_header(evhttp_request_get_input_headers(r), name);
}

/* A header that is judged may be there once: a proxy in front might judge another copy of it. */
static const char *repeated_header(struct evhttp_request *r) {
        static const char *const judged[] = {
                "Host",           "Origin",         "Authorization",        "Content-Type",
                "Mcp-Method",     "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Name",
                "Content-Length", "Last-Event-ID"};

        for (size_t i = 0; i < ARRAY_SIZE(judged); i++) {
                const struct evkeyval *h;
                unsigned n = 0;

                for (h = evhttp_request_get_input_headers(r)->tqh_first; h; h = h->next.tqe_next)
                        n += strcasecmp(h->key, judged[i]) == 0;
                if (n > 1)
                        return judged[i];
        }
        return NULL;
}

/* Whether `text` is PREFIX and this server's address. */
static bool is_own_address(const struct http_server *s, const char *prefix, const char *text) {
        static const char *const names[] = {"127.0.0.1", "localhost"};

        for (size_t i = 0; text && i < ARRAY_SIZE(names); i++) {
                char own[64];

                (void)snprintf(own, sizeof(own), "%s%s:%u", prefix, names[i], s->start.port);
                if (strcasecmp(own, text) == 0)
                        return true;
        }
        return false;
}

/* Compares the tokens in a time that does not depend on the byte in which they differ. */
bool http_has_token(const struct http_server *s, const char *authorization) {
        const char *given =
                authorization && strncasecmp(authorization, "Bearer ", 7) == 0 ? authorization + 7 : NULL;
        volatile unsigned char differs = 0;

        if (!given || strlen(given) != HTTP_TOKEN_SIZE - 1)
                return false;
        for (size_t i = 0; i < HTTP_TOKEN_SIZE - 1; i++)
                differs |= (unsigned char)(given[i] ^ s->start.token[i]);
        return differs == 0;
}

/* Whether the client may ask at all; it was answered, if not. */
static bool judge_client(struct http_server *s, struct evhttp_request *r) {
        int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(evhttp_request_get_connection(r)));
        const char *why = NULL;

        if (repeated_header(r)) {
                http_refuse(r, HTTP_BADREQUEST, NULL, MESSAGE_BAD_REQUEST, "a header is there twice", NULL);
                return false;
        }
        if (s->start.port == 0) {
                why = peer_judge(fd);
                if (!why && header(r, "Origin"))
                        why = "no web page may ask";
        } else if (!is_own_address(s, "", header(r, "Host"))) {
                why = "the Host is another one than this server";
        } else if (header(r, "Origin") && !is_own_address(s, "http://", header(r, "Origin"))) {
                why = "no other web page may ask";
        }
        if (why) {
                http_refuse(r, STATUS_FORBIDDEN, NULL, MESSAGE_BAD_REQUEST, why, NULL);
                return false;
        }
        if (s->start.port != 0 && !http_has_token(s, header(r, "Authorization"))) {
                (void)evhttp_add_header(evhttp_request_get_output_headers(r), "WWW-Authenticate", "Bearer");
                http_refuse(r, STATUS_UNAUTHORISED, NULL, MESSAGE_BAD_REQUEST,
                            "the token is missing or wrong", NULL);
                return false;
        }
        unknown_client_asks(s, fd);
        return true;
}

static bool accepts(struct evhttp_request *r, const char *type) {
        const char *accept = header(r, "Accept");

        return accept && (strcasestr(accept, type) || strstr(accept, "*/*"));
}

/* --------------------------------------------- requests that stand for themselves */

static int base64_digit(char c) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = c ? strchr(digits, c) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* The text that a header stands for, which may be =?base64?...?=, for the caller to free; NULL: none. */
static char *header_text(const char *value) {
        const char *from = startswith(value, "=?base64?");
        size_t n = strlen(value), length = 0;
        unsigned bits = 0, n_bits = 0;
        char *text = strdup(value);

        if (!text || !from || n < strlen("=?base64?") + 2 || !streq(value + n - 2, "?="))
                return text;
        for (; *from && *from != '=' && *from != '?'; from++) {
                int digit = base64_digit(*from);

                if (digit < 0) {
                        free(text);
                        return NULL;
                }
                bits = bits << 6 | (unsigned)digit;
                n_bits += 6;
                if (n_bits >= 8) {
                        n_bits -= 8;
                        text[length++] = (char)(bits >> n_bits & 0xff);
                }
        }
        text[length] = '\0';
        if (strlen(text) == length)
                return text;
        free(text);
        return NULL;
}

/* Why a header and the message don't say the same; NULL: they do.  `said` is the message's: NULL, if it has
 * none, which its server refuses. */
static bool header_differs(struct evhttp_request *r, const char *name, const char *said) {
        const char *value = header(r, name);
        _cleanup_free_ char *text = value ? header_text(value) : NULL;

        return said && (!text || !streq(text, said));
}

static const char *differing_header(struct evhttp_request *r, const struct message *m) {
        const struct json_value *meta = json_get(m->params, "_meta");

        if (header_differs(r, "MCP-Protocol-Version",
                           json_text(json_get(meta, "io.modelcontextprotocol/protocolVersion"))))
                return "the header MCP-Protocol-Version is missing, or not what _meta says";
        if (header_differs(r, "Mcp-Method", m->method))
                return "the header Mcp-Method is missing, or not the message's method";
        if (streq(m->method, "tools/call") &&
            header_differs(r, "Mcp-Name", json_text(json_get(m->params, "name"))))
                return "the header Mcp-Name is missing, or not the tool's name";
        return NULL;
}

static void take_stateless(struct http_server *s, struct evhttp_request *r, const struct message *m,
                           const char *line) {
        struct mcp_terms terms = {.version = NULL};
        struct reply refusal = {.code = 0};
        const char *why;
        struct channel *c;

        if (m->kind == MESSAGE_NOTIFICATION) {
                http_answer_empty(r, STATUS_ACCEPTED);
                return;
        }
        if (m->kind == MESSAGE_RESPONSE) {
                http_refuse(r, HTTP_BADREQUEST, NULL, MESSAGE_BAD_REQUEST,
                            "no request was sent to the client", NULL);
                return;
        }
        why = differing_header(r, m);
        if (why)
                http_refuse(r, HTTP_BADREQUEST, m->id, MESSAGE_OTHER_HEADER, why, NULL);
        else if (terms_read(m, &terms, &refusal) < 0)
                http_refuse(r, HTTP_BADREQUEST, m->id, refusal.code, refusal.why, refusal.data);
        else if (!(c = channel_new(s, false)))
                http_refuse(r, HTTP_SERVUNAVAIL, m->id, MESSAGE_FAILED, "too many requests are served",
                            NULL);
        else if (!exchange_begin(c, r, m, line, false))
                channel_free(c);
        reply_clear(&refusal);
}

/* ---------------------------------------------------------------- those of a session */

/* The session that a request names; NULL: it was answered. */
static struct channel *session_of(struct http_server *s, struct evhttp_request *r) {
        const char *id = header(r, "Mcp-Session-Id"), *version = header(r, "MCP-Protocol-Version");
        struct channel *c = id ? channel_find(s, id) : NULL;

        if (!id)
                http_refuse(r, HTTP_BADREQUEST, NULL, MESSAGE_BAD_REQUEST,
                            "the header Mcp-Session-Id is missing", NULL);
        else if (!c)
                http_refuse(r, HTTP_NOTFOUND, NULL, MESSAGE_BAD_REQUEST, "there is no such session", NULL);
        else if (version && !terms_have_handshake(version))
                http_refuse(r, HTTP_BADREQUEST, NULL, MESSAGE_BAD_REQUEST,
                            "MCP-Protocol-Version is none that has sessions", NULL);
        else
                return c;
        return NULL;
}

static void take_in_session(struct http_server *s, struct evhttp_request *r, const struct message *m,
                            const char *line) {
        bool begins =
                m->kind == MESSAGE_REQUEST && streq(m->method, "initialize") && !header(r, "Mcp-Session-Id");
        struct channel *c = begins ? channel_new(s, true) : session_of(s, r);
        const char *version = header(r, "MCP-Protocol-Version");

        if (!c) {
                if (begins)
                        http_refuse(r, HTTP_SERVUNAVAIL, m->id, MESSAGE_FAILED,
                                    "too many sessions are served", NULL);
                return;
        }
        if (m->kind != MESSAGE_REQUEST) {
                channel_send(c, line);
                http_answer_empty(r, STATUS_ACCEPTED);
        } else if (channel_awaits(c, m->id)) {
                http_refuse(r, HTTP_BADREQUEST, m->id, MESSAGE_BAD_REQUEST,
                            "a request of this id has no answer yet", NULL);
        } else if (!exchange_begin(c, r, m, line, version && strcmp(version, "2025-11-25") >= 0) && begins) {
                channel_free(c);
        }
}

static void take_get(struct http_server *s, struct evhttp_request *r) {
        const char *last_event = header(r, "Last-Event-ID");
        struct channel *c;

        if (!header(r, "Mcp-Session-Id")) {
                (void)evhttp_add_header(evhttp_request_get_output_headers(r), "Allow", "POST");
                http_answer_empty(r, HTTP_BADMETHOD);
        } else if (!accepts(r, "text/event-stream")) {
                http_answer_empty(r, STATUS_NOT_ACCEPTABLE);
        } else if ((c = session_of(s, r))) {
                if (last_event && !exchange_resume(c, r, last_event))
                        http_refuse(r, HTTP_BADREQUEST, NULL, MESSAGE_BAD_REQUEST,
                                    "there is no such event of a stream, or no more", NULL);
                else if (last_event)
                        return;
                else if (channel_awaits(c, NULL))
                        http_refuse(r, 409, NULL, MESSAGE_BAD_REQUEST, "the session has a stream already",
                                    NULL);
                else
                        (void)exchange_begin(c, r, NULL, NULL, false);
        }
}

static void take_delete(struct http_server *s, struct evhttp_request *r) {
        struct channel *c;

        if (!header(r, "Mcp-Session-Id")) {
                (void)evhttp_add_header(evhttp_request_get_output_headers(r), "Allow", "POST");
                http_answer_empty(r, HTTP_BADMETHOD);
        } else if ((c = session_of(s, r))) {
                channel_free(c);
                http_answer_empty(r, HTTP_NOCONTENT);
        }
}

/* ------------------------------------------------------------------------------ messages */

static void take_post(struct http_server *s, struct evhttp_request *r) {
        struct evbuffer *body = evhttp_request_get_input_buffer(r);
        const char *type = header(r, "Content-Type"), *version = header(r, "MCP-Protocol-Version"),
                   *why = NULL;
        size_t n = evbuffer_get_length(body);
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *line = NULL;
        struct json_trouble trouble;
        struct message m = {.id = NULL};
        int code;

        if (!type || strncasecmp(type, "application/json", 16) != 0 ||
            (type[16] && !strchr("; \t", type[16]))) {
                http_refuse(r, STATUS_UNSUPPORTED_TYPE, NULL, MESSAGE_BAD_REQUEST,
                            "the Content-Type is not application/json", NULL);
                return;
        }
        if (!accepts(r, "application/json") || !accepts(r, "text/event-stream")) {
                http_refuse(r, STATUS_NOT_ACCEPTABLE, NULL, MESSAGE_BAD_REQUEST,
                            "application/json and text/event-stream are to be accepted", NULL);
                return;
        }
        if (json_read(&d, (const char *)evbuffer_pullup(body, -1), n, JSON_REPAIRED, &trouble) < 0) {
                http_refuse(r, HTTP_BADREQUEST, NULL, MESSAGE_NO_JSON, "no JSON", NULL);
                return;
        }
        code = message_read(d.root, &m, &why);
        line = code < 0 ? NULL : json_spell(d.root);
        if (code < 0)
                http_refuse(r, HTTP_BADREQUEST, m.id, code, why, NULL);
        else if (!line)
                http_refuse(r, HTTP_SERVUNAVAIL, m.id, MESSAGE_FAILED, "out of memory", NULL);
        else if ((m.kind == MESSAGE_REQUEST && terms_are_own(&m)) ||
                 (version && !terms_have_handshake(version) && !header(r, "Mcp-Session-Id")))
                take_stateless(s, r, &m, line);
        else
                take_in_session(s, r, &m, line);
        message_clear(&m);
}

void http_take_request(struct evhttp_request *r, void *data) {
        const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(r));
        struct http_server *s = data;

        if (!judge_client(s, r))
                return;
        if (!path || !streq(path, PATH))
                http_refuse(r, HTTP_NOTFOUND, NULL, MESSAGE_BAD_REQUEST, "the path is not " PATH, NULL);
        else if (evhttp_request_get_command(r) == EVHTTP_REQ_GET)
                take_get(s, r);
        else if (evhttp_request_get_command(r) == EVHTTP_REQ_DELETE)
                take_delete(s, r);
        else
                take_post(s, r);
}
