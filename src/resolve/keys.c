/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keys that stay outside: which there are, by which ports of the sandbox's loopback they are used, and what
 * the command's environment has in their place. */
#include "keys.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/programs.h"
#include "base/responds.h"
#include "host/user.h"
#include "keys/use.h"
#include "policy/agents.h"
#include "policy/withheld.h"

/* The first that may be a key's port: below those that the kernel draws by itself. */
#define FIRST_PORT    19180U
#define SETTINGS_MOST 65536

struct keys_resolving {
        const struct resolved *s;
        const struct nsrun_policy *policy;
        struct resolved_net *net;
        struct net_rules rules; /* without those for keys */
        struct {
                struct key_use use;
                uint16_t port;
        } ports[KEY_USES_MOST];
        size_t n;
        struct nsrun_error *err;
};

static int keys_refuse(const struct keys_resolving *k, const char *name, const char *what,
                       const char *hint) {
        return error_setf(k->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL, hint, "--key %s: %s", name,
                          what);
}

static bool is_port_taken(const struct keys_resolving *k, uint16_t port) {
        for (size_t i = 0; i < k->rules.n; i++)
                for (unsigned n = 0; n < k->rules.rules[i].n_ports; n++)
                        if (k->rules.rules[i].ports[n] == port)
                                return true;
        for (size_t i = 0; i < k->rules.n_publishes; i++)
                if (k->rules.publishes[i].inside == port)
                        return true;
        return false;
}

/* The port of that key at that host, with its rule.  0: there is no memory. */
static uint16_t keys_find_port(struct keys_resolving *k, const struct key_use *use) {
        uint16_t port = FIRST_PORT;
        char *line;

        for (size_t i = 0; i < k->n; i++)
                if (streq(k->ports[i].use.name, use->name) && streq(k->ports[i].use.host, use->host) &&
                    k->ports[i].use.port == use->port)
                        return k->ports[i].port;
        for (size_t i = 0; i < k->n; i++)
                if (k->ports[i].port >= port)
                        port = (uint16_t)(k->ports[i].port + 1);
        while (is_port_taken(k, port))
                port++;
        line = str_format("key %u %s %s:%u", (unsigned)port, use->name, use->host, (unsigned)use->port);
        return line && strv_consume(&k->net->rules, line) >= 0 ? port : 0;
}

static int lead(struct keys_resolving *k, const struct key_use *use, uint16_t port) {
        _cleanup_free_ char *address = key_use_address(use, port);
        size_t before = strcspn(use->pattern, "*");
        int r = 0;

        if (!address)
                return -ENOMEM;
        if (use->variable[0])
                r = strv_consume(&k->net->key_variables,
                                 str_format("%s=%.*s%s%s", use->variable, (int)before, use->pattern, address,
                                            use->pattern + before + 1));
        if (!use->is_git || r < 0)
                return r;
        r = strv_consume(&k->net->git_addresses, str_concat(address, "/", ""));
        return r < 0 ? r
               : use->port == 443
                       ? strv_consume(&k->net->git_addresses,
                                      str_format("https://%s%s/", use->host, use->prefix))
                       : strv_consume(&k->net->git_addresses, str_format("https://%s:%u%s/", use->host,
                                                                         (unsigned)use->port, use->prefix));
}

/* Whether the caller's environment, or --env, leads the key's program elsewhere. */
static bool is_led_elsewhere(const struct nsrun_policy *p, const char *variable) {
        const char *value = variable[0] ? environment_passed(p, variable) : NULL;

        return value && (*value || policy_sets(p, variable));
}

/* `is_known`: by the table, and not by --key-use. */
static int add_use(struct keys_resolving *k, const char *text, bool is_known) {
        struct key_use use;
        uint16_t port;
        int r;

        if (key_use_read(text, &use))
                return keys_refuse(k, text, "it is read another way now", NULL);
        if (is_led_elsewhere(k->policy, use.variable) && policy_sets(k->policy, use.variable))
                return error_setf(k->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                  "leave one of the two out",
                                  "--key %s: --env gives the command %s, by which its programs are led",
                                  use.name, use.variable);
        if (is_known && is_led_elsewhere(k->policy, use.variable))
                return error_setf(
                        k->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                        "name the host that may have the key with --key-use, or leave the variable out "
                        "with --unsetenv",
                        "--key %s: %s leads its programs elsewhere", use.name, use.variable);
        if (net_rules_deny_name(&k->rules, use.host))
                return error_setf(k->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                  "leave one of the two out",
                                  "--key %s and --deny contradict: the key is for %s", use.name, use.host);
        if (k->n == KEY_USES_MOST)
                return error_setf(k->err, NSRUN_STAGE_POLICY, UNSAID(-E2BIG), NULL, NULL,
                                  "keys have more than %d uses", KEY_USES_MOST);
        port = keys_find_port(k, &use);
        if (port == 0)
                return error_oom(k->err);
        k->ports[k->n].use = use;
        k->ports[k->n++].port = port;
        r = strv_consume(&k->net->key_uses, str_format("%u %s", (unsigned)port, text));
        if (r >= 0)
                r = lead(k, &use, port);
        return r < 0 ? error_oom(k->err) : 0;
}

static bool has_own_use(const struct keys_resolving *k, const char *name) {
        STRV_FOREACH (use, k->policy->key_uses) {
                const char *rest = startswith(*use, name);

                if (rest && *rest == '=')
                        return true;
        }
        return false;
}

static int add_uses(struct keys_resolving *k, const char *name) {
        const char *text;
        bool has = has_own_use(k, name);
        int r = 0;

        STRV_FOREACH (use, k->policy->key_uses) {
                const char *rest = startswith(*use, name);

                if (rest && *rest == '=' && r >= 0)
                        r = add_use(k, *use, false);
        }
        for (size_t i = 0; !has && r >= 0 && (text = key_use_known(name, i)); i++)
                r = add_use(k, text, true);
        return r < 0 || has || key_use_known(name, 0)
                       ? r
                       : keys_refuse(
                                 k, name, "nsrun doesn't know where that key goes",
                                 "say it: --key-use NAME=https://HOST,header=HEADER: *,variable=X_BASE_URL");
}

/* The value that the caller's environment has is the plan's secret, as the proxy's password is. */
static int keys_add_value(struct keys_resolving *k, const char *name, const char *variable) {
        const char *value = environment_get(environment_inherited(k->policy), variable), *why;
        char *longer;

        why = value ? key_value_judge(value) : "isn't set";
        if (why)
                return error_setf(k->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL, NULL,
                                  "--key %s: the variable %s %s", name, variable, why);
        longer = str_format("%s%s %s\n", k->net->key_values ? k->net->key_values : "", name, value);
        secret_forget(&k->net->key_values);
        k->net->key_values = longer;
        return longer && (streq(name, variable) || strv_add(&k->net->key_copies, variable) >= 0)
                       ? 0
                       : error_oom(k->err);
}

/* The key as the plan has it: its file by a path from the root, for all who keep that from commands. */
static char *key_of_plan(const char *text, enum key_source_kind kind, const char *what) {
        _cleanup_free_ char *home = NULL, *path = NULL, *before = NULL;

        if (kind != KEY_OF_FILE)
                return strdup(text);
        before = strndup(text, (size_t)(what - text));
        return before && user_find_home(getenv("HOME"), &home) >= 0 && user_expand(home, what, &path) >= 0
                       ? str_concat(before, path ? path : what, "")
                       : NULL;
}

static int add_key(struct keys_resolving *k, const char *text) {
        _cleanup_free_ char *placeholder = NULL;
        char name[KEY_NAME_MOST + 1];
        enum key_source_kind kind;
        const char *what;
        int r;

        if (key_source_read(text, name, &kind, &what))
                return keys_refuse(k, "NAME", "it is read another way now", NULL);
        if (environment_get(k->net->key_variables, name))
                return keys_refuse(k, name, "it is named twice", "leave one of the two out");
        if (policy_sets(k->policy, name))
                return keys_refuse(k, name, "--env gives the command that variable",
                                   "leave one of the two out");
        placeholder = key_placeholder(name);
        if (!placeholder || strv_consume(&k->net->keys, key_of_plan(text, kind, what)) < 0 ||
            strv_consume(&k->net->key_variables, str_concat(name, "=", placeholder)) < 0)
                return error_oom(k->err);
        r = kind == KEY_OF_VARIABLE ? keys_add_value(k, name, what) : 0;
        return r < 0 ? r : add_uses(k, name);
}

static int refuse_useless(const struct keys_resolving *k) {
        STRV_FOREACH (use, k->policy->key_uses) {
                size_t n = strcspn(*use, "=");
                bool has = false;

                STRV_FOREACH (key, k->net->keys)
                        has |= strncmp(*key, *use, n) == 0 && (!(*key)[n] || (*key)[n] == '=');
                /* A configuration may say how keys are used that another run has. */
                if (!has && strv_contains(k->policy->given, "key-use"))
                        return error_setf(k->err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, NULL,
                                          "--key-use is of no use without --key %.*s", (int)n, *use);
        }
        return 0;
}

/* Whether --key-use can name that address. */
static bool may_be_used_at(const char *key, const char *address) {
        _cleanup_free_ char *text = str_concat(key, "=", address);
        struct key_use use;

        return text && !key_use_read(text, &use);
}

/* Why the agent's key can't stay outside, for the caller to free, and what helps; "": it can.  NULL for want
 * of memory. */
static char *find_obstacle(const struct keys_resolving *k, const char *key, const char **ret_fix) {
        const char *value = environment_get(environment_inherited(k->policy), key),
                   *why = value ? key_value_judge(value) : NULL;
        struct key_use use;

        *ret_fix = "--key with --key-use keeps it outside";
        if (sys_is_executable(program_keys()) < 0) {
                *ret_fix = "install nsrun completely";
                return strdup("nsrun-keys isn't there");
        }
        if (why) {
                *ret_fix = "--unsetenv keeps it from the command";
                return str_concat("its value ", why, "");
        }
        if (has_own_use(k, key))
                return strdup("");
        if (!key_use_known(key, 0))
                return strdup("nsrun doesn't know where it goes");
        for (size_t i = 0; key_use_known(key, i); i++) {
                if (key_use_read(key_use_known(key, i), &use))
                        continue;
                if (is_led_elsewhere(k->policy, use.variable)) {
                        if (!may_be_used_at(key, environment_passed(k->policy, use.variable)))
                                *ret_fix = "--key-use takes https and a host's name alone";
                        else if (policy_sets(k->policy, use.variable))
                                *ret_fix = "--key with --key-use, and without that --env, keeps it outside";
                        return str_concat(use.variable, " leads its programs elsewhere", "");
                }
                if (net_rules_deny_name(&k->rules, use.host)) {
                        *ret_fix = "--unsetenv keeps it from the command";
                        return str_concat("--deny has ", use.host, "");
                }
        }
        return strdup("");
}

/* Whether what lies at `path` below that folder has the word in it. */
static bool names_word(const char *folder, const char *path, const char *word) {
        _cleanup_free_ char *full = folder && *folder == '/' ? path_join(folder, path) : NULL, *text = NULL;

        return full && responds_read(full, SETTINGS_MOST, &text) >= 0 && strstr(text, word);
}

/* The agent is led to its key, and says itself that it can't be used so where its settings name no login. */
static int say_unled(const struct keys_resolving *k, const struct agent_entry *agent) {
        const char *home = agent->needs.path ? environment_passed(k->policy, agent->needs.variable) : NULL;

        if (!agent->needs.path ||
            names_word(home ? home : k->s->guarded, agent->needs.path, agent->needs.member) ||
            names_word(k->s->project, agent->needs.path, agent->needs.member))
                return 0;
        return strv_consume(&k->net->lacks,
                            str_format("%s uses a key outside only where its %s names a %s: %s", agent->name,
                                       agent->needs.path, agent->needs.member, agent->needs.value)) < 0
                       ? error_oom(k->err)
                       : 0;
}

/* The agent's key, where its programs can be led: as --key names it.  Where it goes inside instead that is
 * said. */
static int add_agents(struct keys_resolving *k) {
        const struct agent_entry *agent = agent_chosen(k->policy);
        const char *key = agent && agent->can_be_led ? agent_key(k->policy) : NULL, *fix;
        _cleanup_free_ char *why = NULL;
        int r;

        /* Of --key, by this name or by another. */
        if (!key || environment_get(k->net->key_variables, key) ||
            key_value_is_in(k->net->key_values, environment_get(environment_inherited(k->policy), key)))
                return 0;
        why = find_obstacle(k, key, &fix);
        if (!why)
                return error_oom(k->err);
        if (!*why) {
                r = add_key(k, key);
                return r < 0 ? r : say_unled(k, agent);
        }
        return strv_consume(&k->net->lacks,
                            str_format("the agent's key %s is in the sandbox: %s (%s)", key, why, fix)) < 0
                       ? error_oom(k->err)
                       : 0;
}

/* Whoever names such a variable wants the key inside and outside. */
static int refuse_copy(const struct keys_resolving *k, const char *name, size_t n) {
        return error_setf(k->err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                          k->policy->keys
                                  ? "leave one of the two out"
                                  : "leave it out, or give the command the agent's key with --env, too",
                          "--env %.*s: a key is in it that stays outside", (int)n, name);
}

/* The caller's variables with a key in them are kept from the command; those that nobody has named are said.
 */
static int keep_copies(struct keys_resolving *k) {
        _cleanup_strbuf_ struct strbuf names = {0};
        _cleanup_free_ char *list = NULL;

        STRV_FOREACH (entry, k->policy->env.entries)
                if (strchr(*entry, '=') && key_value_is_in(k->net->key_values, strchr(*entry, '=') + 1))
                        return refuse_copy(k, *entry, strcspn(*entry, "="));
        STRV_FOREACH (entry, environment_inherited(k->policy)) {
                size_t n = strcspn(*entry, "=");
                _cleanup_free_ char *name = strndup(*entry, n);

                if (!name)
                        return error_oom(k->err);
                if (!(*entry)[n] || !key_value_is_in(k->net->key_values, *entry + n + 1) ||
                    environment_get(k->net->key_variables, name) || policy_unsets(k->policy, name) ||
                    variables_value(&k->policy->env, name))
                        continue;
                if (policy_sets(k->policy, name))
                        return refuse_copy(k, name, n);
                if (strv_contains(k->net->key_copies, name))
                        continue;
                if (strv_add(&k->net->key_copies, name) < 0)
                        return error_oom(k->err);
                if (!k->policy->clean_env)
                        strbuf_addf(&names, "%s%s", names.length > 0 ? ", " : "", name);
        }
        if (names.length == 0)
                return 0;
        list = strbuf_finish(&names);
        if (!list || strv_consume(&k->net->lacks, str_concat("variables that have a key in them which stays "
                                                             "outside are withheld from the command: ",
                                                             list, "")) < 0)
                return error_oom(k->err);
        return 0;
}

int keys_resolve(const struct resolved *s, struct resolved_net *net, struct nsrun_error *err) {
        struct keys_resolving k = {.s = s, .policy = s->policy, .net = net, .err = err};
        int r = net_rules_read(net->rules, &k.rules);

        if (r < 0)
                return error_oom(err);
        STRV_FOREACH (text, s->policy->keys)
                if (r >= 0)
                        r = add_key(&k, *text);
        if (r >= 0)
                r = add_agents(&k);
        if (r >= 0)
                r = keep_copies(&k);
        if (r >= 0)
                r = refuse_useless(&k);
        net_rules_clear(&k.rules);
        return r;
}
