/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses, routes and sockets of the rules.  Linear searches: a run has some dozens of rules. */
#include "layout.h"

#include "base/array.h"

static const struct net_range range_v4 = {{.bytes = {198, 18}}, 15};
/* fd6e:7372:756e::/96, "nsrun". */
static const struct net_range range_v6 = {{.bytes = {0xfd, 0x6e, 0x73, 0x72, 0x75, 0x6e}, .is_v6 = true},
                                          96};
static const uint16_t asked_ports[] = {80, 443};
static const struct net_address any_v4 = {.is_v6 = false}, any_v6 = {.is_v6 = true};
static const struct net_address loopback_v4 = {.bytes = {127, 0, 0, 1}},
                                loopback_v6 = {.bytes = {[15] = 1}, .is_v6 = true};

struct net_address net_index_address(uint32_t index, bool is_v6) {
        struct net_address a = is_v6 ? range_v6.address : range_v4.address;
        size_t at = is_v6 ? 12 : 0;

        for (size_t i = 0; i < 4; i++)
                a.bytes[at + i] |= (uint8_t)(index >> (24 - 8 * i));
        return a;
}

bool net_address_index(const struct net_address *a, uint32_t *ret) {
        size_t at = a->is_v6 ? 12 : 0;
        uint32_t index = 0;

        if (!net_range_holds(a->is_v6 ? &range_v6 : &range_v4, a))
                return false;
        for (size_t i = 0; i < 4; i++)
                index = index << 8 | a->bytes[at + i];
        if (!a->is_v6)
                index &= NET_INDEX_END - 1;
        if (index >= NET_INDEX_END)
                return false;
        *ret = index;
        return true;
}

static bool has_socket(const struct net_layout *l, enum net_socket_kind kind, const struct net_address *a,
                       uint16_t port) {
        for (size_t i = 0; i < l->n_sockets; i++)
                if (l->sockets[i].kind == kind && l->sockets[i].port == port &&
                    net_address_is_same(&l->sockets[i].address, a))
                        return true;
        return false;
}

bool net_layout_has(const struct net_layout *l, const struct net_socket *s) {
        return has_socket(l, s->kind, &s->address, s->port) ||
               has_socket(l, s->kind, s->address.is_v6 ? &any_v6 : &any_v4, s->port);
}

int net_layout_add(struct net_layout *l, const struct net_socket *s) {
        if (l->n_sockets == NET_SOCKETS_MOST)
                return -E2BIG;
        if (ARRAY_GROW(l->sockets, l->n_sockets) < 0)
                return -ENOMEM;
        l->sockets[l->n_sockets++] = *s;
        return 0;
}

void net_layout_forget(struct net_layout *l, const struct net_socket *s) {
        for (size_t i = l->n_sockets; i-- > 0;)
                if (l->sockets[i].kind == s->kind && l->sockets[i].port == s->port &&
                    net_address_is_same(&l->sockets[i].address, &s->address))
                        l->sockets[i] = l->sockets[--l->n_sockets];
}

static int add_socket(struct net_layout *l, enum net_socket_kind kind, const struct net_address *a,
                      uint16_t port) {
        return net_layout_add(l, &(struct net_socket){kind, *a, port});
}

/* Adds a socket of a rule, unless it is there or one that takes all addresses is. */
static int add_listen(struct net_layout *l, enum net_socket_kind kind, const struct net_address *a,
                      uint16_t port) {
        const struct net_socket s = {kind, *a, port};

        return net_layout_has(l, &s) ? 0 : net_layout_add(l, &s);
}

/* Both families' address of a number. */
static int add_index(struct net_layout *l, enum net_socket_kind kind, uint32_t index, uint16_t port) {
        const struct net_address v4 = net_index_address(index, false), v6 = net_index_address(index, true);
        int r = add_listen(l, kind, &v4, port);

        return r < 0 ? r : add_listen(l, kind, &v6, port);
}

static int layout_add_rule(struct net_layout *l, const struct net_rule *rule, uint16_t port) {
        bool is_single = rule->range.bits == net_address_bits(&rule->range.address);
        const struct net_address *any = rule->range.address.is_v6 ? &any_v6 : &any_v4;
        enum net_socket_kind kind = rule->is_udp ? NET_SOCKET_UDP : NET_SOCKET_LISTEN;
        int r = 0;

        switch (rule->kind) {
        case NET_RULE_WILDCARD:
                r = add_listen(l, kind, &any_v4, port);
                return r < 0 ? r : add_listen(l, kind, &any_v6, port);
        case NET_RULE_RANGE:
                return add_listen(l, kind, is_single ? &rule->range.address : any, port);
        case NET_RULE_HOST:
                r = add_index(l, kind, NET_INDEX_HOST, port);
                if (r >= 0)
                        r = add_listen(l, kind, &loopback_v4, port);
                return r < 0 ? r : add_listen(l, kind, &loopback_v6, port);
        case NET_RULE_NAME:
                for (size_t i = 0; i < l->n_names && r >= 0; i++)
                        if (streq(l->names[i], rule->name))
                                r = add_index(l, kind, NET_INDEX_NAMES + (uint32_t)i, port);
                return r;
        }
        return 0;
}

static int layout_add_name(struct net_layout *l, const char *name) {
        for (size_t i = 0; i < l->n_names; i++)
                if (streq(l->names[i], name))
                        return 0;
        if (ARRAY_GROW(l->names, l->n_names) < 0)
                return -ENOMEM;
        l->names[l->n_names++] = name;
        return 0;
}

static int add_route(struct net_layout *l, const struct net_range *range) {
        for (size_t i = 0; i < l->n_routes; i++)
                if (net_range_is_within(range, &l->routes[i]))
                        return 0;
        if (ARRAY_GROW(l->routes, l->n_routes) < 0)
                return -ENOMEM;
        l->routes[l->n_routes++] = *range;
        return 0;
}

/* Those that take all addresses come first: others of the same port are not made then. */
static int add_listens(struct net_layout *l, const struct net_rules *rules, bool for_any) {
        int r = 0;

        for (size_t i = 0; i < rules->n && r >= 0; i++) {
                const struct net_rule *rule = &rules->rules[i];
                bool is_any = rule->kind == NET_RULE_WILDCARD ||
                              (rule->kind == NET_RULE_RANGE &&
                               rule->range.bits < net_address_bits(&rule->range.address));

                for (unsigned k = 0; k < rule->n_ports && r >= 0 && !rule->is_deny && is_any == for_any; k++)
                        r = layout_add_rule(l, rule, rule->ports[k]);
        }
        return r;
}

static int layout_fill(struct net_layout *l, const struct net_rules *rules) {
        bool is_inward = rules->n_publishes > 0 || rules->publishes_later;
        int r = add_route(l, &range_v4);

        if (r >= 0)
                r = add_route(l, &range_v6);
        if (r >= 0)
                r = add_socket(l, NET_SOCKET_DNS_UDP, &loopback_v4, 53);
        if (r >= 0)
                r = add_socket(l, NET_SOCKET_DNS_TCP, &loopback_v4, 53);
        for (size_t i = 0; i < rules->n && r >= 0; i++) {
                const struct net_rule *rule = &rules->rules[i];

                if (!rule->is_deny && rule->kind == NET_RULE_NAME)
                        r = layout_add_name(l, rule->name);
                if (!rule->is_deny && rule->kind == NET_RULE_RANGE)
                        r = add_route(l, &rule->range);
        }
        if (r >= 0)
                r = add_listens(l, rules, true);
        /* The ports that an answer allows, before it is known of which names. */
        for (size_t i = 0; i < ARRAY_SIZE(asked_ports) && rules->asks && r >= 0; i++) {
                r = add_listen(l, NET_SOCKET_LISTEN, &any_v4, asked_ports[i]);
                if (r >= 0)
                        r = add_listen(l, NET_SOCKET_LISTEN, &any_v6, asked_ports[i]);
        }
        if (r >= 0)
                r = add_listens(l, rules, false);
        for (size_t i = 0; i < rules->n_keys && r >= 0; i++)
                r = add_listen(l, NET_SOCKET_LISTEN, &loopback_v4, rules->keys[i].port);
        for (unsigned i = 0; i < NET_CONNECTIONS_INWARD && is_inward && r >= 0; i++) {
                r = add_socket(l, NET_SOCKET_CONNECT, &loopback_v4, 0);
                if (r >= 0)
                        r = add_socket(l, NET_SOCKET_CONNECT, &loopback_v6, 0);
        }
        return r;
}

int net_layout_make(const struct net_rules *rules, struct net_layout *ret) {
        struct net_layout l = {0};
        int r = layout_fill(&l, rules);

        if (r < 0) {
                net_layout_clear(&l);
                return r;
        }
        *ret = l;
        return 0;
}

void net_layout_clear(struct net_layout *l) {
        free(l->sockets);
        free(l->routes);
        free((void *)l->names);
        *l = (struct net_layout){0};
}
