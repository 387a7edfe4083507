/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the options about the network come to: rules, which values.c has read, put together, and the proxy.
 * Its user and its password are in no message. */
#include "network.h"

#include "keys.h"
#include "net/layout.h"
#include "policy/agents.h"
#include "policy/withheld.h"

/* Refuses options that would do nothing with the network that was chosen.  A configuration may have rules
 * for those runs that choose --net=allow. */
static int refuse_without_network(const struct nsrun_policy *p, struct nsrun_error *err) {
        static const char *const names[] = {"allow", "deny", "publish", "net-via", "key", "key-use"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strv_contains(p->given, names[i]))
                        return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, "add --net=allow",
                                          "--%s is of no use without its network", names[i]);
        return 0;
}

int network_refuse_contradiction(char *const *lines, struct nsrun_error *err) {
        _cleanup_net_rules_ struct net_rules rules = {0};
        _cleanup_strv_ char **own = NULL;
        int r = 0;

        STRV_FOREACH (line, lines)
                if ((*line)[0] != '@' && strv_add(&own, *line) < 0)
                        return error_oom(err);
        r = net_rules_read(own, &rules);
        if (r < 0)
                return error_oom(err);
        for (size_t i = 0; i < rules.n; i++)
                for (size_t k = 0; k < rules.n; k++) {
                        _cleanup_free_ char *allowed = NULL, *denied = NULL;

                        if (rules.rules[i].is_deny || !rules.rules[k].is_deny ||
                            !net_rule_is_within(&rules.rules[i], &rules.rules[k]))
                                continue;
                        allowed = net_rule_format(&rules.rules[i]);
                        denied = net_rule_format(&rules.rules[k]);
                        if (!allowed || !denied)
                                return error_oom(err);
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                          "leave one of the two out",
                                          "two rules contradict: --%.200s, --%.200s", allowed, denied);
                }
        return 0;
}

/* Whether the rule takes the port on the sandbox's loopback. */
static bool rule_takes_port(const struct net_rule *rule, uint16_t port) {
        const struct net_address loopbacks[] = {{.bytes = {127, 0, 0, 1}},
                                                {.bytes = {[15] = 1}, .is_v6 = true}};
        bool takes = rule->kind == NET_RULE_WILDCARD || rule->kind == NET_RULE_HOST ||
                     (rule->kind == NET_RULE_RANGE &&
                      (rule->range.bits < net_address_bits(&rule->range.address) ||
                       net_range_holds(&rule->range, &loopbacks[rule->range.address.is_v6])));
        bool has_port = false;

        for (unsigned n = 0; n < rule->n_ports; n++)
                has_port |= rule->ports[n] == port;
        return takes && has_port && !rule->is_deny && !rule->is_udp;
}

/* A start gives the key another port; it has that for good. */
static int refuse_key_port(const struct net_rules *rules, struct nsrun_error *err) {
        for (size_t i = 0; i < rules->n_keys; i++)
                for (size_t k = 0; k < rules->n; k++)
                        if (rule_takes_port(&rules->rules[k], rules->keys[i].port)) {
                                _cleanup_free_ char *allowed = net_rule_format(&rules->rules[k]);

                                return !allowed ? error_oom(err)
                                                : error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                                             "leave that port out of it",
                                                             "--%.200s would take port %u inside, which "
                                                             "--key has",
                                                             allowed, rules->keys[i].port);
                        }
        return 0;
}

/* A port that a rule takes on the sandbox's loopback can't be had by a server in it. */
static int refuse_taken(const struct net_rules *rules, struct nsrun_error *err) {
        for (size_t i = 0; i < rules->n_publishes && rules->asks; i++)
                if (rules->publishes[i].inside == 80 || rules->publishes[i].inside == 443)
                        return error_setf(
                                err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                "let the server inside have another port",
                                "no server inside can have port %u, which --publish leads to: it is "
                                "taken for --net=ask",
                                rules->publishes[i].inside);
        for (size_t i = 0; i < rules->n_publishes; i++)
                for (size_t k = 0; k < rules->n_keys; k++)
                        if (rules->keys[k].port == rules->publishes[i].inside)
                                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                                  "let the server inside have another port",
                                                  "no server inside can have port %u, which --publish "
                                                  "leads to: it is taken for --key",
                                                  rules->keys[k].port);
        for (size_t i = 0; i < rules->n_publishes; i++)
                for (size_t k = 0; k < rules->n; k++) {
                        const struct net_rule *rule = &rules->rules[k];

                        if (rule_takes_port(rule, rules->publishes[i].inside)) {
                                _cleanup_free_ char *allowed = net_rule_format(rule);

                                return !allowed ? error_oom(err)
                                                : error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                                             "let the server inside have another port",
                                                             "no server inside can have port %u, which "
                                                             "--publish leads to: it is taken for --%.200s",
                                                             rules->publishes[i].inside, allowed);
                        }
                }
        return 0;
}

static int add_list(struct resolved_net *net, const char *name) {
        const struct net_list *list = net_list_find(name);

        for (const char *const *host = list ? list->hosts : NULL; host && *host; host++) {
                struct net_rule rule;
                char *line = net_rule_parse(*host, false, &rule) ? NULL : net_rule_format(&rule);

                if (!line || strv_consume(&net->rules, line) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Adds a rule, or those of a list, unless it is there. */
static int add_rule_line(struct resolved_net *net, const char *line) {
        return line[0] == '@'                    ? add_list(net, line + 1)
               : strv_contains(net->rules, line) ? 0
                                                 : strv_add(&net->rules, line);
}

int network_add_lines(char *const *lines, struct resolved_net *net) {
        int r = 0;

        STRV_FOREACH (line, lines)
                if (r >= 0)
                        r = add_rule_line(net, *line);
        return r;
}

/* The agent's hosts, as --allow takes them. */
static int add_hosts_of_agent(const struct nsrun_policy *p, struct resolved_net *net) {
        const struct agent_entry *agent = agent_chosen(p);
        const char *const *hosts = agent ? agent->hosts : NULL;
        int r = 0;

        for (; hosts && *hosts && r >= 0; hosts++) {
                _cleanup_free_ char *line = NULL;
                struct net_rule rule;

                if ((*hosts)[0] == '@')
                        line = strdup(*hosts);
                else
                        line = net_rule_parse(*hosts, false, &rule) ? NULL : net_rule_format(&rule);
                r = line ? add_rule_line(net, line) : -ENOMEM;
        }
        return r;
}

static int refuse_too_many(const struct net_rules *rules, struct nsrun_error *err) {
        if (rules->n > NET_RULES_MOST)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-E2BIG), NULL,
                                  "a wildcard or a range takes the place of many",
                                  "the network has %zu rules, and %d are the most", rules->n,
                                  NET_RULES_MOST);
        if (rules->n_publishes > NET_PUBLISHES_MOST)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-E2BIG), NULL, NULL,
                                  "%zu ports are published, and %d are the most", rules->n_publishes,
                                  NET_PUBLISHES_MOST);
        return 0;
}

/* ---------------------------------------------------------------- the proxy of --net-via */

/* In the order of what is meant for most: programs differ in that. */
static const char *const proxy_variables[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                              "ALL_PROXY",   "http_proxy",  "HTTP_PROXY"};

/* What the environment says; *ret_name NULL: nothing. */
static const char *find_in_environment(const struct nsrun_policy *p, const char **ret_name) {
        for (size_t i = 0; i < ARRAY_SIZE(proxy_variables); i++) {
                const char *value = environment_get(environment_inherited(p), proxy_variables[i]);

                *ret_name = proxy_variables[i];
                if (value && *value)
                        return value;
        }
        *ret_name = NULL;
        return NULL;
}

static int add_line(struct resolved_net *net, const char *prefix, char *text) {
        char *line = text ? str_concat(prefix, text, "") : NULL;

        free(text);
        return line && strv_consume(&net->rules, line) >= 0 ? 0 : -ENOMEM;
}

/* no_proxy's names.  What isn't one, an address as a rule, is of no matter here: addresses are reached
 * directly. */
static int add_directs(struct resolved_net *net, const char *list, bool *ret_all) {
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
                if (add_line(net, "direct ", net_direct_format(&direct)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int add_proxy(struct resolved_net *net, const struct net_proxy *proxy) {
        char *url = net_proxy_format(proxy, true);

        net->via = url ? str_concat("via ", url, "") : NULL;
        secret_forget(&url);
        return net->via ? add_line(net, "via ", net_proxy_format(proxy, false)) : -ENOMEM;
}

/* no_proxy is of the environment's proxy alone. */
static int add_environments(const struct nsrun_policy *p, struct resolved_net *net, struct net_proxy *proxy,
                            struct nsrun_error *err) {
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
                r = add_directs(net, list, &is_all);
        if (is_all)
                proxy->kind = NET_PROXY_NONE;
        return r == -E2BIG ? error_set(err, NSRUN_STAGE_POLICY, UNSAID(r), NULL,
                                       "--net-via=env: no_proxy has too many names",
                                       "name the proxy with --net-via URL")
               : r < 0     ? error_oom(err)
                           : 0;
}

static int add_via(const struct nsrun_policy *p, struct resolved_net *net, struct nsrun_error *err) {
        struct net_proxy proxy = {.kind = NET_PROXY_NONE};
        int r = 0;

        if (!p->net_via || streq(p->net_via, "none"))
                return 0;
        if (streq(p->net_via, "env"))
                r = add_environments(p, net, &proxy, err);
        else if (net_proxy_parse(p->net_via, &proxy))
                r = error_oom(err); /* it was parsed before */
        if (r >= 0 && add_proxy(net, &proxy) < 0)
                r = error_oom(err);
        explicit_bzero(&proxy, sizeof(proxy));
        return r;
}

static bool is_at_loopback(const struct net_proxy *proxy) {
        struct net_address a;

        return streq(proxy->host, "localhost") ||
               (net_address_parse(proxy->host, &a) &&
                (a.is_v6 ? a.bytes[15] == 1 && net_address_home(&a) : a.bytes[0] == 127));
}

static bool lets_proxy(const struct net_rule *rule, const struct net_proxy *proxy) {
        struct net_address a;

        switch (rule->kind) {
        case NET_RULE_NAME:
                return streq(rule->name, proxy->host);
        case NET_RULE_HOST:
                return is_at_loopback(proxy);
        case NET_RULE_RANGE:
                return net_proxy_address(proxy, &a) && net_range_holds(&rule->range, &a);
        case NET_RULE_WILDCARD: /* nsrun-net refuses that one name */
                break;
        }
        return false;
}

static int refuse_proxy(const struct net_rules *rules, struct nsrun_error *err) {
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
                            lets_proxy(&rules->rules[i], proxy)) {
                                _cleanup_free_ char *rule = net_rule_format(&rules->rules[i]);

                                return !rule ? error_oom(err)
                                             : error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                                          "leave that port out of it",
                                                          "--%.200s would let the command use the proxy of "
                                                          "--net-via itself, for any host",
                                                          rule);
                        }
        for (size_t i = 0; i < rules->n_publishes; i++)
                if (rules->publishes[i].port == proxy->port && is_at_loopback(proxy))
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                          "choose another PORT, with PORT:INSIDE",
                                          "--publish %u would make a server inside the proxy of --net-via",
                                          proxy->port);
        return 0;
}

/* ---------------------------------------------------------------- all of it */

int network_refuse(char *const *lines, struct nsrun_error *err) {
        _cleanup_net_rules_ struct net_rules rules = {0};
        struct net_layout layout = {0};
        int r = net_rules_read(lines, &rules);

        if (r < 0)
                return error_oom(err);
        r = refuse_too_many(&rules, err);
        if (r < 0)
                return r;
        r = net_layout_make(&rules, &layout);
        net_layout_clear(&layout);
        if (r == -E2BIG)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(r), NULL,
                                  "a wildcard or a range takes the place of many",
                                  "the rules' names and ports need more than %u sockets", NET_SOCKETS_MOST);
        if (r < 0)
                return error_oom(err);
        r = refuse_proxy(&rules, err);
        if (r >= 0)
                r = refuse_key_port(&rules, err);
        return r < 0 ? r : refuse_taken(&rules, err);
}

int network_resolve(const struct resolved *s, struct resolved_net *net, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int r;

        if (p->net != POLICY_NET_ALLOW)
                return refuse_without_network(p, err);
        if (p->net_asks && !p->new_session)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                 "--net=ask and --no-new-session contradict: the command would have the "
                                 "terminal on which is asked",
                                 "leave one of the two out");
        r = network_refuse_contradiction(p->network_config, err);
        if (r >= 0)
                r = network_refuse_contradiction(p->network, err);
        if (r < 0)
                return r;
        r = network_add_lines(p->network_config, net);
        if (r >= 0)
                r = network_add_lines(p->network, net);
        if (r >= 0)
                r = add_hosts_of_agent(p, net);
        if (r >= 0 && p->net_asks)
                r = strv_add(&net->rules, NET_RULES_ASK);
        if (r >= 0 && s->is_session)
                r = strv_add(&net->rules, NET_RULES_LATER);
        if (r >= 0) {
                r = add_via(p, net, err);
                if (r >= 0)
                        r = keys_resolve(s, net, err);
                if (r < 0)
                        return r;
        }
        return r < 0 ? error_oom(err) : network_refuse(net->rules, err);
}
