/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections: accepted inside, judged by the address that they were made to, made anew outside, and their
 * bytes moved.  reach.c chooses where a connection goes. */
#include "relay.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#define TURN_BYTES (UINT32_C(4) << 20) /* what one flow moves in a turn, that all get theirs */
#define ACCEPTS    64                  /* of a turn */

/* ------------------------------------------------------------ sockets' ends */

void relay_reset(int *fd) {
        const struct linger none = {.l_onoff = 1};

        if (*fd >= 0)
                (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        close_fdp(fd);
}

/* Sockets into the sandbox are made by its pid 1 alone: each is used again. */
static void give_back(struct helper *h, struct flow *f, int *fd) {
        const struct sockaddr nothing = {.sa_family = AF_UNSPEC};
        bool is_v6 = f->is_v6_inward;

        if (connect(*fd, &nothing, sizeof(nothing)) == 0)
                h->inward[is_v6][h->n_inward[is_v6]++] = TAKE_FD(*fd);
        close_fdp(fd);
}

static void close_half(struct half *half) {
        free(TAKE_PTR(half->pending));
        for (size_t i = 0; i < ARRAY_SIZE(half->pipe); i++)
                close_fdp(&half->pipe[i]);
}

static void unlink_flow(struct flow **list, const struct flow *f, size_t link) {
        while (*list && *list != f)
                list = (struct flow **)(void *)((char *)*list + link);
        if (*list)
                *list = *(struct flow **)(void *)((const char *)f + link);
}

static void set_full(struct helper *h, bool is_full) {
        if (h->is_full == is_full)
                return;
        h->is_full = is_full;
        for (size_t i = 0; i < h->n_listeners; i++)
                if (is_full)
                        helper_unwatch(h, &h->listeners[i]);
                else
                        (void)helper_watch(h, &h->listeners[i], EPOLLIN);
}

void relay_end(struct helper *h, struct flow *f, bool is_reset) {
        int *ends[] = {&f->client.w.fd, &f->server.w.fd};

        if (f->is_dead)
                return;
        f->is_dead = true;
        if (f->is_looking)
                lookup_forget(h, f);
        reach_stop(h, f);
        if (f->is_busy)
                unlink_flow(&h->busy, f, offsetof(struct flow, next_busy));
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                if (*ends[i] < 0)
                        continue;
                helper_unwatch(h, i == 0 ? &f->client.w : &f->server.w);
                if (i == 1 && f->is_inward)
                        give_back(h, f, ends[i]);
                else if (is_reset)
                        relay_reset(ends[i]);
                else
                        close_fdp(ends[i]);
        }
        close_half(&f->up);
        close_half(&f->down);
        net_pool_release(h->pool, f->index);
        if (f->next)
                f->next->previous = f->previous;
        *(f->previous ? &f->previous->next : &h->flows) = f->next;
        h->n_flows--;
        if (h->is_full && h->ends_at == 0 && h->n_flows < h->n_flows_most - h->n_flows_most / 8)
                set_full(h, false);
        f->next_dead = h->dead;
        h->dead = f;
}

/* --------------------------------------------------------------- the bytes */

/* What became of a step. */
enum step {
        STEP_MOVED,
        STEP_BLOCKED,
        STEP_DONE,  /* this half is over */
        STEP_BROKEN /* so is the connection */
};

static enum step step_failed(bool *is_able) {
        if (errno == EINTR)
                return STEP_MOVED;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
                return STEP_BROKEN;
        *is_able = false;
        return STEP_BLOCKED;
}

/* Sends what could not be sent before. */
static enum step send_pending(struct half *half, struct end *to) {
        ssize_t n = send(to->w.fd, half->pending + half->at, half->n - half->at, MSG_NOSIGNAL);

        if (n < 0)
                return step_failed(&to->is_writable);
        half->at += (size_t)n;
        if (half->at == half->n) {
                free(TAKE_PTR(half->pending));
                half->at = half->n = 0;
        }
        return STEP_MOVED;
}

/* Takes what there is and sends it at once; the rest is kept. */
static enum step relay_copy(const struct helper *h, struct half *half, struct end *from, struct end *to,
                            size_t *moved) {
        ssize_t n = recv(from->w.fd, h->buffer, RELAY_BUFFER, 0), sent;

        if (n < 0)
                return step_failed(&from->is_readable);
        if (n == 0) {
                half->has_ended = true;
                return STEP_MOVED;
        }
        *moved += (size_t)n;
        half->is_bulk = (size_t)n >= RELAY_BUFFER / 4;
        sent = send(to->w.fd, h->buffer, (size_t)n, MSG_NOSIGNAL);
        if (sent < 0) {
                if (step_failed(&to->is_writable) == STEP_BROKEN)
                        return STEP_BROKEN;
                sent = 0;
        }
        if (sent == n)
                return STEP_MOVED;
        half->pending = malloc((size_t)(n - sent));
        if (!half->pending)
                return STEP_BROKEN;
        half->n = (size_t)(n - sent);
        half->at = 0;
        memcpy(half->pending, h->buffer + sent, half->n);
        return STEP_MOVED;
}

/* The same by a pipe, in which pages are moved and not copied: for those that send much. */
static enum step splice_bytes(struct half *half, struct end *from, struct end *to, size_t *moved) {
        ssize_t n;

        if (half->in_pipe == 0) {
                n = splice(from->w.fd, NULL, half->pipe[1], NULL, half->pipe_size,
                           SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (n < 0)
                        return step_failed(&from->is_readable);
                if (n == 0) {
                        half->has_ended = true;
                        return STEP_MOVED;
                }
                half->in_pipe = (size_t)n;
        }
        n = splice(half->pipe[0], NULL, to->w.fd, NULL, half->in_pipe, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (n < 0)
                return step_failed(&to->is_writable);
        half->in_pipe -= (size_t)n;
        *moved += (size_t)n;
        return STEP_MOVED;
}

/* Without pipes, which a user has a number of, bytes are copied. */
static void relay_open_pipe(struct half *half) {
        int size;

        half->is_bulk = false;
        if (half->has_tried || pipe2(half->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
                half->has_tried = true;
                return;
        }
        half->has_tried = true;
        size = fcntl(half->pipe[1], F_SETPIPE_SZ, 256 << 10);
        half->pipe_size = size > 0 ? (size_t)size : 65536;
}

static enum step move_bytes(const struct helper *h, struct half *half, struct end *from, struct end *to) {
        enum step step = STEP_MOVED;
        size_t moved = 0;

        while (step == STEP_MOVED && moved < TURN_BYTES) {
                bool is_empty = !half->pending && half->in_pipe == 0;

                if (is_empty && half->has_ended) {
                        if (!half->is_over && shutdown(to->w.fd, SHUT_WR) < 0 && errno != ENOTCONN)
                                return STEP_BROKEN;
                        half->is_over = true;
                        return STEP_DONE;
                }
                if ((is_empty && !from->is_readable) || (!is_empty && !to->is_writable))
                        return STEP_BLOCKED;
                if (is_empty && half->is_bulk)
                        relay_open_pipe(half);
                step = half->pending        ? send_pending(half, to)
                       : half->pipe[0] >= 0 ? splice_bytes(half, from, to, &moved)
                                            : relay_copy(h, half, from, to, &moved);
        }
        return step;
}

/* Moves what can be moved both ways. */
static void move_both(struct helper *h, struct flow *f) {
        enum step up = move_bytes(h, &f->up, &f->client, &f->server), down;

        down = up == STEP_BROKEN ? STEP_BROKEN : move_bytes(h, &f->down, &f->server, &f->client);
        if (down == STEP_BROKEN || (up == STEP_DONE && down == STEP_DONE)) {
                relay_end(h, f, down == STEP_BROKEN);
                return;
        }
        if ((up == STEP_MOVED || down == STEP_MOVED) && !f->is_busy) {
                f->is_busy = true;
                f->next_busy = h->busy;
                h->busy = f;
        }
}

static void end_ready(struct helper *h, struct flow *f, struct end *end, uint32_t events) {
        if (f->is_dead)
                return;
        end->is_readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        end->is_writable |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
        if (f->is_connected)
                move_both(h, f);
        /* The client has gone before anybody was reached; or an end was reset, of which nothing is left to
         * be read. */
        if (!f->is_dead &&
            (f->is_connected ? (events & EPOLLERR) && (end == &f->client ? f->up : f->down).has_ended
                             : (events & (EPOLLERR | EPOLLHUP)) != 0))
                relay_end(h, f, true);
}

static void client_ready(struct helper *h, struct watch *w, uint32_t events) {
        struct end *end = (struct end *)w;

        end_ready(h, end->flow, end, events);
}

/* ------------------------------------------------------- begun and connected */

#define ALL_EVENTS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

struct flow *relay_begin(struct helper *h, int *fd) {
        struct flow *f = calloc(1, sizeof(*f));

        if (!f)
                return NULL;
        f->client = (struct end){.w = {*fd, client_ready}, .flow = f};
        f->server = (struct end){.w = {-EBADF, client_ready}, .flow = f};
        for (size_t i = 0; i < REACH_AT_ONCE; i++)
                f->attempts[i].w.fd = -EBADF;
        f->up.pipe[0] = f->up.pipe[1] = f->down.pipe[0] = f->down.pipe[1] = -EBADF;
        if (helper_watch(h, &f->client.w, ALL_EVENTS) < 0) {
                free(f);
                return NULL;
        }
        *fd = -EBADF;
        f->next = h->flows;
        if (f->next)
                f->next->previous = f;
        h->flows = f;
        h->n_flows++;
        return f;
}

void relay_connected(struct helper *h, struct flow *f, int fd) {
        const int on = 1;

        f->server.w.fd = fd;
        f->server.is_writable = true;
        f->is_connected = true;
        /* Bytes go on as they come: who sent them has thought about when. */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void)setsockopt(f->client.w.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        if (helper_watch(h, &f->server.w, ALL_EVENTS) < 0)
                relay_end(h, f, true);
        else
                move_both(h, f);
}

static void accept_one(struct helper *h, const struct watch *w, int *fd) {
        bool is_published = (size_t)(w - h->listeners) >= h->n_listeners - h->n_published;
        size_t number = (size_t)(w - h->listeners) - (h->n_listeners - h->n_published);
        struct flow *f = relay_begin(h, fd);

        if (!f)
                relay_reset(fd);
        else if (is_published)
                reach_inward(h, f, h->rules.publishes[number].inside);
        else
                reach_outward(h, f);
}

static void take_connections(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        for (int i = 0; i < ACCEPTS && !h->is_full; i++) {
                int fd = h->n_flows >= h->n_flows_most
                                 ? -EMFILE
                                 : accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd < 0 && (fd == -EMFILE || errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
                               errno == ENOBUFS)) {
                        /* Who comes now waits in the kernel until another has gone. */
                        if (h->n_flows > 0)
                                set_full(h, true);
                        return;
                }
                if (fd < 0)
                        return;
                accept_one(h, w, &fd);
        }
}

int relay_listen(struct helper *h, int fd, bool is_published) {
        h->listeners[h->n_listeners] = (struct watch){fd, take_connections};
        h->n_published += is_published;
        return helper_watch(h, &h->listeners[h->n_listeners++], EPOLLIN);
}

int relay_prepare(struct helper *h) {
        struct rlimit limit;
        size_t n = 0;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return -errno;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        /* Two sockets each; more attempts at once, pipes and lookups need some. */
        if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > 2 * h->layout.n_sockets)
                n = (size_t)((limit.rlim_cur - h->layout.n_sockets) / 3);
        h->n_flows_most = n == 0 ? 16 : n > RELAY_FLOWS_MOST ? RELAY_FLOWS_MOST : n;
        h->listeners = calloc(h->layout.n_sockets + h->rules.n_publishes, sizeof(*h->listeners));
        h->buffer = malloc(RELAY_BUFFER);
        for (size_t i = 0; i < 2; i++)
                h->inward[i] = calloc(NET_CONNECTIONS_INWARD, sizeof(int));
        return h->listeners && h->buffer && h->inward[0] && h->inward[1] ? 0 : -ENOMEM;
}

void relay_finish(struct helper *h) {
        set_full(h, true);
        for (size_t i = 0; i < h->n_listeners; i++)
                close_fdp(&h->listeners[i].fd);
}

/* Ends the connections over which all has gone that the sandbox had sent. */
static void end_finished(struct helper *h) {
        for (struct flow *f = h->flows, *next; f; f = next) {
                next = f->next;
                if (!f->is_connected || (f->is_inward ? f->down : f->up).is_over)
                        relay_end(h, f, false);
        }
}

int relay_turn(struct helper *h) {
        struct flow *f = h->busy, *next;
        int wait;

        h->busy = NULL;
        for (; f; f = next) {
                next = f->next_busy;
                f->is_busy = false;
                if (!f->is_dead)
                        move_both(h, f);
        }
        wait = reach_turn(h);
        if (h->ends_at > 0)
                end_finished(h);
        for (f = h->dead, h->dead = NULL; f; f = next) {
                next = f->next_dead;
                free(f);
        }
        return h->busy ? 0 : wait;
}
