/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's environment: what it inherits (withheld.h says what it doesn't), and what nsrun, the policy
 * and a grant set. */
#include "environment.h"

#include "policy/agents.h"
#include "policy/withheld.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static int set_variable(struct variables *v, const char *name, const char *value) {
        return variables_set(v, str_format("%s=%s", name, value));
}

/* Withholds a variable: its name goes into e->left_out, and into s->secrets. */
static int leave_out(struct resolved_environment *e, const char *name, bool is_secret) {
        int r = strv_contains(e->left_out, name) ? 0 : strv_add(&e->left_out, name);

        return r < 0 || !is_secret || strv_contains(e->secrets, name) ? r : strv_add(&e->secrets, name);
}

/* Decides one inherited variable: it is passed, withheld, or dropped by --unsetenv.  `key` names one that is
 * passed although it holds an agent's key; or NULL. */
static int inherit(const struct resolved *s, struct resolved_environment *e, const char *key,
                   const char *entry) {
        const struct nsrun_policy *p = s->policy;
        const char *equals = strchr(entry, '='), *why = NULL;
        _cleanup_free_ char *name = NULL;

        /* An entry without a "=", or without a name before it, can't be looked up by anybody. */
        if (!equals || equals == entry)
                return 0;
        name = strndup(entry, (size_t)(equals - entry));
        if (!name)
                return -ENOMEM;
        if (policy_unsets(p, name) || environment_get(s->grants.variables, name) ||
            environment_get(s->net.key_variables, name))
                return 0;
        if (strv_contains(s->net.key_copies, name))
                return leave_out(e, name, false);
        if (!policy_sets(p, name) && !(key && streq(name, key)))
                why = environment_withholds(p, !s->plain, name, equals + 1);
        if (why)
                return leave_out(e, name, streq(why, "secret"));
        /* Of two entries of one name the first counts, as for getenv(3). */
        return variables_find(&e->variables, name, strlen(name))
                       ? 0
                       : variables_set(&e->variables, strdup(entry));
}

/* git stops where a key or a value is missing that its count promises. */
static int keep_git_whole(const struct nsrun_policy *p, struct resolved_environment *e) {
        static const char count[] = "GIT_CONFIG_COUNT";

        STRV_FOREACH (name, e->secrets)
                if (startswith(*name, "GIT_CONFIG_KEY_") || startswith(*name, "GIT_CONFIG_VALUE_")) {
                        if (!variables_value(&e->variables, count) || policy_sets(p, count))
                                return 0;
                        variables_drop(&e->variables, count, strlen(count));
                        return leave_out(e, count, true);
                }
        return 0;
}

/* What goes before an entry that nsrun adds, beside --unsetenv. */
enum gives_way {
        GIVES_WAY_TO_NOTHING, /* it wins over inherited ones; --env, which is applied later, wins over it */
        GIVES_WAY_TO_OPTIONS, /* --env */
        GIVES_WAY_TO_ALL      /* whatever is passed, as git does; --unsetenv isn't looked at */
};

static int add_entries(const struct nsrun_policy *p, const char *const *entries, enum gives_way way,
                       struct variables *to) {
        int r = 0;

        for (; entries && *entries && r >= 0; entries++) {
                size_t n = strcspn(*entries, "=");

                if (variables_find(way == GIVES_WAY_TO_ALL ? to : &p->unset, *entries, n) ||
                    (way == GIVES_WAY_TO_OPTIONS && variables_find(&p->env, *entries, n)))
                        continue;
                r = variables_set(to, strdup(*entries));
        }
        return r;
}

int environment_add_usual(const struct resolved *s, struct variables *env) {
        return add_entries(s->policy, s->usual, GIVES_WAY_TO_OPTIONS, env);
}

/* A proxy that the caller's programs use isn't asked for what is inside. */
static int except_keys(struct variables *to) {
        static const char *const proxies[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                              "HTTPS_PROXY", "all_proxy",  "ALL_PROXY"},
                                 *const names[] = {"no_proxy", "NO_PROXY"};
        bool has_proxy = false;
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
                has_proxy |= variables_value(to, proxies[i]) != NULL;
        for (size_t i = 0; i < ARRAY_SIZE(names) && has_proxy && r >= 0; i++) {
                const char *said = variables_value(to, names[i]);

                r = variables_set(to, str_format("%s=%s%s127.0.0.1", names[i], said ? said : "",
                                                 said && *said ? "," : ""));
        }
        return r;
}

/* Behind what git is told so otherwise; of a count that is none git itself says so. */
static int lead_git(char *const *addresses, struct variables *to) {
        const char *said = variables_value(to, "GIT_CONFIG_COUNT");
        char *end = NULL;
        unsigned long n = said ? strtoul(said, &end, 10) : 0;
        int r = 0;

        if (said && (*end || n > INT32_MAX / 2))
                return 0;
        for (; addresses && addresses[0] && r >= 0; addresses += 2, n++) {
                unsigned number = (unsigned)n;

                r = variables_set(to,
                                  str_format("GIT_CONFIG_KEY_%u=url.%s.insteadOf", number, addresses[0]));
                if (r >= 0)
                        r = variables_set(to, str_format("GIT_CONFIG_VALUE_%u=%s", number, addresses[1]));
                if (r >= 0)
                        r = variables_set(to, str_format("GIT_CONFIG_COUNT=%u", number + 1));
        }
        return r;
}

/* By which variables programs are led to keys: whatever was said of these, which names none of --env's. */
static int lead_programs(const struct resolved *s, struct variables *to) {
        int r = 0;

        STRV_FOREACH (entry, s->net.key_variables)
                r = r < 0 ? r : variables_set(to, strdup(*entry));
        if (r >= 0 && s->net.keys)
                r = except_keys(to);
        return r < 0 ? r : lead_git(s->net.git_addresses, to);
}

/* Whatever PATH is, a grant's programs come before others of their names. */
static int put_first(const struct resolved *s, struct variables *passed) {
        const char *path = s->grants.programs_first ? variables_value(passed, "PATH") : NULL;
        _cleanup_free_ char *with = path ? str_concat(s->grants.programs_first, ":", path) : NULL;

        if (!path)
                return 0;
        return with ? set_variable(passed, "PATH", with) : -ENOMEM;
}

static int make_environment(const struct resolved *s, struct resolved_environment *e) {
        const struct nsrun_policy *p = s->policy;
        struct variables *passed = &e->variables;
        const char *key = s->plain ? NULL : agent_key(p);
        int r;

        STRV_FOREACH (entry, environment_inherited(p)) {
                r = inherit(s, e, key, *entry);
                if (r < 0)
                        return r;
        }
        r = keep_git_whole(p, e);
        if (r < 0)
                return r;
        if (s->home && !policy_unsets(p, "HOME")) {
                r = set_variable(passed, "HOME", s->home_link ? s->home_link : s->home);
                if (r < 0)
                        return r;
        }
        if (!variables_value(passed, "PATH") && !policy_unsets(p, "PATH")) {
                r = set_variable(passed, "PATH", DEFAULT_PATH);
                if (r < 0)
                        return r;
        }
        r = add_entries(p, (const char *const *)s->git.identity, GIVES_WAY_TO_ALL, passed);
        if (r >= 0)
                r = environment_add_usual(s, passed);
        if (r >= 0 && p->is_env_explicit)
                r = add_entries(p, (const char *const *)p->workspace_env, GIVES_WAY_TO_NOTHING, passed);
        if (r >= 0)
                r = add_entries(p, (const char *const *)s->instance.variables, GIVES_WAY_TO_NOTHING, passed);
        if (r >= 0)
                r = add_entries(p, (const char *const *)s->grants.variables, GIVES_WAY_TO_NOTHING, passed);
        if (r < 0)
                return r;
        STRV_FOREACH (entry, p->env.entries)
                if (strchr(*entry, '=')) {
                        r = variables_set(passed, strdup(*entry));
                        if (r < 0)
                                return r;
                }
        r = lead_programs(s, passed);
        return r < 0 ? r : put_first(s, passed);
}

static void sort_names(char **names) {
        strv_sort(names, strv_length(names));
}

int environment_resolve(const struct resolved *s, struct resolved_environment *e, struct nsrun_error *err) {
        if (make_environment(s, e) < 0)
                return error_oom(err);
        for (const char *const *name = s->unset; name && *name; name++)
                variables_drop(&e->variables, *name, strlen(*name));
        sort_names(e->left_out);
        sort_names(e->secrets);
        return 0;
}
