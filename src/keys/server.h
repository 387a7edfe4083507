/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-keys' files share: one loop of libevent's, evhttp towards the sandbox, and libcurl towards the
 * hosts. */
#pragma once

#include <curl/curl.h>
#include <event2/event.h>
#include <event2/http.h>

#include "mask.h"
#include "use.h"

#define EXCHANGES_MOST   1024U
#define DESCRIPTORS_MOST 4096

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

/* credential.c */
/* All spellings in which the port's key goes out, for its mask. */
int credential_spellings(struct key_port *port);
/* The header with the key in it; NULL for want of memory. */
char *credential_header(const struct key_use *use, const char *value);
/* A request's target whose query has the key, and no other field of that name. */
char *credential_target(const struct key_use *use, const char *value, const char *target);

/* exchange.c */
/* Takes a request of the sandbox's; `port` is a struct key_port. */
void exchange_take(struct evhttp_request *r, void *port);
/* libcurl has done with the handle that has this exchange as CURLOPT_PRIVATE. */
void exchange_finish(void *exchange, CURLcode result);
