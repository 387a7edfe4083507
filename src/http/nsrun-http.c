/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-http: HTTP for `nsrun mcp --http`, which starts it. */
#include <sys/resource.h>
#include <sys/socket.h>

#include "net/confine.h"
#include "server.h"

enum {
        CONNECTION_IDLE_S = 15,   /* while a request is read, or none comes; none while one is answered */
        HEADERS_MOST = 16 * 1024, /* bytes */
        BODY_MOST = 1024 * 1024,  /* who has no token may send as much by each connection */
        SWEEP_S = 60,
        PAUSE_MS = 100,
};

/* nsrun has ended, or ends. */
static void control_ended(nsrun_unused evutil_socket_t fd, nsrun_unused short what,
                          nsrun_unused void *data) {
        _exit(0);
}

static void sweep(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        channels_end_idle(data);
}

/* There are too many connections of clients that may ask. */
static void resume(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *listener) {
        (void)evconnlistener_enable(listener);
}

static void pause_listening(struct evconnlistener *listener, nsrun_unused void *evhttps_own) {
        const struct timeval pause = {.tv_usec = PAUSE_MS * 1000};

        (void)evconnlistener_disable(listener);
        (void)event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, resume, listener, &pause);
}

static int server_prepare(struct http_server *s) {
        const struct rlimit most = {HTTP_DESCRIPTORS_MOST, HTTP_DESCRIPTORS_MOST};
        static const struct timeval every = {.tv_sec = SWEEP_S};
        struct evhttp_bound_socket *bound;
        struct event *control, *timer;

        if (recv(HTTP_FD_CONTROL, &s->start, sizeof(s->start), 0) != sizeof(s->start) ||
            setrlimit(RLIMIT_NOFILE, &most) < 0)
                return -EPROTO;
        s->base = event_base_new();
        s->http = s->base ? evhttp_new(s->base) : NULL;
        control = s->http ? event_new(s->base, HTTP_FD_CONTROL, EV_READ, control_ended, NULL) : NULL;
        timer = control ? event_new(s->base, -1, EV_PERSIST, sweep, s) : NULL;
        if (!timer || event_add(control, NULL) < 0 || event_add(timer, &every) < 0 ||
            evutil_make_socket_nonblocking(HTTP_FD_LISTEN) < 0)
                return -ENOMEM;
        evhttp_set_timeout(s->http, CONNECTION_IDLE_S);
        evhttp_set_max_headers_size(s->http, HEADERS_MOST);
        evhttp_set_max_body_size(s->http, BODY_MOST);
        evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_DELETE);
        evhttp_set_gencb(s->http, http_take_request, s);
        bound = evhttp_accept_socket_with_handle(s->http, HTTP_FD_LISTEN);
        if (!bound || unknown_clients_watch(s, bound) < 0)
                return -ENOMEM;
        evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), pause_listening);
        return confine_http(s->start.port == 0);
}

int main(void) {
        static struct http_server s;
        struct stat st;

        if (fstat(HTTP_FD_CONTROL, &st) < 0 || !S_ISSOCK(st.st_mode)) {
                (void)fputs("nsrun-http: started by nsrun, not by people\n", stderr);
                return 125;
        }
        (void)signal(SIGPIPE, SIG_IGN);
        (void)umask(077);
        if (server_prepare(&s) < 0)
                return 125;
        (void)event_base_dispatch(s.base);
        return 125;
}
