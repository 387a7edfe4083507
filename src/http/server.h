/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-http's files share. */
#pragma once

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "mcp/http_wire.h"
#include "mcp/message.h"

enum {
        HTTP_SESSIONS_MOST = 32,    /* another one ends the one that was idle for longest */
        HTTP_SESSION_IDLE_S = 1800, /* then it is ended */
        HTTP_DESCRIPTORS_MOST = 64 + 3 * HTTP_SERVERS_MOST, /* connections, and lines to servers */
};

/* A client's connection. */
struct http_seen {
        ino_t socket;   /* whose it is: descriptors' numbers are used again */
        uint64_t since; /* in milliseconds */
        bool is_known;  /* its client has shown that it may ask */
};

struct http_server {
        struct event_base *base;
        struct evhttp *http;
        struct http_start start;
        struct channel *channels;
        size_t n_sessions, n_channels;

        struct evconnlistener *listener;
        struct event *looks; /* at connections whose clients aren't known */
        size_t n_accepted;   /* since the last look */
        struct http_seen seen[HTTP_DESCRIPTORS_MOST];
};

/* Sockets by which a server is spoken to. */
struct channel {
        struct channel *next;
        struct http_server *server;
        struct bufferevent *lines;
        struct line_reader reader;
        struct exchange *exchanges;    /* the newest first */
        char session[HTTP_TOKEN_SIZE]; /* its id; "": it is for one request */
        time_t used;
        unsigned n_streams; /* that were begun */
        size_t n_kept;      /* bytes of their events that are kept */
        bool has_ended;
};

/* A request of HTTP's that is not answered in whole. */
struct exchange {
        struct exchange *next;
        struct channel *channel;
        struct evhttp_request *request; /* NULL: the client has gone */
        struct event *gone, *primes;
        unsigned number;         /* among the channel's */
        unsigned n_events;       /* of its stream */
        struct kept_event *kept; /* the oldest first */
        bool is_done;            /* it is here for what is kept */
        char *id;                /* of the message, as JSON; NULL: a stream for what answers no request */
        char *progress_token;    /* as JSON; NULL: none */
        bool is_stream, tells_session;
};

/* Answers with an error of JSON-RPC's; `id` and `data` may be NULL. */
void http_refuse(struct evhttp_request *r, int status, const char *id, int code, const char *why,
                 const char *data);
/* Answers without a body. */
void http_answer_empty(struct evhttp_request *r, int status);
/* request.c: takes a request. */
void http_take_request(struct evhttp_request *r, void *server);
/* The same: whether the header's value has the token. */
bool http_has_token(const struct http_server *s, const char *authorization);
/* unknown_clients.c: bounds connections whose clients haven't shown that they may ask. */
int unknown_clients_watch(struct http_server *s, struct evhttp_bound_socket *bound);
/* The client of that connection has. */
void unknown_client_asks(struct http_server *s, int fd);

/* Has a server started; NULL: there can be no more now. */
struct channel *channel_new(struct http_server *s, bool is_session);
struct channel *channel_find(struct http_server *s, const char *session);
void channel_free(struct channel *c);
/* Sends a message that needs no answer. */
void channel_send(struct channel *c, const char *line);
/* Waits for the answer to a message, or with m NULL opens a stream.  False, for want of memory: the request
 * is answered with that. */
bool exchange_begin(struct channel *c, struct evhttp_request *r, const struct message *m, const char *line,
                    bool can_come_back);
/* Goes on with the stream of which the client has had the event of that id.  False: there is none. */
bool exchange_resume(struct channel *c, struct evhttp_request *r, const char *last_event);
bool channel_awaits(const struct channel *c, const char *id);
/* Ends sessions that nobody uses. */
void channels_end_idle(struct http_server *s);
