/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* UDP of rules that say so.  What one socket of the sandbox sends to one address belongs together: it gets a
 * socket outside, which is connected to the address that was judged, and what comes back there goes to the
 * sandbox's socket, from the address that it had sent to.  After two minutes of silence it is forgotten. */
#include <sys/epoll.h>

#include "relay.h"

#define DATAGRAMS_MOST 512U
#define IDLE_MS        120000U
#define AT_ONCE        64         /* packets of a turn */
#define HELD_MOST      4U         /* packets that wait for a name's address */
#define HELD_BYTES     (2U << 10) /* of each */
#define PACKET_MOST    (64U << 10)

struct held {
        size_t n;
        char bytes[HELD_BYTES];
};

struct datagrams {
        struct watch w; /* first of all: a watch is cast to it; outside, -EBADF until that is known */
        struct flow *flow;
        struct datagrams *newer, *older;
        uint64_t used_at;
        int inner; /* the sandbox's socket */
        union net_sockaddr client;
        socklen_t client_length;
        struct net_address to;
        struct held *held[HELD_MOST];
        size_t n_held;
};

struct inner {
        struct watch w; /* first of all */
        uint16_t port;
};

/* --------------------------------------------------------------- their list */

static void datagram_unlink(struct helper *h, struct datagrams *d) {
        *(d->newer ? &d->newer->older : &h->newest) = d->older;
        *(d->older ? &d->older->newer : &h->oldest) = d->newer;
        d->newer = d->older = NULL;
        h->n_datagrams--;
}

static void datagram_link(struct helper *h, struct datagrams *d) {
        d->used_at = sys_now_ms();
        d->older = h->newest;
        *(h->newest ? &h->newest->newer : &h->oldest) = d;
        h->newest = d;
        h->n_datagrams++;
}

void datagram_stop(struct helper *h, struct flow *f) {
        struct datagrams *d = f->datagrams;

        if (!d)
                return;
        if (d->w.fd >= 0)
                helper_unwatch(h, &d->w);
        close_fdp(&d->w.fd);
        datagram_unlink(h, d);
}

void datagram_free(struct flow *f) {
        for (size_t i = 0; f->datagrams && i < f->datagrams->n_held; i++)
                free(f->datagrams->held[i]);
        free(f->datagrams);
}

void datagram_make_room(struct helper *h) {
        for (size_t n = h->n_datagrams / 4 + 1; n > 0 && h->oldest; n--)
                relay_end(h, h->oldest->flow, false);
}

int datagram_turn(struct helper *h) {
        uint64_t now = h->oldest ? sys_now_ms() : 0;

        while (h->oldest && h->oldest->used_at + IDLE_MS <= now)
                relay_end(h, h->oldest->flow, false);
        return h->oldest ? (int)(h->oldest->used_at + IDLE_MS - now) : -1;
}

/* ------------------------------------------------------------------- inward */

/* From the address that the sandbox had sent to. */
static void send_inward(const struct datagrams *d, char *bytes, size_t n) {
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
        } control = {.room = {0}};
        union {
                struct in6_pktinfo v6;
                struct in_pktinfo v4;
        } info = {.v6 = {.ipi6_ifindex = 0}};
        const size_t size = d->to.is_v6 ? sizeof(info.v6) : sizeof(info.v4);
        struct iovec iov = {.iov_base = bytes, .iov_len = n};
        union net_sockaddr client = d->client;
        struct msghdr message = {.msg_name = &client,
                                 .msg_namelen = d->client_length,
                                 .msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control};

        if (d->to.is_v6)
                memcpy(&info.v6.ipi6_addr, d->to.bytes, 16);
        else
                memcpy(&info.v4.ipi_spec_dst, d->to.bytes, 4);
        control.header.cmsg_level = d->to.is_v6 ? IPPROTO_IPV6 : IPPROTO_IP;
        control.header.cmsg_type = d->to.is_v6 ? IPV6_PKTINFO : IP_PKTINFO;
        control.header.cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(&control.header), &info, size);
        message.msg_controllen = (socklen_t)CMSG_SPACE(size); /* musl's type */
        (void)sendmsg(d->inner, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void outer_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        struct datagrams *d = (struct datagrams *)w;

        for (int i = 0; i < AT_ONCE && w->fd >= 0; i++) {
                ssize_t n = recv(w->fd, h->buffer, PACKET_MOST, MSG_DONTWAIT);

                if (n < 0 && errno == EAGAIN)
                        return;
                /* That nobody listens there, say. */
                if (n < 0)
                        continue;
                send_inward(d, h->buffer, (size_t)n);
                if (d->flow->down.count)
                        *d->flow->down.count += (size_t)n;
                datagram_unlink(h, d);
                datagram_link(h, d);
        }
}

/* ------------------------------------------------------------------ outward */

static void send_outward(const struct datagrams *d, const char *bytes, size_t n) {
        if (send(d->w.fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n && d->flow->up.count)
                *d->flow->up.count += n;
}

/* A socket to the first of the addresses that there is a way to.  -errno. */
static int connect_first(const struct flow *f) {
        int r = -ENETUNREACH;

        for (size_t i = 0; i < f->n_addresses; i++) {
                const struct net_address *to = &f->addresses[i];
                _cleanup_close_ int fd =
                        socket(to->is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                union net_sockaddr address;

                if (fd >= 0 && connect(fd, &address.any, net_address_to(to, f->port, &address)) == 0)
                        return TAKE_FD(fd);
                r = -errno;
        }
        return r;
}

void datagram_begin(struct helper *h, struct flow *f) {
        struct datagrams *d = f->datagrams;
        struct net_tally *tally;

        d->w.fd = connect_first(f);
        if (relay_is_lack(d->w.fd) && h->oldest != d) {
                relay_end(h, h->oldest->flow, false);
                d->w.fd = connect_first(f);
        }
        if (d->w.fd < 0 || helper_watch(h, &d->w, EPOLLIN) < 0) {
                net_journal_add(h->journal, NET_EVENT_UNREACHED, f->host ? f->host : "?", f->port, NULL);
                relay_end(h, f, true);
                return;
        }
        tally = f->host ? net_journal_count(h->journal, NET_TALLY_CONNECTED, f->host, f->port, NULL) : NULL;
        f->up.count = tally ? &tally->sent : NULL;
        f->down.count = tally ? &tally->received : NULL;
        for (size_t i = 0; i < d->n_held; i++) {
                send_outward(d, d->held[i]->bytes, d->held[i]->n);
                free(TAKE_PTR(d->held[i]));
        }
        d->n_held = 0;
}

static void hold_packet(struct datagrams *d, const char *bytes, size_t n) {
        struct held *held = d->n_held < HELD_MOST && n <= HELD_BYTES ? malloc(sizeof(*held)) : NULL;

        if (!held)
                return;
        held->n = n;
        memcpy(held->bytes, bytes, n);
        d->held[d->n_held++] = held;
}

/* Those that the packet belongs to; new ones where there are none. */
static struct datagrams *find_datagrams(struct helper *h, const struct inner *inner,
                                        const union net_sockaddr *from, socklen_t length,
                                        const struct net_address *to, bool *ret_is_new) {
        struct datagrams *d;
        struct flow *f;

        *ret_is_new = false;
        for (d = h->newest; d; d = d->older)
                if (d->inner == inner->w.fd && d->client_length == length &&
                    memcmp(&d->client, from, length) == 0 && net_address_is_same(&d->to, to))
                        return d;
        if (h->n_datagrams >= DATAGRAMS_MOST)
                relay_end(h, h->oldest->flow, false);
        d = calloc(1, sizeof(*d));
        f = d ? relay_new(h) : NULL;
        if (!f) {
                free(d);
                return NULL;
        }
        *d = (struct datagrams){.w = {-EBADF, outer_ready},
                                .flow = f,
                                .inner = inner->w.fd,
                                .client = *from,
                                .client_length = length,
                                .to = *to};
        f->datagrams = d;
        f->port = inner->port;
        datagram_link(h, d);
        *ret_is_new = true;
        return d;
}

/* What the packet was sent to, which the kernel says beside it. */
static bool read_target(struct msghdr *message, struct net_address *ret) {
        const struct cmsghdr *c = CMSG_FIRSTHDR(message);
        struct in6_pktinfo v6;
        struct in_pktinfo v4;

        if (!c)
                return false;
        *ret = (struct net_address){.is_v6 = c->cmsg_level == IPPROTO_IPV6};
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
                memcpy(&v4, CMSG_DATA(c), sizeof(v4));
                memcpy(ret->bytes, &v4.ipi_addr, 4);
                return true;
        }
        if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
                memcpy(&v6, CMSG_DATA(c), sizeof(v6));
                memcpy(ret->bytes, &v6.ipi6_addr, 16);
                return true;
        }
        return false;
}

static void inner_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        const struct inner *inner = (const struct inner *)w;

        for (int i = 0; i < AT_ONCE; i++) {
                union {
                        struct cmsghdr header;
                        char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
                } control;
                struct iovec iov = {.iov_base = h->buffer, .iov_len = PACKET_MOST};
                union net_sockaddr from;
                struct msghdr message = {.msg_name = &from,
                                         .msg_namelen = sizeof(from),
                                         .msg_iov = &iov,
                                         .msg_iovlen = 1,
                                         .msg_control = &control,
                                         .msg_controllen = sizeof(control)};
                struct net_address to;
                struct datagrams *d;
                bool is_new;
                ssize_t n;

                memset(&from, 0, sizeof(from));
                n = recvmsg(w->fd, &message, MSG_DONTWAIT);
                if (n < 0)
                        return;
                d = h->ends_at == 0 && read_target(&message, &to)
                            ? find_datagrams(h, inner, &from, message.msg_namelen, &to, &is_new)
                            : NULL;
                if (!d)
                        continue;
                datagram_unlink(h, d);
                datagram_link(h, d);
                if (d->w.fd >= 0)
                        send_outward(d, h->buffer, (size_t)n);
                else
                        hold_packet(d, h->buffer, (size_t)n);
                if (is_new)
                        reach_address(h, d->flow, &to);
        }
}

int datagram_listen(struct helper *h, int fd, bool is_v6) {
        struct inner *inner = calloc(1, sizeof(*inner));
        union net_sockaddr own;
        socklen_t length = sizeof(own);
        struct net_address address;
        const int on = 1;
        int r;

        if (!inner)
                return -ENOMEM;
        inner->w = (struct watch){fd, inner_ready};
        if (getsockname(fd, &own.any, &length) < 0 || !net_address_from(&own, &address, &inner->port))
                r = -EBADMSG;
        else if (setsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_RECVPKTINFO : IP_PKTINFO,
                            &on, sizeof(on)) < 0)
                r = -errno;
        else
                r = helper_watch(h, &inner->w, EPOLLIN);
        if (r < 0)
                free(inner);
        return r;
}
