/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a connection leads: what the address that it was made to stands for, what the host's resolver says
 * of that name, which of these addresses may be connected to, and which of them answers first. */
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>

#include "base/str.h"
#include "via.h"

/* ------------------------------------------ this machine's addresses */

/* As the kernel is asked whenever a connection is to be made. */

/* Whether an interface of this machine, or the one of that name, has the address.  -errno: it can't be
 * known. */
static int own_interface_has(const struct net_address *a, const char *name) {
        struct ifaddrs *list = NULL;
        bool has = false;

        if (getifaddrs(&list) < 0)
                return -errno;
        for (const struct ifaddrs *i = list; i && !has; i = i->ifa_next) {
                union net_sockaddr own = {.any = {.sa_family = AF_UNSPEC}};
                struct net_address address;
                uint16_t port;

                if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
                        memcpy(&own.v4, i->ifa_addr, sizeof(own.v4));
                else if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6)
                        memcpy(&own.v6, i->ifa_addr, sizeof(own.v6));
                has = net_address_from(&own, &address, &port) && net_address_is_same(&address, a) &&
                      (!name || streq(i->ifa_name, name));
        }
        freeifaddrs(list);
        return has;
}

/* The request for the way to an address, and what the kernel answers it with (rtnetlink(7)). */
struct route_request {
        struct nlmsghdr head;
        struct rtmsg route;
        struct rtattr to;
        uint8_t address[16];
};
union route_answer {
        struct nlmsghdr head;
        struct {
                struct nlmsghdr head;
                struct rtmsg route;
        } found;
        char room[4096];
};

/* Whether the way there ends in this machine, which no interface needs to have the address for: by
 * `ip route add local`, say.  What can't be known is. */
static bool is_route_local(const struct net_address *a) {
        _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        size_t length = a->is_v6 ? 16 : 4;
        struct route_request q = {
                .head = {.nlmsg_len = (uint32_t)(offsetof(struct route_request, address) + length),
                         .nlmsg_type = RTM_GETROUTE,
                         .nlmsg_flags = NLM_F_REQUEST},
                .route = {.rtm_family = a->is_v6 ? AF_INET6 : AF_INET, .rtm_dst_len = a->is_v6 ? 128 : 32},
                .to = {.rta_len = (unsigned short)RTA_LENGTH(length), .rta_type = RTA_DST}};
        union route_answer answer;
        ssize_t n;

        memcpy(q.address, a->bytes, length);
        if (fd < 0 || send(fd, &q, q.head.nlmsg_len, 0) < 0)
                return true;
        n = recv(fd, &answer, sizeof(answer), 0);
        if (n < (ssize_t)sizeof(answer.head))
                return true;
        /* There is none. */
        if (answer.head.nlmsg_type == NLMSG_ERROR)
                return false;
        return n < (ssize_t)sizeof(answer.found) || answer.head.nlmsg_type != RTM_NEWROUTE ||
               answer.found.route.rtm_type != RTN_UNICAST;
}

/* Whether it is an address of this machine: one of an interface's, or one that the
 * kernel gives a socket which is to send there as its own, too.  Nothing is sent. */
/* Whether what is sent there stays in this machine. */
static bool own_address(const struct net_address *a) {
        _cleanup_close_ int fd =
                socket(a->is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        union net_sockaddr to, own;
        socklen_t length = sizeof(own);
        struct net_address from;
        uint16_t port;

        if (net_address_carried(a, &from) && own_address(&from))
                return true;
        if (fd < 0 || own_interface_has(a, NULL) != 0)
                return true;
        if (connect(fd, &to.any, net_address_to(a, 9, &to)) < 0)
                return false;
        if (getsockname(fd, &own.any, &length) < 0 || !net_address_from(&own, &from, &port))
                return true;
        return net_address_is_same(&from, a) || is_route_local(a);
}

#define NEXT_MS    250U   /* between the beginnings of attempts (RFC 8305) */
#define LACKING_MS 30000U /* for how long a socket is waited for */

static void set_host(struct flow *f, const char *host) {
        free(f->host);
        f->host = str_format("%s%s", f->datagrams ? NET_HOST_UDP : "", host);
}

/* As the rules are asked about it. */
static uint32_t port_of_flow(const struct flow *f) {
        return f->port | (f->datagrams ? NET_UDP : 0);
}

static void refuse_flow(struct helper *h, struct flow *f, enum net_event_kind kind, const char *text) {
        net_journal_add(h->journal, kind, f->host ? f->host : "?", f->port, text);
        relay_end(h, f, true);
}

/* This machine is the sandbox of another nsrun-net, in which the address stands for a name: where that leads
 * to is judged there. */
static bool is_name_of_outer(const struct net_address *a) {
        const struct net_address own = net_index_address(NET_INDEX_OWN, false);
        uint32_t index;

        return net_address_index(a, &index) && index >= NET_INDEX_NAMES && own_interface_has(&own, "lo") > 0;
}

static bool may_connect(const struct helper *h, const struct net_address *a, uint32_t port) {
        if (net_rules_deny_address(&h->rules, a) || net_rules_are_led_to_proxy(&h->rules, a, port))
                return false;
        if (is_name_of_outer(a))
                return true;
        if (!net_address_home(a) && !own_address(a))
                return true;
        return net_rules_allow_address(&h->rules, a, port, true);
}

/* ----------------------------------------------------------------- attempts */

static void stop_waiting(struct helper *h, struct flow *f) {
        struct flow **at = &h->waiting;

        if (!f->is_waiting)
                return;
        while (*at != f)
                at = &(*at)->next_waiting;
        *at = f->next_waiting;
        f->is_waiting = false;
}

static void close_attempt(struct helper *h, struct flow *f, struct attempt *a) {
        const struct sockaddr nothing = {.sa_family = AF_UNSPEC};

        if (a->w.fd < 0)
                return;
        helper_unwatch(h, &a->w);
        if (f->is_inward && connect(a->w.fd, &nothing, sizeof(nothing)) == 0)
                h->inward[a->is_v6][h->n_inward[a->is_v6]++] = TAKE_FD(a->w.fd);
        close_fdp(&a->w.fd);
}

void reach_stop(struct helper *h, struct flow *f) {
        stop_waiting(h, f);
        for (size_t i = 0; i < REACH_AT_ONCE; i++)
                close_attempt(h, f, &f->attempts[i]);
        via_stop(h, f);
}

static size_t count_attempts(const struct flow *f) {
        size_t n = 0;

        for (size_t i = 0; i < REACH_AT_ONCE; i++)
                n += f->attempts[i].w.fd >= 0;
        return n;
}

static void attempt_won(struct helper *h, struct flow *f, struct attempt *a) {
        int fd;

        helper_unwatch(h, &a->w);
        fd = TAKE_FD(a->w.fd);
        f->is_v6_inward = a->is_v6;
        reach_stop(h, f);
        free(TAKE_PTR(f->addresses));
        f->n_addresses = f->next_address = 0;
        if (f->way == FLOW_VIA)
                via_connected(h, f, fd);
        else
                relay_connected(h, f, fd);
}

static void begin_attempts(struct helper *h, struct flow *f);

static void attempt_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        struct attempt *a = (struct attempt *)w;
        struct flow *f = a->flow;
        socklen_t length = sizeof(int);
        int error = 0;

        if (w->fd < 0 || f->is_dead)
                return;
        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
                error = errno;
        if (error == 0) {
                union net_sockaddr to;

                length = sizeof(to);
                if (getpeername(w->fd, &to.any, &length) == 0)
                        attempt_won(h, f, a);
                return;
        }
        close_attempt(h, f, a);
        f->next_at = 0;
        begin_attempts(h, f);
}

static int take_socket(struct helper *h, const struct flow *f, bool is_v6) {
        if (!f->is_inward)
                return socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        errno = EMFILE;
        return h->n_inward[is_v6] > 0 ? h->inward[is_v6][--h->n_inward[is_v6]] : -EBADF;
}

/* 0: it is under way, or has been made. */
static int begin_attempt(struct helper *h, struct flow *f, struct attempt *a, const struct net_address *to) {
        union net_sockaddr address;
        socklen_t length = net_address_to(to, f->way == FLOW_VIA ? h->rules.via->port : f->port, &address);
        int r;

        *a = (struct attempt){{take_socket(h, f, to->is_v6), attempt_ready}, f, to->is_v6};
        if (a->w.fd < 0)
                return -errno;
        /* Watched first: close_attempt() takes it off again. */
        r = helper_watch(h, &a->w, EPOLLOUT);
        if (r >= 0 && connect(a->w.fd, &address.any, length) < 0 && errno != EINPROGRESS)
                r = -errno;
        if (r < 0)
                close_attempt(h, f, a);
        return r;
}

/* Whether another moment is waited for a socket, which the flow's next attempt lacks. */
static bool waits_for_socket(struct helper *h, struct flow *f, uint64_t now) {
        datagram_make_room(h);
        if (f->lacking_since == 0)
                f->lacking_since = now;
        f->next_at = now + RELAY_AGAIN_MS;
        return h->ends_at == 0 && now - f->lacking_since < LACKING_MS;
}

/* Begins the next attempt if it is time, and says when the one after it begins. */
static void begin_attempts(struct helper *h, struct flow *f) {
        uint64_t now = sys_now_ms();

        while (f->next_address < f->n_addresses && f->next_at <= now) {
                struct attempt *a = f->attempts;
                int r;

                while (a < f->attempts + REACH_AT_ONCE && a->w.fd >= 0)
                        a++;
                if (a == f->attempts + REACH_AT_ONCE)
                        break;
                r = begin_attempt(h, f, a, &f->addresses[f->next_address]);
                if (relay_is_lack(r) && waits_for_socket(h, f, now))
                        break;
                f->next_address++;
                f->lacking_since = 0;
                if (r >= 0)
                        f->next_at = now + NEXT_MS;
        }
        if (count_attempts(f) == 0 && f->next_address == f->n_addresses) {
                if (f->way == FLOW_VIA)
                        via_unreached(h, f);
                else
                        refuse_flow(h, f, NET_EVENT_UNREACHED, NULL);
                return;
        }
        if (f->next_address == f->n_addresses)
                stop_waiting(h, f);
        else if (!f->is_waiting) {
                f->is_waiting = true;
                f->next_waiting = h->waiting;
                h->waiting = f;
        }
}

int reach_turn(struct helper *h) {
        uint64_t now = h->waiting ? sys_now_ms() : 0, first = UINT64_MAX;

        for (struct flow *f = h->waiting, *next; f; f = next) {
                next = f->next_waiting;
                if (f->next_at <= now && count_attempts(f) < REACH_AT_ONCE)
                        begin_attempts(h, f);
        }
        for (const struct flow *f = h->waiting; f; f = f->next_waiting)
                if (count_attempts(f) < REACH_AT_ONCE && f->next_at < first)
                        first = f->next_at;
        return first == UINT64_MAX ? -1 : first > now ? (int)(first - now) : 0;
}

/* ------------------------------------------------------------------ targets */

static void begin(struct helper *h, struct flow *f) {
        if (f->datagrams)
                datagram_begin(h, f);
        else
                begin_attempts(h, f);
}

/* False for want of memory, and then the flow has ended. */
static bool has_room(struct helper *h, struct flow *f, size_t n) {
        free(f->addresses);
        f->n_addresses = f->next_address = 0;
        f->addresses = calloc(n, sizeof(*f->addresses));
        if (!f->addresses)
                relay_end(h, f, true);
        return f->addresses;
}

/* Puts the addresses in turns of the two families, the first one's first. */
static void add_in_turns(struct flow *f, const struct net_address *from, size_t n) {
        size_t next[2] = {0, 0};
        bool is_v6 = n > 0 && from[0].is_v6;

        while (f->n_addresses < n) {
                size_t *i = &next[is_v6];

                while (*i < n && from[*i].is_v6 != is_v6)
                        (*i)++;
                if (*i < n)
                        f->addresses[f->n_addresses++] = from[(*i)++];
                is_v6 = !is_v6;
        }
}

void relay_resolved(struct helper *h, struct flow *f, const struct net_address *addresses, size_t n) {
        struct net_address allowed[LOOKUP_ADDRESSES];
        char text[NET_ADDRESS_TEXT] = "";
        size_t n_allowed = 0;

        f->is_looking = false;
        if (f->way == FLOW_VIA) {
                via_resolved(h, f, addresses, n);
                return;
        }
        for (size_t i = 0; i < n; i++)
                if (may_connect(h, &addresses[i], port_of_flow(f)))
                        allowed[n_allowed++] = addresses[i];
                else
                        net_address_format(&addresses[i], text);
        if (n_allowed == 0) {
                refuse_flow(h, f, n > 0 ? NET_EVENT_HOME : NET_EVENT_UNRESOLVED, text);
                return;
        }
        if (!has_room(h, f, n_allowed))
                return;
        add_in_turns(f, allowed, n_allowed);
        if (f->way == FLOW_TARGET)
                via_begin(h, f);
        else
                begin(h, f);
}

void reach_proxy(struct helper *h, struct flow *f, const struct net_address *addresses, size_t n) {
        if (!has_room(h, f, n))
                return;
        add_in_turns(f, addresses, n);
        begin_attempts(h, f);
}

static const struct net_address loopbacks[] = {{.bytes = {127, 0, 0, 1}},
                                               {.bytes = {[15] = 1}, .is_v6 = true}};

/* Of the sandbox's own no rule says anything. */
static void reach_loopback(struct helper *h, struct flow *f) {
        if (!has_room(h, f, ARRAY_SIZE(loopbacks)))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(loopbacks); i++)
                if (f->is_inward || !net_rules_deny_address(&h->rules, &loopbacks[i]))
                        f->addresses[f->n_addresses++] = loopbacks[i];
        if (f->n_addresses == 0)
                refuse_flow(h, f, NET_EVENT_PORT, NULL);
        else
                begin(h, f);
}

static void reach_host(struct helper *h, struct flow *f) {
        set_host(f, "localhost");
        if (net_rules_allow_host(&h->rules, port_of_flow(f)))
                reach_loopback(h, f);
        else
                refuse_flow(h, f, NET_EVENT_PORT, NULL);
}

static void reach_name(struct helper *h, struct flow *f, uint32_t index) {
        const char *name = net_pool_name(h->pool, index);

        set_host(f, name ? name : "an unused address");
        if (!f->host) {
                relay_end(h, f, true);
                return;
        }
        if (!name || !net_rules_allow_name(&h->rules, name, port_of_flow(f)) ||
            net_rules_lead_to_proxy(&h->rules, name, f->port)) {
                refuse_flow(h, f, NET_EVENT_PORT, NULL);
                return;
        }
        f->index = index;
        net_pool_hold(h->pool, index);
        if (!f->datagrams && net_rules_go_via(&h->rules, name, f->port)) {
                f->way = FLOW_TARGET;
                if (h->rules.via->kind != NET_PROXY_SOCKS5) {
                        via_begin(h, f);
                        return;
                }
        }
        f->is_looking = true;
        if (lookup_name(h, name, f) < 0) {
                f->is_looking = false;
                refuse_flow(h, f, NET_EVENT_UNRESOLVED, NULL);
        }
}

static void reach_literally(struct helper *h, struct flow *f, const struct net_address *to) {
        char text[NET_ADDRESS_TEXT];

        net_address_format(to, text);
        set_host(f, text);
        if (!net_rules_allow_address(&h->rules, to, port_of_flow(f), own_address(to))) {
                refuse_flow(h, f, NET_EVENT_PORT, NULL);
                return;
        }
        if (!has_room(h, f, 1))
                return;
        f->addresses[f->n_addresses++] = *to;
        begin(h, f);
}

void reach_address(struct helper *h, struct flow *f, const struct net_address *to) {
        uint32_t index;

        if (net_address_index(to, &index))
                index == NET_INDEX_HOST ? reach_host(h, f) : reach_name(h, f, index);
        else if (to->is_v6 ? net_address_is_same(to, &loopbacks[1]) : to->bytes[0] == 127)
                reach_host(h, f);
        else
                reach_literally(h, f, to);
}

/* The address and port that the sandbox's process connected to are those of the accepted socket. */
void reach_outward(struct helper *h, struct flow *f) {
        union net_sockaddr own;
        socklen_t length = sizeof(own);
        struct net_address to;

        if (getsockname(f->client.w.fd, &own.any, &length) < 0 || !net_address_from(&own, &to, &f->port))
                relay_end(h, f, true);
        else
                reach_address(h, f, &to);
}

void reach_inward(struct helper *h, struct flow *f, uint32_t number) {
        set_host(f, "the sandbox");
        f->is_inward = true;
        f->number = number;
        f->port = h->rules.publishes[number].inside;
        reach_loopback(h, f);
}

/* Whether a name's addresses, which were judged before, may be connected to still: those that are tried, or
 * that of what is connected.  A proxy's are its own matter. */
static bool may_stay(const struct helper *h, const struct flow *f) {
        /* A watch is first of all of it. */
        const struct watch *w = f->datagrams ? (const struct watch *)f->datagrams : &f->server.w;
        union net_sockaddr to;
        socklen_t length = sizeof(to);
        struct net_address a;
        uint16_t port;

        if (f->way == FLOW_VIA)
                return true;
        if (w->fd >= 0)
                return getpeername(w->fd, &to.any, &length) < 0 || !net_address_from(&to, &a, &port) ||
                       may_connect(h, &a, port_of_flow(f));
        for (size_t i = 0; i < f->n_addresses; i++)
                if (!may_connect(h, &f->addresses[i], port_of_flow(f)))
                        return false;
        return true;
}

bool reach_is_allowed(const struct helper *h, const struct flow *f) {
        const char *host = f->host ? f->host : "?", *of_udp = startswith(host, NET_HOST_UDP);
        const char *name = net_pool_name(h->pool, f->index);
        struct net_address a;

        if (f->is_inward)
                return h->published[f->number].fd >= 0;
        host = of_udp ? of_udp : host;
        return name ? net_rules_allow_name(&h->rules, name, port_of_flow(f)) && may_stay(h, f)
               : streq(host, "localhost") ? net_rules_allow_host(&h->rules, port_of_flow(f))
               : net_address_parse(host, &a)
                       ? net_rules_allow_address(&h->rules, &a, port_of_flow(f), own_address(&a))
                       : true;
}

bool reach_is_wanted(const struct helper *h, const struct net_socket *s) {
        static const struct net_address any;
        bool is_any = memcmp(any.bytes, s->address.bytes, sizeof(any.bytes)) == 0;
        const char *name;
        uint32_t index = 0;

        (void)net_address_index(&s->address, &index);
        name = net_pool_name(h->pool, index);
        for (size_t i = 0; i < h->rules.n; i++) {
                const struct net_rule *rule = &h->rules.rules[i];
                bool has_port = false;

                for (unsigned k = 0; k < rule->n_ports; k++)
                        has_port |= !rule->is_deny && !rule->is_udp && rule->ports[k] == s->port;
                if (has_port &&
                    (is_any || (rule->kind == NET_RULE_NAME && name && streq(rule->name, name)) ||
                     (rule->kind == NET_RULE_RANGE && net_range_holds(&rule->range, &s->address)) ||
                     (rule->kind == NET_RULE_HOST && (index == NET_INDEX_HOST || index == 0))))
                        return true;
        }
        return is_any && h->rules.asks && (s->port == 80 || s->port == 443);
}
