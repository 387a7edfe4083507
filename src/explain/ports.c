/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ports.h"

#include <ctype.h>

#include "base/file.h"
#include "host/socket_table.h"
#include "net/rules.h"

/* For how many lines of the tables of who listens a look counts: the kernel walks all of its own for it. */
#define PORT_LOOK_LINES 2048U
#define OWN_PORTS       "with --net=allow or --net=none the command has ports of its own"

/* Reads the next port that a line names, as ":80", "port 80" or bash's "/dev/tcp/HOST/80", and moves *at
 * behind it; 0: there is none. */
static unsigned next_port(const char *line, const char **at) {
        bool is_shells = strstr(line, "/dev/tcp/") || strstr(line, "/dev/udp/");

        for (const char *from = *at; *from; from++) {
                const char *digits = startswith(from, "port "), *host = from;
                size_t n;

                if (!digits && *from != ':' && (*from != '/' || !is_shells))
                        continue;
                digits = digits ? digits : from + 1;
                n = strspn(digits, "0123456789");
                if (n == 0 || n > 5 || isalnum((unsigned char)digits[n]) ||
                    ((digits[n] == ':' || digits[n] == '.') && isdigit((unsigned char)digits[n + 1])))
                        continue;
                while (host > line && isdigit((unsigned char)host[-1]))
                        host--;
                /* Else a time of the day. */
                if (*from == ':' && host < from &&
                    (host == line ||
                     (host[-1] != '.' && host[-1] != '-' && !isalpha((unsigned char)host[-1]))))
                        continue;
                *at = digits + n;
                return (unsigned)strtoul(digits, NULL, 10);
        }
        return 0;
}

/* Whether the line names a port that isn't taken on the host: then the command has taken it itself.  After
 * many looks, for what the command may print in any number, true. */
static bool is_own_port(const char *line, size_t *left) {
        const char *at = line;
        bool is_named = false;

        for (unsigned port; (port = next_port(line, &at)) > 0; is_named = true) {
                if (*left < PORT_LOOK_LINES)
                        return true;
                *left -= PORT_LOOK_LINES;
                if (socket_is_served("/proc/self/net", port, left))
                        return false;
        }
        return is_named;
}

int explain_low_port(const struct nsrun_plan *plan, unsigned port, char ***ret) {
        _cleanup_free_ char *reason = NULL;
        char first[16];

        if (plan->net != POLICY_NET_HOST || port == 0 ||
            read_kernel_file(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", first,
                             sizeof(first)) < 0 ||
            port >= strtoul(first, NULL, 10))
                return 0;
        reason = str_format(
                "the network is the host's, and no command has the capability for port %u there: " OWN_PORTS,
                port);
        return reason ? explain_add(ret, reason) : -ENOMEM;
}

/* A port that no rule has for a name that one allows: the kernel refuses it inside. */
static int read_refused_port(const struct explained *e, const char *line, char ***ret) {
        _cleanup_net_rules_ struct net_rules rules = {0};
        const char *at = line;
        unsigned port = next_port(line, &at);
        int r = 0;

        if (e->plan->net != POLICY_NET_ALLOW ||
            !(strstr(line, "onnection refused") || strstr(line, "ECONNREFUSED") ||
              strstr(line, "t connect to ")))
                return 0;
        if (port == 0)
                port = strstr(line, "http://") ? 80 : strstr(line, "https://") ? 443 : 0;
        if (port == 0 || net_rules_read(e->plan->network, &rules) < 0)
                return 0;
        for (size_t i = 0; i < rules.n && r >= 0; i++) {
                const struct net_rule *rule = &rules.rules[i];
                _cleanup_free_ char *reason = NULL;

                if (rule->kind != NET_RULE_NAME || rule->is_deny || !explain_has_word(line, rule->name) ||
                    net_rules_allow_name(&rules, rule->name, port))
                        continue;
                reason = str_format("port %u of %s is one that no rule has: --allow %s:%u reaches it", port,
                                    rule->name, rule->name, port);
                r = reason ? explain_add(ret, reason) : -ENOMEM;
        }
        return r;
}

int explain_port_line(const struct explained *e, const char *line, size_t *left, char ***ret) {
        const char *at = line;
        int r = 0;

        if (e->plan->net == POLICY_NET_HOST && strcasestr(line, "address already in use") &&
            !is_own_port(line, left))
                r = explain_add(ret, "the network is the host's, and its ports with it: " OWN_PORTS);
        if (r >= 0 && (strcasestr(line, "permission denied") || strstr(line, "EACCES")) &&
            (strstr(line, "bind") || strstr(line, "listen")))
                r = explain_low_port(e->plan, next_port(line, &at), ret);
        return r < 0 ? r : read_refused_port(e, line, ret);
}
