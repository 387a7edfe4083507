/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-net: the host's side of a sandbox's network.  Started by nsrun for a run with --net=allow, it takes
 * over sockets that wait inside of the sandbox, and decides by the rules where a connection leads.  When it
 * ends nobody waits at these sockets any more, so that the sandbox has no network at all. */
#include <sys/epoll.h>
#include <sys/mman.h>

#include "ask.h"
#include "base/file.h"
#include "base/str.h"
#include "confine.h"
#include "desktop/browser.h"
#include "desktop/dbus_proxy.h"
#include "desktop/ssh_agent.h"

#define EVENTS    64
#define FINISH_MS 1000U /* how long it goes on after the sandbox, at most */

int helper_watch(struct helper *h, struct watch *w, uint32_t events) {
        struct epoll_event event = {.events = events, .data = {.ptr = w}};

        return epoll_ctl(h->epoll, EPOLL_CTL_ADD, w->fd, &event) < 0 ? -errno : 0;
}

int helper_watch_for(const struct helper *h, struct watch *w, uint32_t events) {
        struct epoll_event event = {.events = events, .data = {.ptr = w}};

        return epoll_ctl(h->epoll, EPOLL_CTL_MOD, w->fd, &event) < 0 ? -errno : 0;
}

void helper_unwatch(const struct helper *h, const struct watch *w) {
        struct epoll_event event = {.events = 0};

        (void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, w->fd, &event);
}

static int helper_read_rules(struct helper *h) {
        _cleanup_strv_ char **lines = NULL;
        _cleanup_free_ char *text = NULL;
        char *rest = NULL;
        int r = read_small_fd(NET_FD_RULES, 1U << 20, &text);

        (void)close(NET_FD_RULES);
        if (r < 0)
                return r;
        for (char *line = strtok_r(text, "\n", &rest); line && r >= 0; line = strtok_r(NULL, "\n", &rest))
                r = strv_add(&lines, line);
        if (r >= 0)
                r = net_rules_read(lines, &h->rules);
        return r < 0 ? r : net_layout_make(&h->rules, &h->layout);
}

static int helper_map_journal(struct helper *h) {
        void *at = mmap(NULL, sizeof(*h->journal), PROT_READ | PROT_WRITE, MAP_SHARED, NET_FD_JOURNAL, 0);

        (void)close(NET_FD_JOURNAL);
        if (at == MAP_FAILED)
                return -errno;
        h->journal = at;
        return 0;
}

/* The socket of a key, which is at this address, is nsrun-keys' (keys/wire.h).  1: it was handed over. */
static int hand_to_keys(const struct helper *h, const struct net_socket *s, int fd) {
        static const struct net_address loopback = {.bytes = {127, 0, 0, 1}};
        int r = 0;

        for (size_t i = 0; i < h->rules.n_keys && r == 0; i++)
                if (s->port == h->rules.keys[i].port && net_address_is_same(&s->address, &loopback)) {
                        r = sys_send_fds(NET_FD_KEYS, &s->port, sizeof(s->port), &fd, 1);
                        r = r < 0 ? r : 1;
                }
        if (r > 0)
                (void)close(fd);
        return r;
}

/* nsrun-keys has used one. */
static void key_used(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        struct net_key_used used;
        ssize_t n = recv(w->fd, &used, sizeof(used), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0)
                helper_unwatch(h, w);
        for (size_t i = 0; i < h->rules.n_keys && n == (ssize_t)sizeof(used); i++) {
                const struct net_key *key = &h->rules.keys[i];
                struct net_tally *tally;

                if (key->port != used.port)
                        continue;
                if (used.is_failed) {
                        net_journal_add(h->journal, NET_EVENT_UNREACHED, key->host, key->host_port, NULL);
                        continue;
                }
                tally = net_journal_count(h->journal, NET_TALLY_CONNECTED, key->host, key->host_port,
                                          NET_TALLY_KEY);
                if (tally) {
                        tally->n -= !used.is_begun;
                        tally->sent += used.sent;
                        tally->received += used.received;
                }
        }
}

/* Takes over a socket of the sandbox's. */
static int helper_take_socket(struct helper *h, const struct net_socket *s, int fd) {
        bool is_v6 = s->address.is_v6;
        int r;

        h->has_v6 |= is_v6;
        switch (s->kind) {
        case NET_SOCKET_DNS_UDP:
                return serve_udp(h, fd);
        case NET_SOCKET_DNS_TCP:
                return serve_tcp(h, fd);
        case NET_SOCKET_LISTEN:
                r = hand_to_keys(h, s, fd);
                return r == 0 ? relay_listen(h, fd) : r < 0 ? r : 0;
        case NET_SOCKET_UDP:
                return datagram_listen(h, fd, is_v6);
        case NET_SOCKET_CONNECT:
                if (h->n_inward[is_v6] == NET_CONNECTIONS_INWARD)
                        return -EBADMSG;
                h->inward[is_v6][h->n_inward[is_v6]++] = fd;
                return 0;
        }
        return -EBADMSG;
}

int helper_receive_sockets(struct helper *h, int from, const struct net_socket *sockets, size_t n_sockets) {
        bool are_new = sockets != h->layout.sockets;
        int r = 0;

        while (r >= 0) {
                uint16_t numbers[NET_HANDED_AT_ONCE];
                int fds[NET_HANDED_AT_ONCE];
                size_t n_fds = 0;
                ssize_t n = sys_receive_fds(from, numbers, sizeof(numbers), fds, NET_HANDED_AT_ONCE, &n_fds);

                if (n < 2)
                        return n < 0 ? (int)n : -EPIPE;
                if (numbers[0] == NET_HANDED_ALL && n_fds == 0)
                        return 0;
                if ((size_t)n != n_fds * sizeof(*numbers))
                        r = -EBADMSG;
                for (size_t i = 0; i < n_fds; i++) {
                        if (r >= 0)
                                r = numbers[i] < n_sockets
                                            ? helper_take_socket(h, &sockets[numbers[i]], fds[i])
                                            : -EBADMSG;
                        if (r < 0)
                                close_fdp(&fds[i]);
                        if (r >= 0 && are_new)
                                r = net_layout_add(&h->layout, &sockets[numbers[i]]);
                }
        }
        return r;
}

/* An answer to a question; or nobody writes to it any more: the run has ended, or the process that watched
 * it.  What the sandbox had sent by then would have gone out without nsrun-net, too. */
static void life_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        if (ask_take_answer(h, 0, w->fd))
                return;
        helper_unwatch(h, w);
        h->ends_at = sys_now_ms() + FINISH_MS;
        relay_finish(h);
}

static int helper_prepare(struct helper *h) {
        static struct watch life = {NET_FD_LIFE, life_ready}, keys = {NET_FD_KEYS, key_used};
        int r = helper_read_rules(h);

        if (r < 0)
                return r;
        (void)sys_close_range(NET_FD_PUBLISHED + (unsigned)h->rules.n_publishes + 1, ~0U);
        r = helper_map_journal(h);
        if (r >= 0)
                r = relay_prepare(h);
        if (r >= 0)
                r = h->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (r < 0)
                return r < 0 && h->epoll < 0 ? -errno : r;
        ask_begin(h, NET_FD_LIFE);
        h->pool = net_pool_new(&h->layout);
        r = h->pool ? confine() : -ENOMEM;
        if (r >= 0)
                r = lookup_start(h);
        if (r >= 0)
                r = helper_watch(h, &life, EPOLLIN);
        if (r >= 0 && h->rules.n_keys > 0)
                r = helper_watch(h, &keys, EPOLLIN);
        if (r >= 0)
                r = helper_receive_sockets(h, NET_FD_SANDBOX, h->layout.sockets, h->layout.n_sockets);
        for (size_t i = 0; i < h->rules.n_publishes && r >= 0; i++)
                r = relay_publish(h, i, NET_FD_PUBLISHED + (int)i);
        if (r >= 0)
                r = control_start(h, NET_FD_PUBLISHED + (int)h->rules.n_publishes);
        return r;
}

/* Of two times to wait; -1: for ever. */
static int sooner(int a, int b) {
        return a < 0 || (b >= 0 && b < a) ? b : a;
}

static _Noreturn void serve(struct helper *h) {
        int wait = -1;

        for (;;) {
                struct epoll_event events[EVENTS];
                int n = epoll_wait(h->epoll, events, EVENTS, wait);

                for (int i = 0; i < n; i++) {
                        struct watch *w = events[i].data.ptr;

                        w->ready(h, w, events[i].events);
                }
                wait = sooner(lookup_turn(h), ask_turn(h));
                wait = sooner(datagram_turn(h), wait);
                wait = sooner(relay_turn(h), wait);
                if (h->ends_at == 0)
                        continue;
                if (h->n_flows == 0 || sys_now_ms() >= h->ends_at)
                        _exit(0);
                if (wait < 0 || wait > 50)
                        wait = 50;
        }
}

int main(int argc, char **argv) {
        static struct helper h = {.epoll = -EBADF};
        struct stat st;
        int32_t answer;

        if (fstat(NET_FD_SANDBOX, &st) < 0 || !S_ISSOCK(st.st_mode)) {
                (void)fputs("nsrun-net: started by nsrun, not by people\n", stderr);
                return 125;
        }
        (void)signal(SIGPIPE, SIG_IGN);
        (void)umask(077);
        (void)chdir("/");
        if (argc == 2 && streq(argv[1], SSH_AGENT_ROLE))
                ssh_agent_main();
        if (argc == 2 && streq(argv[1], BROWSER_ROLE))
                browser_main();
        if (argc > 2 && streq(argv[1], DBUS_PROXY_ROLE)) {
                (void)signal(SIGPIPE, SIG_DFL);
                dbus_proxy_main(argv + 2);
        }
        answer = helper_prepare(&h);
        (void)send(NET_FD_SANDBOX, &answer, sizeof(answer), MSG_NOSIGNAL);
        (void)close(NET_FD_SANDBOX);
        if (answer < 0)
                return 125;
        serve(&h);
}
