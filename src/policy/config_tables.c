/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration's "toolchains" and "agents": rows that it adds to nsrun's tables. */
#include "config_keys.h"
#include "host/glob.h"
#include "net/rules.h"
#include "withheld.h"

/* Adds one {"path", "cache", "variable"} of "toolchains". */
static int apply_toolchain(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        _cleanup_free_ char *path = NULL, *shown = NULL;
        const char *variable = NULL, *label;
        bool is_cache = false;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return config_fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end) {
                if (streq(nodes[i].key, "path"))
                        r = config_path(c, i, config_text(c, i), &path);
                else if (streq(nodes[i].key, "cache") && json_kind(nodes[i].value) == JSON_BOOL)
                        is_cache = json_is_true(nodes[i].value);
                else if (streq(nodes[i].key, "cache"))
                        r = config_fail_type(c, i, "true or false");
                else if (streq(nodes[i].key, "variable") && config_text(c, i) &&
                         environment_name_is_valid(config_text(c, i), strlen(config_text(c, i))))
                        variable = config_text(c, i);
                else if (streq(nodes[i].key, "variable"))
                        r = config_fail(c, nodes[i].at, config_text(c, i), "not a variable's name", NULL);
                else
                        r = config_fail(c, nodes[i].key_at, nodes[i].key, "unknown key",
                                        "a toolchain has path, cache and variable");
        }
        if (r < 0)
                return r;
        if (!path)
                return config_fail(c, nodes[node].at, NULL, "a toolchain without a path", NULL);
        label = config_label(c, node, "toolchains");
        if (!label || policy_add_toolchain(c->policy, path, variable, is_cache, label) < 0)
                return error_oom(c->err);
        /* Where the variable is set, that folder is shown instead. */
        shown = variable ? str_concat(path, CONFIG_OR_VARIABLE, variable) : NULL;
        if (variable && !shown)
                return error_oom(c->err);
        return config_note(c, node, "toolchains", shown ? shown : path, "");
}

int config_apply_toolchains(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return config_fail_type(c, node, "an array");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = apply_toolchain(c, i);
        return r;
}

/* Whether an agent's name can be typed, and printed in a list. */
static bool is_agent_name(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

        return n > 0 && !name[n] && name[0] != '-' && n <= 64;
}

static int fill_paths(struct config_reader *c, size_t i, char ***to) {
        char *path = NULL;
        int r = config_path(c, i, config_text(c, i), &path);

        return r < 0 ? r : strv_consume(to, path) < 0 ? error_oom(c->err) : 0;
}

static int fill_keys(struct config_reader *c, size_t i, char ***to) {
        const char *text = config_text(c, i);

        if (!text || !environment_name_is_valid(text, strlen(text)))
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

static int fill_globs(struct config_reader *c, size_t i, char ***to) {
        const char *text = config_text(c, i);

        if (!text || strstr(text, "**") || !glob_is_expandable(text))
                return config_fail(c, c->map.nodes[i].at, text, "not a name below a writable folder",
                                   "such a name is relative, without '.', '..' and empty parts");
        return strv_add(to, text) < 0 ? error_oom(c->err) : 0;
}

/* Applies one member of an agent: an array of strings, or "nested". */
static int apply_agent_member(struct config_reader *c, size_t node, struct policy_agent *agent) {
        const struct {
                const char *key;
                char ***to;
                int (*fill)(struct config_reader *c, size_t i, char ***to);
        } lists[] = {
                {"writable", &agent->writable, fill_paths}, {"overlay", &agent->overlay, fill_paths},
                {"readable", &agent->readable, fill_paths}, {"protect", &agent->protect, fill_globs},
                {"keys", &agent->keys, fill_keys},          {"hosts", &agent->hosts, fill_hosts},
        };
        const struct json_node *nodes = c->map.nodes;
        size_t k;
        int r = 0;

        if (streq(nodes[node].key, "nested")) {
                if (json_kind(nodes[node].value) != JSON_BOOL)
                        return config_fail_type(c, node, "true or false");
                agent->is_nested = json_is_true(nodes[node].value);
                return 0;
        }
        for (k = 0; k < ARRAY_SIZE(lists) && !streq(lists[k].key, nodes[node].key); k++)
                ;
        if (k == ARRAY_SIZE(lists))
                return config_fail(c, nodes[node].key_at, nodes[node].key, "unknown key",
                                   "an agent has writable, overlay, readable, protect, keys, hosts "
                                   "and nested");
        if (json_kind(nodes[node].value) != JSON_ARRAY)
                return config_fail_type(c, node, "an array of strings");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = lists[k].fill(c, i, lists[k].to);
        return r;
}

static int apply_agent(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        struct policy_agent *agent;
        int r = 0;

        if (!is_agent_name(nodes[node].key))
                return config_fail(c, nodes[node].key_at, nodes[node].key, "not an agent's name",
                                   "letters, digits, dots, hyphens and underscores");
        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return config_fail_type(c, node, "an object");
        agent = policy_add_agent(c->policy, nodes[node].key);
        if (!agent || config_note(c, node, "agents", nodes[node].key, "") < 0)
                return error_oom(c->err);
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = apply_agent_member(c, i, agent);
        return r;
}

int config_apply_agents(struct config_reader *c, size_t node) {
        const struct json_node *nodes = c->map.nodes;
        int r = 0;

        if (json_kind(nodes[node].value) != JSON_OBJECT)
                return config_fail_type(c, node, "an object");
        for (size_t i = node + 1; i < nodes[node].end && r >= 0; i = nodes[i].end)
                r = apply_agent(c, i);
        return r;
}
