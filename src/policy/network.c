/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of --net=allow: read when they are given, and put together when a policy is resolved.  What a
 * rule is, is net/rules.c's. */
#include "network.h"

#include "agents.h"
#include "net/layout.h"
#include "proxy.h"
#include "refuse.h"

static int apply_list(struct nsrun_policy *p, const struct option_spec *spec, const char *value,
                      struct nsrun_error *err) {
        if (!net_list_find(value + 1))
                return option_refuse(spec, value, "no list of that name", "'nsrun net list' has them all",
                                     err);
        return strv_add(p->config_label ? &p->network_config : &p->network, value) < 0 ? error_oom(err) : 0;
}

int network_apply_option(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        bool is_deny = streq(spec->name, "deny"), is_publish = streq(spec->name, "publish");
        struct nsrun_policy *p = target;
        struct net_publish publish;
        struct net_rule rule;
        const char *why;
        char *line;

        if (!is_deny && !is_publish && value[0] == '@')
                return apply_list(p, spec, value, err);
        why = is_publish ? net_publish_parse(value, &publish) : net_rule_parse(value, is_deny, &rule);
        if (why)
                return option_refuse(
                        spec, value, why,
                        is_publish ? "write PORT, PORT:INSIDE or ADDRESS:PORT:INSIDE"
                        : is_deny  ? "write a name, *.NAME, an address or ADDRESS/BITS"
                                   : "write a name, *.NAME, an address, ADDRESS/BITS, localhost or "
                                     "@LIST, and :PORT,PORT after it",
                        err);
        line = is_publish ? net_publish_format(&publish) : net_rule_format(&rule);
        if (!line || strv_consume(p->config_label ? &p->network_config : &p->network, line) < 0)
                return error_oom(err);
        return 0;
}

/* Refuses options that would do nothing with the network that was chosen.  A configuration may have rules
 * for those runs that choose --net=allow. */
static int refuse_without_network(const struct nsrun_policy *p, struct nsrun_error *err) {
        static const char *const names[] = {"allow", "deny", "publish", "net-via"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strv_contains(p->given, names[i]))
                        return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, "add --net=allow",
                                          "--%s is of no use without its network", names[i]);
        return 0;
}

/* Refuses a rule that nothing can come of, since another one of the same origin denies all that it allows.
 */
static int refuse_contradiction(char *const *lines, struct nsrun_error *err) {
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

/* A port that a rule takes on the sandbox's loopback can't be had by a server in it. */
int network_refuse_taken(const struct net_rules *rules, struct nsrun_error *err) {
        const struct net_address loopbacks[] = {{.bytes = {127, 0, 0, 1}},
                                                {.bytes = {[15] = 1}, .is_v6 = true}};

        for (size_t i = 0; i < rules->n_publishes && rules->asks; i++)
                if (rules->publishes[i].inside == 80 || rules->publishes[i].inside == 443)
                        return error_setf(
                                err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                "let the server inside have another port",
                                "no server inside can have port %u, which --publish leads to: it is "
                                "taken for --net=ask",
                                rules->publishes[i].inside);
        for (size_t i = 0; i < rules->n_publishes; i++)
                for (size_t k = 0; k < rules->n; k++) {
                        const struct net_rule *rule = &rules->rules[k];
                        bool takes =
                                rule->kind == NET_RULE_WILDCARD || rule->kind == NET_RULE_HOST ||
                                (rule->kind == NET_RULE_RANGE &&
                                 (rule->range.bits < net_address_bits(&rule->range.address) ||
                                  net_range_holds(&rule->range, &loopbacks[rule->range.address.is_v6])));
                        bool has_port = false;

                        for (unsigned n = 0; n < rule->n_ports; n++)
                                has_port |= rule->ports[n] == rules->publishes[i].inside;
                        if (takes && has_port && !rule->is_deny && !rule->is_udp) {
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

static int add_list(struct resolved *s, const char *name) {
        const struct net_list *list = net_list_find(name);

        for (const char *const *host = list ? list->hosts : NULL; host && *host; host++) {
                struct net_rule rule;
                char *line = net_rule_parse(*host, false, &rule) ? NULL : net_rule_format(&rule);

                if (!line || strv_consume(&s->network, line) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* The agent's hosts, as --allow takes them, that no other rule has. */
static int add_hosts_of_agent(struct resolved *s) {
        const char *const *hosts = agent_hosts(s->policy);
        int r = 0;

        for (; hosts && *hosts && r >= 0; hosts++) {
                _cleanup_free_ char *line = NULL;
                struct net_rule rule;

                if ((*hosts)[0] == '@') {
                        r = add_list(s, *hosts + 1);
                        continue;
                }
                line = net_rule_parse(*hosts, false, &rule) ? NULL : net_rule_format(&rule);
                r = !line ? -ENOMEM : strv_contains(s->network, line) ? 0 : strv_add(&s->network, line);
        }
        return r;
}

static int add_lines(struct resolved *s, char *const *lines) {
        int r = 0;

        STRV_FOREACH (line, lines) {
                if ((*line)[0] == '@')
                        r = add_list(s, *line + 1);
                else if (!strv_contains(s->network, *line))
                        r = strv_add(&s->network, *line);
                if (r < 0)
                        return r;
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

int network_resolve(struct resolved *s, struct nsrun_error *err) {
        _cleanup_net_rules_ struct net_rules rules = {0};
        const struct nsrun_policy *p = s->policy;
        struct net_layout layout = {0};
        int r;

        if (p->net != POLICY_NET_ALLOW)
                return refuse_without_network(p, err);
        if (p->net_asks && !p->new_session)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                 "--net=ask and --no-new-session contradict: the command would have the "
                                 "terminal on which is asked",
                                 "leave one of the two out");
        r = refuse_contradiction(p->network_config, err);
        if (r >= 0)
                r = refuse_contradiction(p->network, err);
        if (r < 0)
                return r;
        r = add_lines(s, p->network_config);
        if (r >= 0)
                r = add_lines(s, p->network);
        if (r >= 0)
                r = add_hosts_of_agent(s);
        if (r >= 0 && p->net_asks)
                r = strv_add(&s->network, NET_RULES_ASK);
        if (r >= 0 && s->is_session)
                r = strv_add(&s->network, NET_RULES_LATER);
        if (r >= 0) {
                r = proxy_resolve(s, err);
                if (r < 0)
                        return r;
                r = net_rules_read(s->network, &rules);
        }
        if (r >= 0) {
                r = refuse_too_many(&rules, err);
                if (r < 0)
                        return r;
                r = net_layout_make(&rules, &layout);
        }
        net_layout_clear(&layout);
        if (r >= 0) {
                r = proxy_refuse(&rules, err);
                return r < 0 ? r : network_refuse_taken(&rules, err);
        }
        if (r == -E2BIG)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(r), NULL,
                                  "a wildcard or a range takes the place of many",
                                  "the rules' names and ports need more than %u sockets", NET_SOCKETS_MOST);
        return r < 0 ? error_oom(err) : 0;
}
