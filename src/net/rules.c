/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules read, written and asked. */
#include "rules.h"

#include "base/array.h"
#include "base/str.h"
#include "question.h"

static const uint16_t default_ports[] = {80, 443};

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

const char *net_name_normalise(const char *text, char to[NET_NAME_MOST + 1]) {
        size_t n = strlen(text), label = 0;
        const char *last;

        if (n > 0 && text[n - 1] == '.')
                n--;
        if (n == 0 || n > NET_NAME_MOST)
                return "not a host's name";
        for (size_t i = 0; i <= n; i++) {
                char c = i < n ? text[i] : '.';

                if ((unsigned char)c >= 0x80)
                        return "not a host's name in ASCII: write it with xn--";
                if (c == '.') {
                        if (label == 0 || label > 63)
                                return "not a host's name";
                        label = 0;
                } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' ||
                           c == '_')
                        label++;
                else
                        return "not a host's name";
                to[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        }
        to[n] = '\0';
        last = strrchr(to, '.') ? strrchr(to, '.') + 1 : to;
        /* The C library would take it for an address: 1.2, 0x7f.1, 2130706433. */
        if (is_digit(*last))
                return "neither a host's name nor an address";
        return NULL;
}

const char *net_port_parse(const char **at, uint16_t *ret) {
        unsigned long port = 0;
        const char *p = *at;

        if (!is_digit(*p))
                return "not a port";
        while (is_digit(*p) && port <= UINT16_MAX)
                port = port * 10 + (unsigned long)(*p++ - '0');
        if (port == 0 || port > UINT16_MAX)
                return "not a port";
        *at = p;
        *ret = (uint16_t)port;
        return NULL;
}

static void add_port(struct net_rule *rule, uint16_t port) {
        unsigned i = rule->n_ports;

        for (unsigned j = 0; j < rule->n_ports; j++)
                if (rule->ports[j] == port)
                        return;
        for (; i > 0 && rule->ports[i - 1] > port; i--)
                rule->ports[i] = rule->ports[i - 1];
        rule->ports[i] = port;
        rule->n_ports++;
}

static const char *parse_ports(const char *text, struct net_rule *rule) {
        for (bool is_first = true; *text || is_first; is_first = false) {
                uint16_t port;
                const char *why = net_port_parse(&text, &port);

                if (why)
                        return why;
                if (port == 53)
                        return "port 53 is the sandbox's own name server's";
                if (rule->n_ports == NET_PORTS_MOST)
                        return "more than 16 ports";
                add_port(rule, port);
                if (*text == ',' && text[1])
                        text++;
                else if (*text)
                        return "not a port";
        }
        return NULL;
}

/* Cuts "HOST:PORTS" in two; *ret_ports is NULL where there are none.  An IPv6 address with ports, or with a
 * range's bits, is in brackets: [ADDRESS], [ADDRESS]/BITS, [ADDRESS/BITS]. */
static const char *split_host(const char *text, char *host, size_t size, const char **ret_ports) {
        const char *colon = strchr(text, ':'), *close = NULL;
        size_t n;

        *ret_ports = NULL;
        if (text[0] == '[') {
                close = strchr(text, ']');
                if (!close)
                        return "'[' without ']'";
                colon = strchr(close, ':');
                n = (size_t)((colon ? colon : text + strlen(text)) - text);
                if (n >= size)
                        return "not a host's name";
                (void)snprintf(host, size, "%.*s%.*s", (int)(close - text - 1), text + 1,
                               (int)(n - (size_t)(close - text) - 1), close + 1);
        } else {
                /* A bare IPv6 address. */
                if (colon && strchr(colon + 1, ':'))
                        colon = NULL;
                n = (size_t)((colon ? colon : text + strlen(text)) - text);
                if (n >= size)
                        return "not a host's name";
                (void)snprintf(host, size, "%.*s", (int)n, text);
        }
        if (colon)
                *ret_ports = colon + 1;
        return NULL;
}

static bool range_is_localhost(const struct net_range *range) {
        static const struct net_address v4 = {.bytes = {127, 0, 0, 1}},
                                        v6 = {.bytes = {[15] = 1}, .is_v6 = true};

        return range->bits == net_address_bits(&range->address) &&
               (net_address_is_same(&range->address, &v4) || net_address_is_same(&range->address, &v6));
}

static const char *parse_address(struct net_rule *rule) {
        /* What the kernel takes for loopback, besides: 0.0.0.0 and ::. */
        static const struct net_range loopbacks[] = {
                {{.bytes = {127}}, 8}, {{.bytes = {0}}, 8}, {{.is_v6 = true}, 96}};
        static const struct net_range names = {{.bytes = {198, 18}}, 15},
                                      names_v6 = {{.bytes = {0xfd, 0x6e, 0x73, 0x72, 0x75, 0x6e},
                                                   .is_v6 = true},
                                                  48},
                                      link = {{.bytes = {0xfe, 0x80}, .is_v6 = true}, 10};

        rule->kind = NET_RULE_RANGE;
        if (rule->is_deny)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(loopbacks); i++) {
                if (!net_range_is_within(&rule->range, &loopbacks[i]))
                        continue;
                if (!range_is_localhost(&rule->range))
                        return "of loopback only localhost can be had";
                rule->kind = NET_RULE_HOST;
        }
        if (net_range_is_within(&rule->range, &names))
                return "addresses of 198.18.0.0/15 stand for names inside";
        if (net_range_is_within(&rule->range, &names_v6))
                return "addresses of fd6e:7372:756e::/48 stand for names inside";
        if (rule->range.bits == 128 && net_range_is_within(&rule->range, &link))
                return "a link-local address is none without its interface";
        return NULL;
}

const char *net_rule_parse(const char *text, bool is_deny, struct net_rule *ret) {
        const char *of_udp = startswith(text, "udp:");
        struct net_rule rule = {.is_deny = is_deny, .is_udp = of_udp};
        char host[NET_NAME_MOST + 16];
        const char *ports, *why = split_host(of_udp ? of_udp : text, host, sizeof(host), &ports);

        if (why)
                return why;
        if (of_udp && is_deny)
                return "a host is denied for TCP and UDP alike";
        if (of_udp && !ports)
                return "a host of UDP needs a port";
        if (is_deny && ports)
                return "a host alone, without ports, is denied";
        if (streq(host, "localhost") || streq(host, NET_HOST_NAME))
                rule.kind = NET_RULE_HOST;
        else if (net_range_parse(host, &rule.range))
                why = parse_address(&rule);
        else {
                rule.kind = startswith(host, "*.") ? NET_RULE_WILDCARD : NET_RULE_NAME;
                why = strchr(host, '/')
                              ? "not a range of addresses"
                              : net_name_normalise(rule.kind == NET_RULE_WILDCARD ? host + 2 : host,
                                                   rule.name);
                if (!why && (streq(rule.name, "localhost") || streq(rule.name, "nsrun.internal") ||
                             strstr(rule.name, ".nsrun.internal")))
                        why = "that name is nsrun's own, or loopback's";
        }
        if (!why && rule.kind == NET_RULE_HOST && is_deny)
                why = "the host's loopback can't be reached unless --allow says so";
        if (!why && rule.kind == NET_RULE_HOST && !ports)
                why = "localhost needs a port";
        if (!why && ports)
                why = parse_ports(ports, &rule);
        if (why)
                return why;
        for (size_t i = 0; i < ARRAY_SIZE(default_ports) && !ports && !is_deny; i++)
                add_port(&rule, default_ports[i]);
        *ret = rule;
        return NULL;
}

const char *net_publish_parse(const char *text, struct net_publish *ret) {
        struct net_publish p = {.address = {.bytes = {127, 0, 0, 1}}};
        const char *at = text, *why;

        if (*at == '[' || strspn(at, "0123456789.") != strspn(at, "0123456789")) {
                const char *end = *at == '[' ? strchr(at, ']') : strchr(at, ':');
                size_t skip = *at == '[', n = end ? (size_t)(end - at) - skip : 0;
                char address[NET_ADDRESS_TEXT];

                if (!end || n >= sizeof(address) || end[skip] != ':')
                        return "not an address with a port";
                memcpy(address, at + skip, n);
                address[n] = '\0';
                if (!net_address_parse(address, &p.address))
                        return "not an address";
                at = end + skip + 1;
        }
        why = net_port_parse(&at, &p.port);
        p.inside = p.port;
        if (!why && *at == ':') {
                at++;
                why = net_port_parse(&at, &p.inside);
        }
        if (why || *at)
                return why ? why : "not a port";
        *ret = p;
        return NULL;
}

/* ---------------------------------------------------------------- as lines */

static void format_host(struct strbuf *b, const struct net_rule *rule) {
        char text[NET_ADDRESS_TEXT];

        switch (rule->kind) {
        case NET_RULE_HOST:
                strbuf_add(b, "localhost");
                return;
        case NET_RULE_WILDCARD:
                strbuf_addf(b, "*.%s", rule->name);
                return;
        case NET_RULE_NAME:
                strbuf_add(b, rule->name);
                return;
        case NET_RULE_RANGE:
                net_address_format(&rule->range.address, text);
                strbuf_addf(b, rule->range.address.is_v6 ? "[%s]" : "%s", text);
                if (rule->range.bits < net_address_bits(&rule->range.address))
                        strbuf_addf(b, "/%u", rule->range.bits);
                return;
        }
}

char *net_rule_format(const struct net_rule *rule) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, rule->is_deny ? "deny " : "allow ");
        strbuf_add(&b, rule->is_udp ? "udp:" : "");
        format_host(&b, rule);
        for (unsigned i = 0; i < rule->n_ports; i++)
                strbuf_addf(&b, "%c%u", i == 0 ? ':' : ',', rule->ports[i]);
        return strbuf_finish(&b);
}

char *net_publish_format(const struct net_publish *p) {
        char text[NET_ADDRESS_TEXT];

        net_address_format(&p->address, text);
        return str_format(p->address.is_v6 ? "publish [%s]:%u:%u" : "publish %s:%u:%u", text, p->port,
                          p->inside);
}

static const char *read_via(const char *text, struct net_rules *rules) {
        rules->via = rules->via ? rules->via : malloc(sizeof(*rules->via));
        return rules->via ? net_proxy_parse(text, rules->via) : "out of memory";
}

static const char *read_key(const char *text, struct net_key *ret) {
        const char *why = net_port_parse(&text, &ret->port), *name, *host, *colon;

        name = why || *text != ' ' ? NULL : text + 1;
        host = name ? strchr(name, ' ') : NULL;
        colon = host ? strchr(++host, ':') : NULL;
        if (!colon || (size_t)(colon - host) >= sizeof(ret->host))
                return "not a port, a name and a host";
        memcpy(ret->host, host, (size_t)(colon - host));
        ret->host[colon - host] = '\0';
        colon++;
        why = net_port_parse(&colon, &ret->host_port);
        return why || !*colon ? why : "not a port";
}

/* NULL, or why the line is none. */
static const char *read_line(const char *line, struct net_rules *rules) {
        const char *rest, *why;

        if (streq(line, NET_RULES_ASK)) {
                rules->asks = true;
                return NULL;
        }
        if (streq(line, NET_RULES_LATER)) {
                rules->publishes_later = true;
                return NULL;
        }
        if ((rest = startswith(line, "via ")))
                return read_via(rest, rules);
        if ((rest = startswith(line, "direct "))) {
                bool is_one = net_direct_parse(rest, &rules->directs[rules->n_directs]);

                rules->n_directs += is_one;
                return is_one ? NULL : "not a name";
        }
        if ((rest = startswith(line, "key "))) {
                why = read_key(rest, &rules->keys[rules->n_keys]);
                rules->n_keys += !why;
                return why;
        }
        if ((rest = startswith(line, "publish "))) {
                why = net_publish_parse(rest, &rules->publishes[rules->n_publishes]);
                rules->n_publishes += !why;
                return why;
        }
        rest = startswith(line, "deny ");
        if (!rest && !(rest = startswith(line, "allow ")))
                return "neither";
        why = net_rule_parse(rest, line[0] == 'd', &rules->rules[rules->n]);
        rules->n += !why;
        return why;
}

int net_rules_read(char *const *lines, struct net_rules *ret) {
        _cleanup_net_rules_ struct net_rules rules = {0};

        STRV_FOREACH (line, lines) {
                if (ARRAY_GROW(rules.rules, rules.n) < 0 ||
                    ARRAY_GROW(rules.publishes, rules.n_publishes) < 0 ||
                    ARRAY_GROW(rules.directs, rules.n_directs) < 0 ||
                    ARRAY_GROW(rules.keys, rules.n_keys) < 0)
                        return -ENOMEM;
                if (read_line(*line, &rules))
                        return -EBADMSG;
        }
        *ret = rules;
        rules = (struct net_rules){0};
        return 0;
}

void net_rules_clear(struct net_rules *rules) {
        free(rules->rules);
        free(rules->publishes);
        free(rules->directs);
        free(rules->keys);
        if (rules->via)
                explicit_bzero(rules->via, sizeof(*rules->via));
        free(rules->via);
        *rules = (struct net_rules){0};
}

/* ------------------------------------------------------------------- asked */

/* Whether `name` is below `parent`. */
static bool is_below(const char *name, const char *parent) {
        size_t n = strlen(name), m = strlen(parent);

        return n > m + 1 && name[n - m - 1] == '.' && streq(name + n - m, parent);
}

static bool matches_name(const struct net_rule *rule, const char *name) {
        return rule->kind == NET_RULE_NAME       ? streq(rule->name, name)
               : rule->kind == NET_RULE_WILDCARD ? is_below(name, rule->name)
                                                 : false;
}

static bool has_port(const struct net_rule *rule, uint32_t port) {
        for (unsigned i = 0; i < rule->n_ports; i++)
                if ((rule->is_udp ? NET_UDP : 0) + rule->ports[i] == port)
                        return true;
        return false;
}

bool net_rule_is_within(const struct net_rule *a, const struct net_rule *b) {
        const struct net_address loopback = {.bytes = {127, 0, 0, 1}};

        if (a->kind == NET_RULE_HOST && b->kind == NET_RULE_RANGE)
                return net_range_holds(&b->range, &loopback);
        if (a->kind == NET_RULE_RANGE && b->kind == NET_RULE_RANGE)
                return net_range_is_within(&a->range, &b->range);
        if (a->kind == NET_RULE_NAME)
                return matches_name(b, a->name);
        return a->kind == NET_RULE_WILDCARD && b->kind == NET_RULE_WILDCARD &&
               (streq(a->name, b->name) || is_below(a->name, b->name));
}

/* `port` 0: on any port. */
static bool is_allowed(const struct net_rules *rules, const char *name, uint32_t port) {
        bool allows = false;

        for (size_t i = 0; i < rules->n; i++) {
                const struct net_rule *rule = &rules->rules[i];

                if (!matches_name(rule, name))
                        continue;
                if (rule->is_deny)
                        return false;
                allows |= port == 0 || has_port(rule, port);
        }
        return allows;
}

bool net_rules_deny_name(const struct net_rules *rules, const char *name) {
        for (size_t i = 0; i < rules->n; i++)
                if (rules->rules[i].is_deny && matches_name(&rules->rules[i], name))
                        return true;
        return false;
}

/* A name of one label, and those that stand for no host of the outer world, are nobody's to ask about. */
bool net_name_is_askable(const char *name) {
        static const char *const inner[] = {"arpa", "local", "localhost", "internal", "invalid", "onion"};
        const char *last = strrchr(name, '.');
        char normal[NET_NAME_MOST + 1];

        if (!last || net_name_normalise(name, normal) || !streq(name, normal))
                return false;
        return !STR_IS_ANY(last + 1, inner);
}

bool net_rules_have_name(const struct net_rules *rules, const char *name) {
        if (streq(name, NET_HOST_NAME)) {
                for (size_t i = 0; i < rules->n; i++)
                        if (rules->rules[i].kind == NET_RULE_HOST)
                                return true;
                return false;
        }
        return is_allowed(rules, name, 0);
}

bool net_rules_allow_name(const struct net_rules *rules, const char *name, uint32_t port) {
        return port != 0 && is_allowed(rules, name, port);
}

bool net_rules_allow_host(const struct net_rules *rules, uint32_t port) {
        for (size_t i = 0; i < rules->n; i++)
                if (rules->rules[i].kind == NET_RULE_HOST && has_port(&rules->rules[i], port))
                        return true;
        return false;
}

bool net_rules_go_via(const struct net_rules *rules, const char *name, uint16_t port) {
        if (!rules->via || rules->via->kind == NET_PROXY_NONE)
                return false;
        for (size_t i = 0; i < rules->n_directs; i++)
                if (net_direct_has(&rules->directs[i], name, port))
                        return false;
        return true;
}

bool net_rules_lead_to_proxy(const struct net_rules *rules, const char *name, uint16_t port) {
        return rules->via && rules->via->kind != NET_PROXY_NONE && port == rules->via->port &&
               streq(name, rules->via->host);
}

bool net_rules_are_led_to_proxy(const struct net_rules *rules, const struct net_address *a, uint32_t port) {
        struct net_address proxy;

        return rules->via && port == rules->via->port && net_proxy_address(rules->via, &proxy) &&
               net_address_is_same(&proxy, a);
}

bool net_rules_deny_address(const struct net_rules *rules, const struct net_address *a) {
        struct net_address carried;

        if (net_address_carried(a, &carried) && net_rules_deny_address(rules, &carried))
                return true;
        for (size_t i = 0; i < rules->n; i++)
                if (rules->rules[i].is_deny && rules->rules[i].kind == NET_RULE_RANGE &&
                    net_range_holds(&rules->rules[i].range, a))
                        return true;
        return false;
}

bool net_rules_allow_address(const struct net_rules *rules, const struct net_address *a, uint32_t port,
                             bool is_own) {
        const struct net_home *home = net_address_home(a);

        if (net_rules_deny_address(rules, a))
                return false;
        for (size_t i = 0; i < rules->n; i++) {
                const struct net_rule *rule = &rules->rules[i];

                if (rule->is_deny || rule->kind != NET_RULE_RANGE || !has_port(rule, port) ||
                    !net_range_holds(&rule->range, a))
                        continue;
                if (rule->range.bits == net_address_bits(a) ||
                    (home ? net_range_is_within(&rule->range, &home->range) : !is_own))
                        return true;
        }
        return false;
}
