/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run's network was used for, as lines of --report and --status-fd: nsrun-net's counts, and which
 * rule each of them goes back to, which is found out here, from the rules alone. */
#include "explain/json_line.h"
#include "network.h"
#include "status_fd.h"

static bool allows(const struct net_rule *rule, const char *host, uint32_t port) {
        struct net_rule one = *rule;
        const struct net_rules rules = {.rules = &one, .n = 1};
        struct net_address a;

        if (streq(host, "localhost"))
                return net_rules_allow_host(&rules, port);
        return net_address_parse(host, &a) ? net_rules_allow_address(&rules, &a, port, true)
                                           : net_rules_allow_name(&rules, host, port);
}

/* The line of the rule that decided, which the caller frees; NULL: there is none. */
static char *find_rule(const struct net_rules *rules, const struct net_tally *t, const char *host,
                       bool is_udp) {
        struct net_rule wanted;

        if (t->kind != NET_TALLY_CONNECTED && net_rule_parse(host, true, &wanted))
                return NULL;
        for (size_t i = 0; i < rules->n; i++) {
                const struct net_rule *rule = &rules->rules[i];

                if (t->kind == NET_TALLY_CONNECTED
                            ? !rule->is_deny && allows(rule, host, t->port | (is_udp ? NET_UDP : 0))
                            : rule->is_deny && net_rule_is_within(&wanted, rule))
                        return net_rule_format(rule);
        }
        return NULL;
}

/* NULL: of a kind that isn't counted for people. */
static const char *verdict_of(const struct net_tally *t, const char *text, char why[96]) {
        why[0] = '\0';
        switch (t->kind) {
        case NET_TALLY_CONNECTED:
                return "allowed";
        case NET_EVENT_NAME:
        case NET_EVENT_PORT:
                return "refused";
        case NET_EVENT_HOME:
                (void)snprintf(why, 96, "leads to %.48s", text);
                return "refused";
        case NET_EVENT_UNASKED:
                (void)snprintf(why, 96, "nobody is asked any more");
                return "refused";
        case NET_EVENT_UNRESOLVED:
                (void)snprintf(why, 96, "has no address outside");
                return "failed";
        case NET_EVENT_UNREACHED:
                (void)snprintf(why, 96, "can't be reached");
                return "failed";
        case NET_EVENT_VIA:
                (void)snprintf(why, 96, "the proxy %.48s", text);
                return "failed";
        default:
                return NULL;
        }
}

static int write_tally(const struct net_rules *rules, const struct net_tally *t,
                       const struct net_tally *before, int fd, bool is_event, struct nsrun_error *err) {
        char host[sizeof(t->host)], text[sizeof(t->text)], why[96];
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *rule = NULL;
        const char *verdict, *name;
        bool is_udp;

        network_copy(t->host, sizeof(host), NETWORK_COUNTED, host);
        network_copy(t->text, sizeof(text), NETWORK_COUNTED, text);
        verdict = verdict_of(t, text, why);
        if (!verdict || (t->n == before->n && t->sent == before->sent && t->received == before->received))
                return 0;
        is_udp = startswith(host, NET_HOST_UDP);
        name = is_udp ? host + strlen(NET_HOST_UDP) : host;
        rule = t->kind == NET_TALLY_CONNECTED && streq(text, NET_TALLY_KEY)
                       ? strdup(NET_TALLY_KEY)
                       : find_rule(rules, t, name, is_udp);
        if (is_event)
                json_add_string(&d, d.root, "event", "network");
        json_add_string(&d, d.root, "host", name);
        if (is_udp)
                json_add_string(&d, d.root, "protocol", "udp");
        if (t->port > 0)
                json_add_number(&d, d.root, "port", t->port);
        json_add_string(&d, d.root, "verdict", verdict);
        if (*why)
                json_add_string(&d, d.root, "why", why);
        if (rule)
                json_add_string(&d, d.root, "rule", rule);
        json_add_number(&d, d.root, "count", t->n - before->n);
        if (t->kind == NET_TALLY_CONNECTED) {
                json_add_number(&d, d.root, "sent", t->sent - before->sent);
                json_add_number(&d, d.root, "received", t->received - before->received);
        }
        json_add_number(&d, d.root, "first", before->n > 0 ? t->last : t->first);
        json_add_number(&d, d.root, "last", t->last);
        return json_write_line(fd, &d, "what the network was used for can't be written", NULL, err);
}

static int write_others(uint64_t n, int fd, bool is_event, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();

        if (is_event)
                json_add_string(&d, d.root, "event", "network");
        json_add_string(&d, d.root, "verdict", "not told apart");
        json_add_number(&d, d.root, "count", n);
        return json_write_line(fd, &d, "what the network was used for can't be written", NULL, err);
}

int network_report(const struct network *n, int fd, bool is_event, struct nsrun_error *err) {
        static const struct net_tally none;
        _cleanup_net_rules_ struct net_rules rules = {0};
        uint32_t n_tallies = n->journal ? __atomic_load_n(&n->journal->n_tallies, __ATOMIC_ACQUIRE) : 0;
        int r = 0;

        if (fd < 0 || !n->journal)
                return 0;
        if (net_rules_read(n->lines, &rules) < 0)
                return error_oom(err);
        for (uint32_t i = 0; i < n_tallies && i < NET_TALLIES && r >= 0; i++) {
                const struct net_tally now = n->journal->tallies[i];

                r = write_tally(&rules, &now, i < n->n_tallies ? &n->tallies[i] : &none, fd, is_event, err);
        }
        if (r >= 0 && n->journal->n_others > n->n_others)
                r = write_others(n->journal->n_others - n->n_others, fd, is_event, err);
        return r;
}

/* A host and its port as --allow takes them: an IPv6 address in brackets.  Without a port: the host. */
static char *used_host(const char *host, uint16_t port) {
        const char *of_udp = startswith(host, NET_HOST_UDP), *name = of_udp ? of_udp : host;
        bool is_v6 = strchr(name, ':');

        if (port == 0)
                return strdup(host);
        return str_format("%s%s%s%s:%u", of_udp ? NET_HOST_UDP : "", is_v6 ? "[" : "", name,
                          is_v6 ? "]" : "", port);
}

int network_used(const struct network *n, char ***ret_hosts, char ***ret_refused) {
        uint32_t n_tallies = n->journal ? __atomic_load_n(&n->journal->n_tallies, __ATOMIC_ACQUIRE) : 0;

        for (uint32_t i = 0; i < n_tallies && i < NET_TALLIES; i++) {
                const struct net_tally t = n->journal->tallies[i];
                bool is_refused = t.kind == NET_EVENT_NAME || t.kind == NET_EVENT_PORT;
                char ***to = is_refused ? ret_refused : ret_hosts, host[sizeof(t.host)];
                _cleanup_free_ char *line = NULL;

                network_copy(t.host, sizeof(host), NETWORK_COUNTED, host);
                if ((!is_refused && t.kind != NET_TALLY_CONNECTED) ||
                    (i < n->n_tallies && n->tallies[i].n == t.n))
                        continue;
                line = used_host(host, t.port);
                if (!line)
                        return -ENOMEM;
                if (!strv_contains(*to, line) && strv_add(to, line) < 0)
                        return -ENOMEM;
        }
        return 0;
}
