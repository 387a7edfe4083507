/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration's "toolchains" and "agents": rows that it adds to nsrun's tables. */
#include "config_keys.h"
#include "net/rules.h"
#include "withheld.h"

const struct config_object config_toolchain = {
        .members = {{"path", CONFIG_STRING}, {"cache", CONFIG_BOOL}, {"variable", CONFIG_STRING}},
        .hint = "a toolchain has path, cache and variable",
};

static bool is_variable(const char *text) {
        return text && environment_name_is_valid(text, strlen(text));
}

/* Adds one of "toolchains". */
int config_apply_toolchain(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        _cleanup_free_ char *path = NULL, *shown = NULL;
        const char *variable, *label;
        size_t at[CONFIG_MEMBERS_MOST];
        int r = config_members(c, node, &config_toolchain, at);

        if (r < 0)
                return r;
        if (at[0] == 0)
                return config_fail(c, nodes[node].at, NULL, "a toolchain without a path", NULL);
        r = config_path(c, at[0], config_text(c, at[0]), &path);
        if (r < 0)
                return r;
        variable = at[2] > 0 ? config_text(c, at[2]) : NULL;
        if (at[2] > 0 && !is_variable(variable))
                return config_fail(c, nodes[at[2]].at, variable, "not a variable's name", NULL);
        label = config_label(c, node, "toolchains");
        if (!label || policy_add_toolchain(c->policy, path, variable,
                                           at[1] > 0 && json_is_true(nodes[at[1]].value), label) < 0)
                return error_oom(c->err);
        /* Where the variable is set, that folder is shown instead. */
        shown = variable ? str_concat(path, CONFIG_OR_VARIABLE, variable) : NULL;
        if (variable && !shown)
                return error_oom(c->err);
        return config_note(c, node, "toolchains", shown ? shown : path, "");
}

/* Whether an agent's name can be typed, and printed in a list. */
static bool is_agent_name(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

        return n > 0 && !name[n] && name[0] != '-' && n <= 64;
}

static int fill_folder(struct config_reader *c, size_t i, struct policy_agent *agent,
                       enum policy_access access) {
        const char *text = config_text(c, i);
        _cleanup_free_ char *path = NULL;
        int r = config_path(c, i, text, &path);
        size_t n = r < 0 ? 0 : strlen(text);
        bool is_folder = access == POLICY_RW && n > 0 && text[n - 1] == '/';
        char *marked =
                r < 0 ? NULL : str_concat(path, is_folder && path[strlen(path) - 1] != '/' ? "/" : "", "");

        return r < 0                                                           ? r
               : !marked || policy_add_agent_folder(agent, access, marked) < 0 ? error_oom(c->err)
                                                                               : 0;
}

static int fill_keys(struct config_reader *c, size_t i, char ***to) {
        const char *text = config_text(c, i);

        if (!is_variable(text))
                return config_fail(c, c->map.nodes[i].at, text, "not a variable's name", NULL);
        return strv_add(to, text) < 0 ? error_oom(c->err) : 0;
}

static int fill_hosts(struct config_reader *c, size_t i, char ***to) {
        const char *text = config_text(c, i), *why;
        struct net_rule rule;

        if (!text)
                return config_fail_type(c, i, "a string");
        if (text[0] == '@')
                why = net_list_find(text + 1) ? NULL : "no list of that name";
        else
                why = net_rule_parse(text, false, &rule);
        if (why)
                return config_fail(c, c->map.nodes[i].at, text, why, "it is what --allow takes");
        return strv_add(to, text) < 0 ? error_oom(c->err) : 0;
}

enum {
        AGENT_NESTED = 5
};
const struct config_object config_agent = {
        /* What is writable in an overlay comes after it. */
        .members = {{"overlay", CONFIG_STRINGS},
                    {"writable", CONFIG_STRINGS},
                    {"readable", CONFIG_STRINGS},
                    {"keys", CONFIG_STRINGS},
                    {"hosts", CONFIG_STRINGS},
                    [AGENT_NESTED] = {"nested", CONFIG_BOOL}},
        .hint = "an agent has overlay, writable, readable, keys, hosts and nested",
};

int config_apply_agent(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        size_t at[CONFIG_MEMBERS_MOST];
        struct policy_agent *agent;
        int r;

        if (!is_agent_name(nodes[node].key))
                return config_fail(c, nodes[node].key_at, nodes[node].key, "not an agent's name",
                                   "letters, digits, dots, hyphens and underscores");
        r = config_members(c, node, &config_agent, at);
        if (r < 0)
                return r;
        agent = policy_add_agent(c->policy, nodes[node].key);
        if (!agent || config_note(c, node, "agents", nodes[node].key, "") < 0)
                return error_oom(c->err);
        agent->entry.is_nested = at[AGENT_NESTED] > 0 && json_is_true(nodes[at[AGENT_NESTED]].value);
        for (size_t k = 0; k < AGENT_NESTED; k++) {
                static const enum policy_access accesses[] = {POLICY_OVERLAY, POLICY_RW, POLICY_RO};
                const struct {
                        char ***to;
                        int (*fill)(struct config_reader *c, size_t i, char ***to);
                } lists[] = {{&agent->keys, fill_keys}, {&agent->hosts, fill_hosts}};

                for (size_t i = at[k] + 1; at[k] > 0 && i < nodes[at[k]].end && r >= 0; i = nodes[i].end)
                        r = k < ARRAY_SIZE(accesses) ? fill_folder(c, i, agent, accesses[k])
                                                     : lists[k - ARRAY_SIZE(accesses)].fill(
                                                               c, i, lists[k - ARRAY_SIZE(accesses)].to);
        }
        agent->entry.keys = (const char *const *)agent->keys;
        agent->entry.hosts = (const char *const *)agent->hosts;
        return r;
}
