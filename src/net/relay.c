/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections: accepted inside, judged by the address that they were made to, made anew outside, and their
 * bytes moved.  reach.c chooses where a connection goes. */
#include "relay.h"
#include "via.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#define TURN_BYTES (UINT32_C(4) << 20) /* what one flow moves in a turn, that all get theirs */
#define ACCEPTS    64                  /* of a turn */
#define PIPES_MOST 32U                 /* a user has memory for some hundreds, in all processes */

/* ------------------------------------------------------------ sockets' ends */

static void relay_reset(int *fd) {
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

static void close_half(struct helper *h, struct half *half) {
        h->n_pipes -= half->pipe[0] >= 0;
        for (size_t i = 0; i < ARRAY_SIZE(half->pipe); i++)
                close_fdp(&half->pipe[i]);
}

static void unlink_flow(struct flow **list, const struct flow *f, size_t link) {
        while (*list && *list != f)
                list = (struct flow **)(void *)((char *)*list + link);
        if (*list)
                *list = *(struct flow **)(void *)((const char *)f + link);
}

/* Who comes while it is full waits in the kernel. */
static void set_full(struct helper *h, bool is_full) {
        int r = 0;

        h->listen_at = 0;
        if (h->is_full == is_full)
                return;
        for (size_t i = 0; i < h->n_listeners + NET_PUBLISHES_MOST; i++) {
                struct watch *w = i < h->n_listeners ? &h->listeners[i] : &h->published[i - h->n_listeners];
                int one = w->fd < 0 ? 0 : helper_watch_for(h, w, is_full ? 0 : EPOLLIN);

                r = r < 0 ? r : one;
        }
        h->is_full = is_full || r < 0;
        if (r < 0)
                h->listen_at = sys_now_ms() + RELAY_AGAIN_MS;
}

void relay_pause(struct helper *h) {
        set_full(h, true);
        h->listen_at = sys_now_ms() + RELAY_AGAIN_MS;
        datagram_make_room(h);
}

void relay_end(struct helper *h, struct flow *f, bool is_reset) {
        int *ends[] = {&f->client.w.fd, &f->server.w.fd};

        if (f->is_dead)
                return;
        f->is_dead = true;
        if (f->is_looking)
                lookup_forget(h, f);
        reach_stop(h, f);
        datagram_stop(h, f);
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
        close_half(h, &f->up);
        close_half(h, &f->down);
        net_pool_release(h->pool, f->index);
        if (f->next)
                f->next->previous = f->previous;
        *(f->previous ? &f->previous->next : &h->flows) = f->next;
        h->n_flows--;
        if (h->is_full && h->ends_at == 0 &&
            (h->listen_at > 0 || h->n_flows < h->n_flows_most - h->n_flows_most / 8))
                set_full(h, false);
        f->next_dead = h->dead;
        h->dead = f;
}

/* --------------------------------------------------------------- the bytes */

/* What became of a step. */
enum step {
        STEP_MOVED,
        STEP_BLOCKED,
        STEP_DONE,    /* this half is over */
        STEP_REFUSED, /* its receiver takes nothing any more */
        STEP_BROKEN   /* nor is there anything more of its sender */
};

static enum step step_failed(bool *is_able, enum step how) {
        if (errno == EINTR)
                return STEP_MOVED;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
                return how;
        *is_able = false;
        return STEP_BLOCKED;
}

/* Takes off the socket what was sent on. */
static enum step take_off(const struct helper *h, struct end *from, size_t n) {
        while (n > 0) {
                ssize_t taken = recv(from->w.fd, h->buffer, n, MSG_TRUNC);

                if (taken > 0)
                        n -= (size_t)taken;
                else if (taken == 0 || errno != EINTR)
                        return STEP_BROKEN;
        }
        return STEP_MOVED;
}

/* A byte of MSG_OOB stays at its place among the others (SO_OOBINLINE), and is sent on as one.  It may have
 * come after the event that said what there is to read. */
static bool is_at_mark(const struct end *from) {
        int is_there = 0;

        return ioctl(from->w.fd, SIOCATMARK, &is_there) == 0 && is_there;
}

/* Sends what there is, and then takes it: what can't be sent yet stays where it is. */
static enum step relay_copy(const struct helper *h, struct half *half, struct end *from, struct end *to,
                            size_t *moved) {
        ssize_t n = recv(from->w.fd, h->buffer, RELAY_BUFFER, MSG_PEEK), sent;
        bool is_urgent;

        if (n < 0)
                return step_failed(&from->is_readable, STEP_BROKEN);
        if (n == 0) {
                half->has_ended = true;
                return STEP_MOVED;
        }
        half->is_bulk = (size_t)n >= RELAY_BUFFER / 4;
        /* Asked about what was looked at, which is still there: before, it might not have come yet. */
        is_urgent = is_at_mark(from);
        if (is_urgent)
                n = 1;
        sent = send(to->w.fd, h->buffer, (size_t)n, MSG_NOSIGNAL | (is_urgent ? MSG_OOB : 0));
        if (sent < 0)
                return step_failed(&to->is_writable, STEP_REFUSED);
        *moved += (size_t)sent;
        if (is_urgent && sent == 1)
                from->is_urgent = false;
        return take_off(h, from, (size_t)sent);
}

/* The same by a pipe, in which pages are moved and not copied: for those that send much. */
static enum step splice_bytes(const struct helper *h, struct half *half, struct end *from, struct end *to,
                              size_t *moved) {
        ssize_t n;

        if (half->in_pipe == 0) {
                n = splice(from->w.fd, NULL, half->pipe[1], NULL, half->pipe_size,
                           SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (n < 0)
                        return step_failed(&from->is_readable, STEP_BROKEN);
                /* The end, or a byte of MSG_OOB, which isn't spliced. */
                if (n == 0)
                        return relay_copy(h, half, from, to, moved);
                half->in_pipe = (uint32_t)n;
        }
        n = splice(half->pipe[0], NULL, to->w.fd, NULL, half->in_pipe, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (n < 0)
                return step_failed(&to->is_writable, STEP_REFUSED);
        half->in_pipe -= (uint32_t)n;
        *moved += (size_t)n;
        return STEP_MOVED;
}

/* Without pipes, which a user has a number of, bytes are copied. */
static void relay_open_pipe(struct helper *h, struct half *half) {
        int size;

        half->is_bulk = false;
        if (half->has_tried || h->n_pipes >= PIPES_MOST)
                return;
        half->has_tried = true;
        if (pipe2(half->pipe, O_CLOEXEC | O_NONBLOCK) < 0)
                return;
        h->n_pipes++;
        size = fcntl(half->pipe[1], F_SETPIPE_SZ, 256 << 10);
        half->pipe_size = size > 0 ? (uint32_t)size : 4096;
}

/* `other` is the other way of the connection. */
static enum step move_some(struct helper *h, struct half *half, struct end *from, struct end *to,
                           const struct half *other, size_t *moved) {
        enum step step = STEP_MOVED;

        while (step == STEP_MOVED && *moved < TURN_BYTES) {
                bool is_empty = half->in_pipe == 0;

                if (half->is_refused)
                        return STEP_REFUSED;
                if (is_empty && half->has_ended) {
                        /* Its end isn't an end where the sender was reset. */
                        if (other->is_refused)
                                return STEP_BROKEN;
                        if (!half->is_over && shutdown(to->w.fd, SHUT_WR) < 0 && errno != ENOTCONN)
                                return STEP_REFUSED;
                        half->is_over = true;
                        return STEP_DONE;
                }
                if ((is_empty && !from->is_readable) || (!is_empty && !to->is_writable))
                        return STEP_BLOCKED;
                if (is_empty && half->is_bulk)
                        relay_open_pipe(h, half);
                step = half->pipe[0] >= 0 && (!is_empty || !from->is_urgent)
                               ? splice_bytes(h, half, from, to, moved)
                               : relay_copy(h, half, from, to, moved);
        }
        return step;
}

static enum step move_bytes(struct helper *h, struct half *half, struct end *from, struct end *to,
                            const struct half *other) {
        size_t moved = 0;
        enum step step = move_some(h, half, from, to, other, &moved);

        if (half->count)
                *half->count += moved;
        return step;
}

/* A socket into the sandbox is used again, which drops what it still has to send. */
static bool is_sent(const struct flow *f) {
        struct tcp_info info = {.tcpi_state = TCP_CLOSE};
        socklen_t length = sizeof(info);

        return !f->is_inward || getsockopt(f->server.w.fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
               info.tcpi_state == TCP_CLOSE;
}

/* Where one end was reset, what it had sent before goes to the other one yet. */
static bool is_drained(enum step step, const struct half *half, const struct end *to) {
        return step == STEP_DONE || step == STEP_REFUSED ||
               (step == STEP_BLOCKED && (to->is_writable && half->in_pipe == 0));
}

/* Moves what can be moved both ways. */
static void move_both(struct helper *h, struct flow *f) {
        enum step up = move_bytes(h, &f->up, &f->client, &f->server, &f->down), down;

        f->up.is_refused |= up == STEP_REFUSED;
        down = up == STEP_BROKEN ? up : move_bytes(h, &f->down, &f->server, &f->client, &f->up);
        f->down.is_refused |= down == STEP_REFUSED;
        if (up == STEP_BROKEN || down == STEP_BROKEN ||
            (f->up.is_refused && is_drained(down, &f->down, &f->client)) ||
            (f->down.is_refused && is_drained(up, &f->up, &f->server))) {
                relay_end(h, f, true);
                return;
        }
        if (up == STEP_DONE && down == STEP_DONE && is_sent(f)) {
                relay_end(h, f, false);
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
        end->is_urgent |= (events & EPOLLPRI) != 0;
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

#define ALL_EVENTS (EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET)

struct flow *relay_new(struct helper *h) {
        struct flow *f = calloc(1, sizeof(*f));

        if (!f)
                return NULL;
        f->client = (struct end){.w = {-EBADF, client_ready}, .flow = f};
        f->server = (struct end){.w = {-EBADF, client_ready}, .flow = f};
        for (size_t i = 0; i < REACH_AT_ONCE; i++)
                f->attempts[i].w.fd = -EBADF;
        f->up.pipe[0] = f->up.pipe[1] = f->down.pipe[0] = f->down.pipe[1] = -EBADF;
        f->next = h->flows;
        if (f->next)
                f->next->previous = f;
        h->flows = f;
        h->n_flows++;
        return f;
}

static struct flow *relay_begin(struct helper *h, int *fd) {
        struct flow *f = relay_new(h);

        if (!f)
                return NULL;
        f->client.w.fd = TAKE_FD(*fd);
        if (helper_watch(h, &f->client.w, ALL_EVENTS) >= 0)
                return f;
        relay_end(h, f, true);
        return NULL;
}

void relay_connected(struct helper *h, struct flow *f, int fd) {
        const int on = 1;
        struct net_tally *tally;

        tally = f->is_inward || !f->host
                        ? NULL
                        : net_journal_count(h->journal, NET_TALLY_CONNECTED, f->host, f->port, NULL);
        f->up.count = tally ? &tally->sent : NULL;
        f->down.count = tally ? &tally->received : NULL;
        f->server.w.fd = fd;
        f->server.is_writable = true;
        f->is_connected = true;
        /* Bytes go on as they come: who sent them has thought about when. */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void)setsockopt(f->client.w.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
        (void)setsockopt(f->client.w.fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
        if (helper_watch(h, &f->server.w, ALL_EVENTS) < 0)
                relay_end(h, f, true);
        else
                move_both(h, f);
}

static void accept_one(struct helper *h, const struct watch *w, int *fd) {
        bool is_published = w >= h->published && w < h->published + NET_PUBLISHES_MOST;
        struct flow *f = relay_begin(h, fd);

        if (!f)
                relay_reset(fd);
        else if (is_published)
                reach_inward(h, f, (uint32_t)(w - h->published));
        else
                reach_outward(h, f);
}

static void take_connections(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        for (int i = 0; i < ACCEPTS && !h->is_full; i++) {
                int fd;

                if (h->n_flows >= h->n_flows_most) {
                        set_full(h, true);
                        return;
                }
                fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (fd < 0 && relay_is_lack(-errno))
                        relay_pause(h);
                if (fd < 0)
                        return;
                accept_one(h, w, &fd);
        }
}

int relay_listen_for(struct helper *h, int fd, void (*ready)(struct helper *, struct watch *, uint32_t)) {
        size_t i = 0;
        int r;

        while (i < h->n_listeners && h->listeners[i].fd >= 0)
                i++;
        if (i == NET_SOCKETS_MOST)
                return -E2BIG;
        h->n_listeners += i == h->n_listeners;
        h->listeners[i] = (struct watch){fd, ready};
        r = helper_watch(h, &h->listeners[i], h->is_full ? 0 : EPOLLIN);
        if (r < 0)
                h->listeners[i].fd = -EBADF;
        return r;
}

int relay_listen(struct helper *h, int fd) {
        return relay_listen_for(h, fd, take_connections);
}

int relay_publish(struct helper *h, size_t number, int fd) {
        h->published[number] = (struct watch){fd, take_connections};
        return helper_watch(h, &h->published[number], h->is_full ? 0 : EPOLLIN);
}

static void close_watch(struct helper *h, struct watch *w) {
        if (w->fd >= 0)
                helper_unwatch(h, w);
        close_fdp(&w->fd);
}

void relay_unpublish(struct helper *h, size_t number) {
        close_watch(h, &h->published[number]);
        relay_narrow(h);
}

void relay_share(const struct helper *h, bool is_shared) {
        const int on = is_shared;

        for (size_t i = 0; i < h->n_listeners; i++)
                if (h->listeners[i].ready == take_connections)
                        (void)setsockopt(h->listeners[i].fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
}

void relay_narrow(struct helper *h) {
        for (size_t i = 0; i < h->n_listeners; i++) {
                struct watch *w = &h->listeners[i];
                union net_sockaddr own;
                socklen_t length = sizeof(own);
                struct net_socket s = {.kind = NET_SOCKET_LISTEN};

                if (w->ready != take_connections || getsockname(w->fd, &own.any, &length) < 0 ||
                    !net_address_from(&own, &s.address, &s.port) || reach_is_wanted(h, &s))
                        continue;
                net_layout_forget(&h->layout, &s);
                close_watch(h, w);
        }
        for (struct flow *f = h->flows, *next; f; f = next) {
                next = f->next;
                if (!reach_is_allowed(h, f))
                        relay_end(h, f, true);
        }
}

int relay_prepare(struct helper *h) {
        struct rlimit limit;
        size_t n = 0, spare;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return -errno;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        /* Two sockets each; pipes, lookups, the name server and other attempts need some. */
        spare = h->layout.n_sockets + h->rules.n_publishes + 2 * PIPES_MOST + CONTROL_SPARES + 64;
        if (limit.rlim_cur > spare)
                n = (size_t)((limit.rlim_cur - spare) / 2);
        h->n_flows_most = n < 16 ? 16 : n > RELAY_FLOWS_MOST ? RELAY_FLOWS_MOST : n;
        h->listeners = calloc(NET_SOCKETS_MOST, sizeof(*h->listeners));
        for (size_t i = 0; i < NET_PUBLISHES_MOST; i++)
                h->published[i].fd = -EBADF;
        h->buffer = malloc(RELAY_BUFFER);
        for (size_t i = 0; i < 2; i++)
                h->inward[i] = calloc(NET_CONNECTIONS_INWARD, sizeof(int));
        return h->listeners && h->buffer && h->inward[0] && h->inward[1] ? 0 : -ENOMEM;
}

void relay_finish(struct helper *h) {
        h->is_full = true;
        for (size_t i = 0; i < h->n_listeners; i++)
                close_watch(h, &h->listeners[i]);
        for (size_t i = 0; i < NET_PUBLISHES_MOST; i++)
                close_watch(h, &h->published[i]);
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
        int wait, wait_via;

        h->busy = NULL;
        for (; f; f = next) {
                next = f->next_busy;
                f->is_busy = false;
                if (!f->is_dead)
                        move_both(h, f);
        }
        wait = reach_turn(h);
        wait_via = via_turn(h);
        if (wait < 0 || (wait_via >= 0 && wait_via < wait))
                wait = wait_via;
        if (h->ends_at > 0)
                end_finished(h);
        else if (h->listen_at > 0 && sys_now_ms() >= h->listen_at)
                set_full(h, false);
        if (h->listen_at > 0 && (wait < 0 || wait > (int)RELAY_AGAIN_MS))
                wait = RELAY_AGAIN_MS;
        for (f = h->dead, h->dead = NULL; f; f = next) {
                next = f->next_dead;
                via_free(f);
                datagram_free(f);
                free(f->host);
                free(f->addresses);
                free(f);
        }
        return h->busy ? 0 : wait;
}
