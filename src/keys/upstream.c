/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way out: libcurl, its sockets and its timer in libevent's loop. */
#include "base/str.h"
#include "server.h"

static void upstream_take_finished(struct key_server *s) {
        int left;

        for (const CURLMsg *m; (m = curl_multi_info_read(s->multi, &left));) {
                CURLcode result = m->data.result;
                struct transfer *transfer = NULL;

                if (m->msg != CURLMSG_DONE)
                        continue;
                (void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &transfer);
                transfer->finish(transfer, result);
        }
}

static void upstream_turn(struct key_server *s, curl_socket_t fd, int what) {
        int running;

        (void)curl_multi_socket_action(s->multi, fd, what, &running);
        upstream_take_finished(s);
}

static void socket_ready(evutil_socket_t fd, short what, void *data) {
        upstream_turn(data, fd,
                      ((what & EV_READ) ? CURL_CSELECT_IN : 0) | ((what & EV_WRITE) ? CURL_CSELECT_OUT : 0));
}

static void time_came(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        upstream_turn(data, CURL_SOCKET_TIMEOUT, 0);
}

static int watch_socket(nsrun_unused CURL *easy, curl_socket_t fd, int what, void *server, void *event) {
        struct key_server *s = server;
        struct event *e = event;

        if (e)
                event_free(e);
        e = NULL;
        if (what != CURL_POLL_REMOVE) {
                e = event_new(s->base, fd,
                              (short)(EV_PERSIST | ((what & CURL_POLL_IN) ? EV_READ : 0) |
                                      ((what & CURL_POLL_OUT) ? EV_WRITE : 0)),
                              socket_ready, s);
                if (!e || event_add(e, NULL) < 0)
                        return -1;
        }
        (void)curl_multi_assign(s->multi, fd, e);
        return 0;
}

static int watch_time(nsrun_unused CURLM *multi, long ms, void *server) {
        struct key_server *s = server;
        const struct timeval wait = {ms / 1000, ms % 1000 * 1000};

        return ms < 0 ? event_del(s->timer) : event_add(s->timer, &wait);
}

int upstream_start(struct key_server *s) {
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                return -ENOMEM;
        s->multi = curl_multi_init();
        s->timer = evtimer_new(s->base, time_came, s);
        if (!s->multi || !s->timer)
                return -ENOMEM;
        (void)curl_multi_setopt(s->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
        (void)curl_multi_setopt(s->multi, CURLMOPT_SOCKETDATA, s);
        (void)curl_multi_setopt(s->multi, CURLMOPT_TIMERFUNCTION, watch_time);
        (void)curl_multi_setopt(s->multi, CURLMOPT_TIMERDATA, s);
        (void)curl_multi_setopt(s->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)EXCHANGES_MOST);
        return 0;
}

CURL *upstream_handle(const struct key_port *port) {
        const struct key_server *s = port->server;
        _cleanup_free_ char *url =
                str_format("https://%s:%u/", port->uses[0].host, (unsigned)port->uses[0].port);
        CURL *easy = url ? curl_easy_init() : NULL;
        CURLcode r;

        if (!easy)
                return NULL;
        r = curl_easy_setopt(easy, CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
        r |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
#else
        r |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS);
#endif
        r |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
        r |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
        r |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
        r |= curl_easy_setopt(easy, CURLOPT_PROXY, s->via ? s->via : "");
        r |= curl_easy_setopt(easy, CURLOPT_NOPROXY, s->directs ? s->directs : "");
        r |= curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
        if (s->authorities.data)
                r |= curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &s->authorities);
        r |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
        r |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        r |= curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
        /* HTTP/2 of libcurl 7.88 (Debian 12) leaves what it has buffered of streams that are given up,
         * without a bound. */
        r |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
#if LIBCURL_VERSION_NUM >= 0x075700
        /* Nobody waits for the resolver of who has gone. */
        r |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
        /* Decoded here, since a key could be in it. */
        r |= curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
        if (r != CURLE_OK) {
                curl_easy_cleanup(easy);
                return NULL;
        }
        return easy;
}

int upstream_add(struct key_server *s, CURL *easy) {
        return curl_multi_add_handle(s->multi, easy) == CURLM_OK ? 0 : -ENOMEM;
}

void upstream_remove(struct key_server *s, CURL *easy) {
        (void)curl_multi_remove_handle(s->multi, easy);
        curl_easy_cleanup(easy);
}
