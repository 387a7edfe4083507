/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The proxy is read when it is given; what the environment says of one when a policy is resolved.  Its user
 * and its password are in no message. */
#include "proxy.h"

#include "environment.h"
#include "refuse.h"

static const char hint[] = "write http://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT, with "
                           "USER:PASSWORD@ before HOST where it wants that; env; or none";

int proxy_apply_option(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        struct net_proxy proxy;
        char *copy = strdup(value);
        const char *why;
        int r;

        if (!copy)
                return error_oom(err);
        why = !*value ? "an empty value" : streq(value, "env") ? NULL : net_proxy_parse(value, &proxy);
        if (!why) {
                explicit_bzero(&proxy, sizeof(proxy));
                net_proxy_forget(&p->net_via);
                p->net_via = copy;
                return 0;
        }
        net_proxy_hide(copy);
        r = option_refuse(spec, *copy ? copy : NULL, why, hint, err);
        free(copy);
        return r;
}

/* Ends with it, whatever the case of its letters. */
static bool ends_with(const char *name, const char *end) {
        size_t n = strlen(name), m = strlen(end);

        if (n < m)
                return false;
        for (size_t i = 0; i < m; i++) {
                char c = name[n - m + i];

                if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != end[i])
                        return false;
        }
        return true;
}

bool proxy_withholds(const struct nsrun_policy *p, const char *name) {
        return p->net == POLICY_NET_ALLOW && p->net_via && !streq(p->net_via, "none") &&
               (ends_with(name, "_PROXY") || ends_with(name, "_NOPROXY"));
}

/* In the order of what is meant for most: programs differ in that. */
static const char *const variables[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY",   "http_proxy",  "HTTP_PROXY"};

/* What the environment says; *ret_name NULL: nothing. */
static const char *find_in_environment(const struct nsrun_policy *p, const char **ret_name) {
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                const char *value = environment_get(environment_inherited(p), variables[i]);

                *ret_name = variables[i];
                if (value && *value)
                        return value;
        }
        *ret_name = NULL;
        return NULL;
}

static int add_line(struct resolved *s, const char *prefix, char *text) {
        char *line = text ? str_concat(prefix, text, "") : NULL;

        free(text);
        return line && strv_consume(&s->network, line) >= 0 ? 0 : -ENOMEM;
}

/* no_proxy's names.  What isn't one, an address as a rule, is of no matter here: addresses are reached
 * directly. */
static int add_directs(struct resolved *s, const char *list, bool *ret_all) {
        _cleanup_free_ char *copy = strdup(list);
        char *rest = NULL;
        size_t n = 0;

        *ret_all = false;
        if (!copy)
                return -ENOMEM;
        for (char *word = strtok_r(copy, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest)) {
                struct net_direct direct;

                *ret_all |= streq(word, "*");
                if (!net_direct_parse(word, &direct) || streq(direct.name, "localhost"))
                        continue;
                if (++n > NET_DIRECTS_MOST)
                        return -E2BIG;
                if (add_line(s, "direct ", net_direct_format(&direct)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int add_proxy(struct resolved *s, const struct net_proxy *proxy) {
        char *url = net_proxy_format(proxy, true);

        s->via = url ? str_concat("via ", url, "") : NULL;
        net_proxy_forget(&url);
        return s->via ? add_line(s, "via ", net_proxy_format(proxy, false)) : -ENOMEM;
}

/* no_proxy is of the environment's proxy alone. */
static int add_environments(struct resolved *s, struct net_proxy *proxy, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        const char *name, *value = find_in_environment(p, &name), *list, *why;
        bool is_all = false;
        int r = 0;

        *proxy = (struct net_proxy){.kind = NET_PROXY_NONE};
        why = value ? net_proxy_parse(value, proxy) : NULL;
        if (why)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                  "name the proxy with --net-via URL", "--net-via=env: %s: %s", name, why);
        list = environment_get(environment_inherited(p), "no_proxy");
        if (!list || !*list)
                list = environment_get(environment_inherited(p), "NO_PROXY");
        if (list && value)
                r = add_directs(s, list, &is_all);
        if (is_all)
                proxy->kind = NET_PROXY_NONE;
        return r == -E2BIG ? error_set(err, NSRUN_STAGE_POLICY, UNSAID(r), NULL,
                                       "--net-via=env: no_proxy has too many names",
                                       "name the proxy with --net-via URL")
               : r < 0     ? error_oom(err)
                           : 0;
}

int proxy_resolve(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        struct net_proxy proxy = {.kind = NET_PROXY_NONE};
        int r = 0;

        if (!p->net_via || streq(p->net_via, "none"))
                return 0;
        if (streq(p->net_via, "env"))
                r = add_environments(s, &proxy, err);
        else if (net_proxy_parse(p->net_via, &proxy))
                r = error_oom(err); /* it was parsed before */
        if (r >= 0 && add_proxy(s, &proxy) < 0)
                r = error_oom(err);
        explicit_bzero(&proxy, sizeof(proxy));
        return r;
}

static bool is_loopback(const struct net_proxy *proxy) {
        struct net_address a;

        return streq(proxy->host, "localhost") ||
               (net_address_parse(proxy->host, &a) &&
                (a.is_v6 ? a.bytes[15] == 1 && net_address_home(&a) : a.bytes[0] == 127));
}

static bool names_proxy(const struct net_rule *rule, const struct net_proxy *proxy) {
        struct net_address a;

        switch (rule->kind) {
        case NET_RULE_NAME:
                return streq(rule->name, proxy->host);
        case NET_RULE_HOST:
                return is_loopback(proxy);
        case NET_RULE_RANGE:
                return net_proxy_address(proxy, &a) && net_range_holds(&rule->range, &a);
        case NET_RULE_WILDCARD: /* nsrun-net refuses that one name */
                break;
        }
        return false;
}

int proxy_refuse(const struct net_rules *rules, struct nsrun_error *err) {
        const struct net_proxy *proxy = rules->via;

        if (!proxy || proxy->kind == NET_PROXY_NONE)
                return 0;
        for (size_t i = 0; i < rules->n; i++) {
                _cleanup_free_ char *udp = NULL;

                if (!rules->rules[i].is_udp)
                        continue;
                udp = net_rule_format(&rules->rules[i]);
                return !udp ? error_oom(err)
                            : error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                         "leave one of the two out",
                                         "--%.200s and --net-via contradict: the proxy carries no UDP", udp);
        }
        for (size_t i = 0; i < rules->n; i++)
                for (unsigned k = 0; k < rules->rules[i].n_ports; k++)
                        if (!rules->rules[i].is_deny && rules->rules[i].ports[k] == proxy->port &&
                            names_proxy(&rules->rules[i], proxy)) {
                                _cleanup_free_ char *rule = net_rule_format(&rules->rules[i]);

                                return !rule ? error_oom(err)
                                             : error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                                          "leave that port out of it",
                                                          "--%.200s would let the command use the proxy of "
                                                          "--net-via itself, for any host",
                                                          rule);
                        }
        for (size_t i = 0; i < rules->n_publishes; i++)
                if (rules->publishes[i].port == proxy->port && is_loopback(proxy))
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                          "choose another PORT, with PORT:INSIDE",
                                          "--publish %u would make a server inside the proxy of --net-via",
                                          proxy->port);
        return 0;
}
