/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-keys' files share: one loop of libevent's, evhttp towards the sandbox, and libcurl towards the
 * hosts. */
#pragma once

#include <curl/curl.h>
#include <event2/event.h>
#include <event2/http.h>

#include "mask.h"
#include "use.h"

#define EXCHANGES_MOST    1024U /* WebSockets are among them */
#define DESCRIPTORS_MOST  4096
#define CONNECTION_IDLE_S 600 /* while a request is read, or none comes, or nobody takes the answer */
#define CONNECT_S         30L
#define UNTAKEN_MOST      (1024U * 1024U) /* bytes that the client hasn't taken: then the host's aren't read */

struct net_key_used; /* net/layout.h */

/* Uses of one key at one host: a port of the sandbox's loopback. */
struct key_port {
        struct key_server *server;
        uint16_t number;
        struct key_use uses[KEY_USES_MOST];
        size_t n_uses;
        char *value; /* the key */
        struct mask mask;
        struct evhttp *http; /* once its socket is here */
};

struct key_server {
        struct event_base *base;
        CURLM *multi;
        struct event *timer;
        struct key_port ports[KEY_USES_MOST];
        size_t n_ports;
        size_t n_exchanges;
        char *via;                    /* the proxy's URL; or NULL */
        char *directs;                /* as curl has names that are reached without it; or NULL */
        struct curl_blob authorities; /* data NULL: the system's */
};

/* What a handle of libcurl's has as CURLOPT_PRIVATE. */
struct transfer {
        /* libcurl has done with it. */
        void (*finish)(struct transfer *transfer, CURLcode result);
};

/* upstream.c: libcurl in that loop. */
int upstream_start(struct key_server *s);
/* A handle for that host, with all that doesn't hang on the request.  NULL for want of memory. */
CURL *upstream_handle(const struct key_port *port);
int upstream_add(struct key_server *s, CURL *easy);
void upstream_remove(struct key_server *s, CURL *easy);

/* bodies.c */
/* Requests that would have all of them hold too much memory at once are refused, with 503. */
void bodies_bound(struct evhttp *http);
/* A request's body isn't needed any more. */
void body_drop(struct evhttp_request *r);
/* What comes on its connection is no request any more. */
void body_uncount(struct evhttp_request *r);

/* credential.c */
/* All spellings in which the port's key goes out, for its mask. */
int credential_spellings(struct key_port *port);
/* The value of the header with the key in it; NULL for want of memory. */
char *credential_value(const struct key_use *use, const char *value);
/* A request's target whose query has the key, and no other field of that name. */
char *credential_target(const struct key_use *use, const char *value, const char *target);

/* request.c */
const char *request_method(struct evhttp_request *r);
/* An absolute path, of what may stand in one: neither another host's URL nor a fragment. */
bool is_target(const char *target);
/* The use by which the request may have the key: the first that covers it. */
const struct key_use *find_use(const struct key_port *port, const char *method, const char *target);
bool is_field_name(const char *name);
bool is_field_text(const char *text);
/* Some servers read an underscore as a hyphen. */
bool is_same_header(const char *a, const char *b);
typedef int add_header_fn(void *data, const char *name, const char *value);
/* Gives `add` each header that goes on to the host, the key's last.  -EBADMSG: one has what no header has.
 */
int request_headers(struct evhttp_request *r, const struct key_port *port, const struct key_use *use,
                    add_header_fn *add, void *data);
void answer_text(struct evhttp_request *r, int status, const char *text);
/* What there is to say of the key's host; with 502: why it isn't reached. */
void answer_host(struct evhttp_request *r, const struct key_use *use, int status, const char *what);
/* For the run's report, and before the client hears of it: when that has ended nobody looks any more. */
void port_tell(const struct key_port *port, struct net_key_used *used);

/* exchange.c */
/* Takes a request of the sandbox's; `port` is a struct key_port. */
void exchange_take(struct evhttp_request *r, void *port);

/* opening.c */
/* Whether a request asks for a WebSocket, and for nothing besides. */
bool opening_is_asked_for(struct evhttp_request *r);
/* Reads the head of a host's answer, lines that end in "\r\n", which it cuts up.  The status, 200 to 599, or
 * 101 with the texts of its headers; or -EBADMSG. */
int opening_read_answer(char *head, const char **ret_accept, char **ret_protocol);

/* websocket.c */
/* Asks the host for a WebSocket, and passes on what both say.  -errno: the request is as it was. */
int websocket_begin(struct evhttp_request *r, struct key_port *port, const struct key_use *use);
