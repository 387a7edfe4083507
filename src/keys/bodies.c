/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much all requests hold of the host's memory at once.  evhttp tells of a request when all of it has
 * come, so what comes is counted before, by the connection's descriptor. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/stat.h>

#include "base/str.h"
#include "server.h"

enum {
        BODIES_MOST = 256 * 1024 * 1024, /* bytes */
        BODY_SMALL = 64 * 1024,          /* what is held for one connection whatever others hold */
};

/* What is held for a connection: a request that is read, or is answered. */
static struct {
        ino_t socket; /* its number: a descriptor may be another connection's by now */
        size_t n;
        bool is_refused;
} held[DESCRIPTORS_MOST];
static size_t all_held;

/* The descriptor if it is one that may be counted, with the number of its socket; or -EBADF. */
static int find_socket(int fd, ino_t *ret) {
        struct stat st;

        if (fd < 0 || fd >= DESCRIPTORS_MOST || fstat(fd, &st) < 0)
                return -EBADF;
        *ret = st.st_ino;
        return fd;
}

static void hold_bytes(int fd, size_t n) {
        all_held += n - held[fd].n;
        held[fd].n = n;
}

/* Connections that have ended hold nothing: nobody has told of their end. */
static void release_ended(void) {
        ino_t socket;

        for (int fd = 0; fd < DESCRIPTORS_MOST; fd++)
                if (held[fd].n > 0 && (find_socket(fd, &socket) < 0 || socket != held[fd].socket))
                        hold_bytes(fd, 0);
}

/* evhttp answers nothing while it reads.  What comes yet is read, or the client could lose the answer. */
static void refuse_body(int fd) {
        static const char answer[] =
                "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
                "Connection: close\r\n\r\n"
                "nsrun: requests hold too much memory at once; ask again when others are answered\n";

        held[fd].is_refused = true;
        (void)send(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
}

static void count_coming(struct evbuffer *in, const struct evbuffer_cb_info *info, void *data) {
        ino_t socket;
        int fd = info->n_added > 0 ? find_socket(bufferevent_getfd(data), &socket) : -EBADF;

        if (fd < 0)
                return;
        if (held[fd].socket != socket) {
                hold_bytes(fd, 0);
                held[fd].socket = socket;
                held[fd].is_refused = false;
        }
        if (!held[fd].is_refused)
                hold_bytes(fd, held[fd].n + info->n_added);
        if (!held[fd].is_refused && all_held > BODIES_MOST) {
                release_ended();
                if (all_held > BODIES_MOST && held[fd].n > BODY_SMALL)
                        refuse_body(fd);
        }
        if (held[fd].is_refused)
                (void)evbuffer_drain(in, evbuffer_get_length(in));
}

/* evhttp's own kind. */
static struct bufferevent *connection_begun(struct event_base *base, nsrun_unused void *data) {
        struct bufferevent *begun = bufferevent_socket_new(base, -1, 0);

        if (begun)
                (void)evbuffer_add_cb(bufferevent_get_input(begun), count_coming, begun);
        return begun;
}

void bodies_bound(struct evhttp *http) {
        evhttp_set_bevcb(http, connection_begun, NULL);
}

void body_drop(struct evhttp_request *r) {
        struct evbuffer *body = evhttp_request_get_input_buffer(r);
        struct evhttp_connection *connection = evhttp_request_get_connection(r);
        ino_t socket;
        int fd = connection ? find_socket(bufferevent_getfd(evhttp_connection_get_bufferevent(connection)),
                                          &socket)
                            : -EBADF;

        (void)evbuffer_drain(body, evbuffer_get_length(body));
        if (fd >= 0 && held[fd].socket == socket)
                hold_bytes(fd, 0);
}

void body_uncount(struct evhttp_request *r) {
        struct bufferevent *connection = evhttp_connection_get_bufferevent(evhttp_request_get_connection(r));

        body_drop(r);
        (void)evbuffer_remove_cb(bufferevent_get_input(connection), count_coming, connection);
}
