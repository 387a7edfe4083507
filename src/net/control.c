/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the user allows and publishes while the sandbox lives, and who can be asked about names.  No command
 * reaches the socket, so that who asks is the user. */
#include "control.h"

#include <sys/epoll.h>
#include <sys/un.h>

#include "ask.h"
#include "base/array.h"
#include "base/str.h"
#include "relay.h"

static bool listens(int fd) {
        int value = 0, type = 0;
        socklen_t length = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 1 &&
               getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

int control_allow(struct helper *h, const struct net_rule *rule) {
        if (ARRAY_GROW(h->rules.rules, h->rules.n) < 0)
                return -ENOMEM;
        h->rules.rules[h->rules.n++] = *rule;
        return 0;
}

/* The one rule or port of the line. */
static int read_one(struct net_control *q, struct net_rules *ret) {
        int r;

        q->line[sizeof(q->line) - 1] = '\0';
        r = startswith(q->line, "allow ") || startswith(q->line, "publish ")
                    ? net_rules_read((char *[]){q->line, NULL}, ret)
                    : -EBADMSG;
        return r >= 0 && ret->n + ret->n_publishes != 1 ? -EBADMSG : r;
}

/* Sockets and a route that the sandbox hasn't.  A name gets its number here. */
static int find_what_lacks(struct helper *h, const struct net_rules *one, struct net_lacks *ret) {
        static const struct net_address any;
        static uint32_t n_own;
        const struct net_rule *rule = one->n > 0 ? one->rules : NULL;
        uint32_t index = rule && rule->kind == NET_RULE_NAME ? net_pool_find(h->pool, rule->name) : 1, at;
        struct net_layout l = {0};
        int r = index == 0 ? -ENOSPC : net_layout_make(one, &l);

        for (size_t i = 0; i < l.n_sockets && r >= 0; i++) {
                struct net_socket s = l.sockets[i];

                if (net_address_index(&s.address, &at) && at == NET_INDEX_NAMES)
                        s.address = net_index_address(index, s.address.is_v6);
                if (s.kind == NET_SOCKET_DNS_UDP || s.kind == NET_SOCKET_DNS_TCP ||
                    (s.address.is_v6 && !h->has_v6) || net_layout_has(&h->layout, &s))
                        continue;
                ret->takes_all |= memcmp(any.bytes, s.address.bytes, sizeof(any.bytes)) == 0;
                if (ret->n_sockets == NET_LACKS_MOST)
                        r = -E2BIG;
                else
                        ret->sockets[ret->n_sockets++] = s;
        }
        net_layout_clear(&l);
        /* Where it is there already nothing changes; a route wants an address that is new to the sandbox. */
        if (r >= 0 && rule && rule->kind == NET_RULE_RANGE && (h->has_v6 || !rule->range.address.is_v6)) {
                ret->routes[ret->n_routes++] = rule->range;
                n_own++;
                for (unsigned i = 0; i < ARRAY_SIZE(ret->own); i++)
                        ret->own[i] = net_index_address(NET_INDEX_END - n_own, i == 1);
        }
        return r;
}

static int control_publish(struct helper *h, const struct net_publish *p, int *fd) {
        size_t i = 0;
        int r;

        while (i < h->rules.n_publishes && h->published[i].fd >= 0)
                i++;
        if (i == NET_PUBLISHES_MOST)
                return -E2BIG;
        if (!listens(*fd) || fcntl(*fd, F_SETFL, O_NONBLOCK) < 0)
                return -EBADMSG;
        if (i == h->rules.n_publishes && ARRAY_GROW(h->rules.publishes, i) < 0)
                return -ENOMEM;
        r = relay_publish(h, i, *fd);
        if (r < 0) {
                h->published[i].fd = -EBADF;
                return r;
        }
        *fd = -EBADF;
        h->rules.publishes[i] = *p;
        h->rules.n_publishes += i == h->rules.n_publishes;
        return 0;
}

/* Both of a line's kinds: says what it lacks, and takes it over with that. */
static int control_add(struct helper *h, struct net_control *q, int *fds, size_t n_fds,
                       struct net_lacks *lacks) {
        _cleanup_net_rules_ struct net_rules one = {0};
        int r = h->ends_at > 0 ? -ESRCH : read_one(q, &one);

        if (r >= 0)
                r = find_what_lacks(h, &one, lacks);
        if (r < 0 || q->kind == NET_CONTROL_PREPARE)
                return r;
        if (n_fds != 2 + one.n_publishes)
                return -EBADMSG;
        if (lacks->n_sockets + lacks->n_routes > 0)
                r = fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0
                            ? -errno
                            : helper_receive_sockets(h, fds[1], lacks->sockets, lacks->n_sockets);
        if (r >= 0)
                r = one.n_publishes > 0 ? control_publish(h, one.publishes, &fds[2])
                                        : control_allow(h, one.rules);
        /* Its number is for good. */
        if (r >= 0 && one.n > 0 && one.rules->kind == NET_RULE_NAME)
                net_pool_hold(h->pool, net_pool_find(h->pool, one.rules->name));
        return r;
}

static int control_remove(struct helper *h, struct net_control *q) {
        _cleanup_net_rules_ struct net_rules one = {0};
        int r = read_one(q, &one);

        for (size_t i = h->rules.n; r >= 0 && one.n > 0 && i-- > 0;) {
                _cleanup_free_ char *line = net_rule_format(&h->rules.rules[i]);

                if (!line || !streq(line, q->line))
                        continue;
                if (one.rules->kind == NET_RULE_NAME)
                        net_pool_release(h->pool, net_pool_find(h->pool, one.rules->name));
                memmove(h->rules.rules + i, h->rules.rules + i + 1,
                        (--h->rules.n - i) * sizeof(*h->rules.rules));
                relay_narrow(h);
                return 0;
        }
        for (size_t i = h->rules.n_publishes; r >= 0 && one.n == 0 && i-- > 0;)
                if (h->published[i].fd >= 0 &&
                    net_address_is_same(&h->rules.publishes[i].address, &one.publishes->address) &&
                    h->rules.publishes[i].port == one.publishes->port) {
                        relay_unpublish(h, i);
                        return 0;
                }
        /* What was made for it is of no use. */
        relay_narrow(h);
        return r < 0 ? r : -ENOENT;
}

static bool is_packets(int fd) {
        int value = 0;
        socklen_t length = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length) == 0 && value == SOCK_SEQPACKET;
}

/* By the descriptor that came; without one, to the sender, which has an address then. */
struct asked_by {
        int fd;
        struct sockaddr_un address;
        socklen_t length;
};

static void send_answer(const struct watch *control, const struct asked_by *by, const void *bytes,
                        size_t n) {
        if (by->fd >= 0)
                (void)send(by->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        else
                (void)sendto(control->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL,
                             (const struct sockaddr *)&by->address, by->length);
}

static void control_answer(const struct helper *h, const struct watch *control, const struct asked_by *by,
                           int error, uint32_t index) {
        struct net_control_answer a = {.error = error};
        bool is_allowed = false;

        a.n_decided = ask_decided(index, a.name, &is_allowed);
        a.is_allowed = is_allowed;

        for (size_t i = 0; i < h->rules.n_publishes && i < NET_PUBLISHES_MOST; i++)
                if (h->published[i].fd >= 0)
                        a.publishes[a.n++] = h->rules.publishes[i];
        send_answer(control, by, &a, sizeof(a));
}

static void answer_question(struct helper *h, const struct watch *w, struct net_control *q,
                            const struct asked_by *by, int *fds, size_t n_fds) {
        struct net_lacks lacks = {.n_sockets = 0};
        int r = 0;

        if (q->kind == NET_CONTROL_PREPARE || q->kind == NET_CONTROL_ADD)
                r = lacks.error = control_add(h, q, fds, n_fds, &lacks);
        /* One that takes all addresses can be made beside those that take one. */
        if (q->kind >= NET_CONTROL_PREPARE)
                relay_share(h, q->kind == NET_CONTROL_PREPARE && lacks.takes_all);
        if (q->kind == NET_CONTROL_REMOVE)
                r = control_remove(h, q);
        else if (q->kind > NET_CONTROL_ADD || q->kind == NET_CONTROL_ASK || q->kind == 0)
                r = -EOPNOTSUPP;
        if (q->kind == NET_CONTROL_PREPARE)
                send_answer(w, by, &lacks, sizeof(lacks));
        else
                control_answer(h, w, by, r, q->index);
}

/* Descriptors that a command's connections don't get: those that come with a question have their place. */
static int spares[CONTROL_SPARES];

static void keep_spares(struct helper *h) {
        for (size_t i = 0; i < ARRAY_SIZE(spares); i++) {
                spares[i] = fcntl(h->epoll, F_DUPFD_CLOEXEC, 0);
                if (spares[i] >= 0)
                        continue;
                datagram_make_room(h);
                spares[i] = fcntl(h->epoll, F_DUPFD_CLOEXEC, 0);
        }
}

static void control_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        struct asked_by by = {.fd = -EBADF, .length = sizeof(by.address)};
        int fds[NET_HANDED_AT_ONCE];
        struct net_control q;
        size_t n_fds = 0;
        ssize_t n;

        for (size_t i = 0; i < ARRAY_SIZE(spares); i++)
                close_fdp(&spares[i]);
        (void)recvfrom(w->fd, NULL, 0, MSG_PEEK | MSG_DONTWAIT, (struct sockaddr *)&by.address, &by.length);
        n = sys_receive_fds(w->fd, &q, sizeof(q), fds, ARRAY_SIZE(fds), &n_fds);
        if (n == (ssize_t)sizeof(q) && q.kind == NET_CONTROL_ASK && n_fds == 1 && h->ends_at == 0 &&
            is_packets(fds[0])) {
                if (ask_join(h, fds[0]) >= 0)
                        n_fds = 0;
        } else if (n == (ssize_t)sizeof(q) && n_fds <= NET_CONTROL_FDS_MOST) {
                by.fd = n_fds > 0 ? fds[0] : -EBADF;
                answer_question(h, w, &q, &by, fds, n_fds);
        }
        for (size_t i = 0; i < n_fds; i++)
                close_fdp(&fds[i]);
        keep_spares(h);
}

int control_start(struct helper *h, int fd) {
        static struct watch control;

        keep_spares(h);
        control = (struct watch){fd, control_ready};
        return helper_watch(h, &control, EPOLLIN);
}
