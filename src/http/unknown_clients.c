/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections whose client has not shown yet that it may ask: how many there are, and for how long.  evhttp
 * tells of a connection when a request has come in whole, so they are looked at by their descriptors. */
#include <event2/buffer.h>
#include <sys/socket.h>
#include <time.h>

#include "base/str.h"
#include "mcp/peer.h"
#include "server.h"

enum {
        UNKNOWN_MOST = 32,     /* the oldest of more goes */
        UNKNOWN_MS = 10000,    /* for a whole request, headers and body */
        ACCEPTED_AT_ONCE = 16, /* connections, then they are looked at */
        HEAD_SEEN = 20 * 1024, /* more than is read at once */
};

static struct http_server *watching; /* the only one: a buffer's callback is told of the connection alone */

/* Whether a descriptor is a client's connection; *ret: the number of its socket. */
static bool is_connection(int fd, ino_t *ret) {
        struct sockaddr_storage own;
        socklen_t n = sizeof(own);
        struct stat st;

        /* Sockets of a pair have no name. */
        if (fd == HTTP_FD_LISTEN || getsockname(fd, (struct sockaddr *)&own, &n) < 0 ||
            n <= sizeof(own.ss_family) || fstat(fd, &st) < 0)
                return false;
        *ret = st.st_ino;
        return true;
}

void unknown_client_asks(struct http_server *s, int fd) {
        if (fd >= 0 && fd < HTTP_DESCRIPTORS_MOST)
                s->seen[fd].is_known = is_connection(fd, &s->seen[fd].socket);
}

/* evhttp takes headers line by line as they come, and tells of none: what has come is looked at before,
 * until the token is there. */
static void look_for_token(struct evbuffer *in, const struct evbuffer_cb_info *info, void *data) {
        int fd = bufferevent_getfd(data);
        char head[HEAD_SEEN], *at;
        ev_ssize_t n;
        ino_t socket;

        if (info->n_added == 0 || !is_connection(fd, &socket) ||
            (watching->seen[fd].is_known && watching->seen[fd].socket == socket))
                return;
        if (watching->start.port == 0) {
                if (!peer_judge(fd))
                        unknown_client_asks(watching, fd);
                return;
        }
        head[0] = '\n';
        n = evbuffer_copyout(in, head + 1, sizeof(head) - 2);
        head[n < 0 ? 1 : n + 1] = '\0';
        at = strcasestr(head, "\nAuthorization:");
        if (!at)
                return;
        at += strlen("\nAuthorization:");
        at += strspn(at, " \t");
        at[strcspn(at, "\r\n")] = '\0';
        if (http_has_token(watching, at))
                unknown_client_asks(watching, fd);
}

/* Closes those of too long ago, and the oldest of too many; evhttp sees their end.  How many are left. */
static size_t close_unknown(struct http_server *s) {
        int left[HTTP_DESCRIPTORS_MOST];
        size_t n = 0;
        uint64_t now = sys_now_ms();

        for (int fd = 0; fd < HTTP_DESCRIPTORS_MOST; fd++) {
                struct http_seen *seen = &s->seen[fd];
                ino_t socket;

                if (!is_connection(fd, &socket))
                        continue;
                if (seen->socket != socket)
                        *seen = (struct http_seen){.socket = socket, .since = now};
                if (!seen->is_known && now - seen->since >= UNKNOWN_MS)
                        (void)shutdown(fd, SHUT_RDWR);
                else if (!seen->is_known)
                        left[n++] = fd;
        }
        while (n > UNKNOWN_MOST) {
                size_t oldest = 0;

                for (size_t i = 1; i < n; i++)
                        if (s->seen[left[i]].since < s->seen[left[oldest]].since)
                                oldest = i;
                (void)shutdown(left[oldest], SHUT_RDWR);
                left[oldest] = left[--n];
        }
        return n;
}

static void look_at_unknown(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        static const struct timeval again = {.tv_sec = 1};
        struct http_server *s = data;

        s->n_accepted = 0;
        if (close_unknown(s) > 0)
                (void)event_add(s->looks, &again);
        (void)evconnlistener_enable(s->listener);
}

/* evhttp's own kind, at once with a descriptor that was accepted. */
static struct bufferevent *connection_accepted(struct event_base *base, void *data) {
        static const struct timeval soon = {.tv_sec = 1}, at_once = {.tv_sec = 0};
        struct http_server *s = data;
        struct bufferevent *accepted = bufferevent_socket_new(base, -1, 0);
        bool are_many = ++s->n_accepted >= ACCEPTED_AT_ONCE;

        if (are_many)
                (void)evconnlistener_disable(s->listener);
        if (are_many || !event_pending(s->looks, EV_TIMEOUT, NULL))
                (void)event_add(s->looks, are_many ? &at_once : &soon);
        if (accepted)
                (void)evbuffer_add_cb(bufferevent_get_input(accepted), look_for_token, accepted);
        return accepted;
}

int unknown_clients_watch(struct http_server *s, struct evhttp_bound_socket *bound) {
        watching = s;
        s->listener = evhttp_bound_socket_get_listener(bound);
        s->looks = event_new(s->base, -1, 0, look_at_unknown, s);
        if (!s->looks)
                return -ENOMEM;
        evhttp_set_bevcb(s->http, connection_accepted, s);
        return 0;
}
