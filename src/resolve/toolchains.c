/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder of the table that can't be shown fails no run: `nsrun toolchains` says
 * why it is left out.  A variable is its user's, but what it names is judged like a path that the user
 * names, since a slip (a cache at $HOME) would show more than a cache. */
#include "steps.h"

#include "base/array.h"
#include "base/path.h"
#include "host/toolchains.h"
#include "policy/withheld.h"
#include "rules/home_secrets.h"
#include "rules/refuse.h"
#include "rules/rules.h"

struct addition {
        struct resolved *resolved;
        const char *option; /* who asked for the row */
        bool is_of_config;
        struct nsrun_error *err;
};

/* Why a place isn't shown, for the caller to free; NULL for want of memory. */
static char *explain_state(const struct toolchain_place *place) {
        static const char *const texts[] = {
                [TOOLCHAIN_NOWHERE] = "nothing is there",
                [TOOLCHAIN_NOT_ABSOLUTE] = "that is no absolute path",
                [TOOLCHAIN_NOT_A_FOLDER] = "it is no folder",
                [TOOLCHAIN_NOT_ITSELF] = "it has no",
                [TOOLCHAIN_HOLDS] = "it holds",
                [TOOLCHAIN_UNREADABLE] = "it can't be looked at",
                [TOOLCHAIN_SILENT] = "what is mounted there doesn't answer",
        };

        if (!place->detail)
                return strdup(texts[place->state]);
        return str_format("%s %s", texts[place->state], place->detail);
}

/* Refuses a path that the user, a variable or a link names, if it holds more than a toolchain. */
static int judge_named(const struct resolved *s, const struct resolved_rule *rule, struct nsrun_error *why) {
        struct resolved_rule strict = *rule;

        if (s->guarded && path_is_beneath(s->guarded, rule->source))
                return policy_refuse(why, rule->source, NULL, "it holds the home folder");
        strict.access = POLICY_OVERLAY;
        return refuse_secrets(&strict, s->guarded, why);
}

/* Whether one of the first n rules shows `path` at its own place already, and lets the command do with it
 * what it may do with a toolchain of this access. */
static bool is_shown_already(const struct resolved *s, size_t n, const char *path,
                             enum policy_access access) {
        for (size_t i = 0; i < n; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];

                if (path_is_beneath(path, rule->source) && streq(rule->source, rule->target) &&
                    (rule->access == POLICY_RW || rule->access == access))
                        return true;
        }
        return false;
}

/* Whether the folder `base`, in which a variable has put a toolchain, can be a tmpfs of its own: as in the
 * home folder, a tool makes its locks there beside what is exposed. */
static bool may_be_ephemeral(const struct resolved *s, const char *base) {
        if (refuse_is_own(base) || path_is_beneath(base, "/tmp") || path_is_beneath(base, "/usr") ||
            path_is_beneath(base, "/opt") || path_is_beneath(base, "/etc") || startswith(base, "/lib") ||
            (s->guarded && (path_is_beneath(base, s->guarded) || path_is_beneath(s->guarded, base))) ||
            strv_contains(s->files.ephemeral, base) || !strchr(base + 1, '/'))
                return false;
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (path_is_beneath(base, s->files.rules[i].target) ||
                    (s->files.rules[i].origin != POLICY_BY_TOOLCHAINS &&
                     path_is_beneath(s->files.rules[i].target, base)))
                        return false;
        return true;
}

/* Makes the rule of a place that is there.  0: it is shown; 1: it isn't, *why says why; -ENOMEM. */
static int show(const struct addition *a, const struct toolchain_place *place, struct nsrun_error *why) {
        struct resolved *s = a->resolved;
        const struct rule_request request = {
                .access = place->entry->access == TOOLCHAIN_OVERLAY ? POLICY_OVERLAY : POLICY_RO,
                .origin = POLICY_BY_TOOLCHAINS,
                .option = a->option,
                .source = place->path,
                .mode = !place->is_canonical    ? 0
                        : place->entry->is_file ? S_IFREG
                                                : S_IFDIR,
        };
        size_t n = s->files.n_rules;
        bool is_named = place->variable || a->is_of_config, is_around;
        struct resolved_rule *rule;
        int r = resolve_rule(s, &request, why);

        if (r == 0 && s->files.n_rules == n)
                r = policy_refuse(why, place->path, NULL, "nothing is there any more");
        if (r < 0)
                return r == -ENOMEM ? r : 1;
        rule = &s->files.rules[n];
        is_around = is_named && is_shown_already(s, n, rule->source, request.access);
        r = !is_around && (is_named || rule->spelled) ? judge_named(s, rule, why) : 0;
        /* nsrun_toolchains_readable(), which file tools have, follows no link. */
        if (r >= 0 && s->policy->has_workspace && toolchains_is_linked(s->home, place->path, rule->source))
                r = policy_refuse(why, place->path, NULL,
                                  "a symlink leads to it, which a command may have made");
        if (is_around || r < 0) {
                resolved_rule_clear(rule);
                s->files.n_rules--;
                return r == -ENOMEM ? r : r < 0;
        }
        if (place->base && !streq(place->base, place->path) && !rule->spelled &&
            may_be_ephemeral(s, place->base))
                return strv_add(&s->files.ephemeral, place->base);
        return 0;
}

static int note_place(const struct addition *a, const struct toolchain_place *place, char *why) {
        struct resolved *s = a->resolved;
        struct resolved_toolchain t = {
                .tool = place->entry->tool,
                .path = strdup(place->path),
                .variable = place->variable,
                .access = place->entry->access == TOOLCHAIN_OVERLAY ? POLICY_OVERLAY : POLICY_RO,
                .why = why,
        };

        if (!t.path || ARRAY_GROW(s->tools.toolchains, s->tools.n_toolchains) < 0) {
                resolved_toolchain_clear(&t);
                return -ENOMEM;
        }
        s->tools.toolchains[s->tools.n_toolchains++] = t;
        return 0;
}

static int add_place(void *data, const struct toolchain_place *place) {
        const struct addition *a = data;
        struct nsrun_error why = {0};
        char *text = NULL;

        if (place->state != TOOLCHAIN_FOUND) {
                text = explain_state(place);
                return text ? note_place(a, place, text) : -ENOMEM;
        }
        switch (show(a, place, &why)) {
        case 0:
                return note_place(a, place, NULL);
        case 1:
                text = strdup(why.what);
                return text ? note_place(a, place, text) : -ENOMEM;
        }
        return -ENOMEM;
}

static const char *passed_variable(const void *data, const char *name) {
        return environment_passed(data, name);
}

/* Adds the rows of the configuration, before those of the table: of two equal ones the first stays. */
static int add_configured(struct resolved *s, const struct toolchain_host *host, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int r = 0;

        for (size_t i = 0; i < p->n_toolchains && r >= 0; i++) {
                const struct policy_toolchain *t = &p->toolchains[i];
                const struct toolchain_entry entry = {
                        .tool = "configuration",
                        .access = t->is_cache ? TOOLCHAIN_OVERLAY : TOOLCHAIN_READABLE,
                        .path = t->path,
                        .moved = {{t->variable, ""}},
                };
                struct addition a = {.resolved = s, .option = t->label, .is_of_config = true, .err = err};

                r = toolchains_find(host, &entry, add_place, &a);
        }
        return r;
}

int toolchain_rules_add(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        bool has_users = (!p->has_workspace || p->has_toolchains) && p->profile != POLICY_PROFILE_INSTANCE;
        const struct toolchain_host host = {.home = has_users ? s->home : NULL,
                                            .home_names = &s->home_names,
                                            .variable = passed_variable,
                                            .data = p};
        struct addition a = {.resolved = s, .option = "toolchains", .err = err};
        int r = has_users ? add_configured(s, &host, err) : 0;

        if (r >= 0)
                r = toolchains_each(&host, add_place, &a);
        return r < 0 ? error_oom(err) : 0;
}

/* Writes down why the toolchain at `path` isn't shown after all. */
static int leave_toolchain_out(struct resolved *s, const char *path, const char *why) {
        for (size_t i = 0; i < s->tools.n_toolchains; i++) {
                struct resolved_toolchain *t = &s->tools.toolchains[i];

                if (!streq(t->path, path) || t->why)
                        continue;
                t->why = strdup(why);
                if (!t->why)
                        return -ENOMEM;
        }
        return 0;
}

int toolchain_rules_distrust(struct resolved *s, struct nsrun_error *err) {
        const struct trust trust = resolved_trust(s);
        size_t kept = 0;
        int r = 0;

        for (size_t i = 0; i < s->files.n_rules; i++) {
                struct resolved_rule *rule = &s->files.rules[i];
                struct nsrun_error why = {0};
                bool is_judged = r >= 0 && rule->origin == POLICY_BY_TOOLCHAINS && rule->spelled;

                if (!is_judged || refuse_untrusted_link(&trust, rule, &why) >= 0) {
                        s->files.rules[kept++] = *rule;
                        continue;
                }
                r = leave_toolchain_out(s, rule->spelled, why.what);
                resolved_rule_clear(rule);
        }
        s->files.n_rules = kept;
        return r < 0 ? error_oom(err) : 0;
}

/* ---------------------------------------------------------------- what isn't visible inside */

bool resolved_shows(const struct resolved *s, const char *path) {
        static const char *const roots[] = {"/usr", "/opt", "/bin", "/sbin", "/etc"};

        if (path_is_beneath_any(path, roots, ARRAY_SIZE(roots)) &&
            !(s->guarded && path_is_beneath(path, s->guarded)))
                return true;
        if (startswith(path, "/lib") || (s->files.tmp.source && path_is_beneath(path, "/tmp")))
                return true;
        for (size_t i = 0; i < s->files.n_rules; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];

                if (path_is_beneath(path, rule->target))
                        return true;
                STRV_FOREACH (alias, rule->aliases)
                        if (path_is_beneath(path, *alias))
                                return true;
        }
        return false;
}

/* Whether `path` is on the host, if only by a mount that doesn't answer, and not in the sandbox; or leads to
 * what isn't.  -ENOMEM. */
static int is_unseen(const struct resolved *s, const char *path) {
        _cleanup_free_ char *normal = path_is_absolute(path) ? path_normalise(path) : NULL, *real = NULL;
        int r;

        if (!normal)
                return path_is_absolute(path) ? -ENOMEM : 0;
        if (!resolved_shows(s, normal)) {
                r = path_canonical(normal, &real, NULL);
                return r == -ENOMEM ? r : r >= 0 || r == -ETIMEDOUT;
        }
        if (path_is_beneath(normal, "/usr") || path_is_beneath(normal, "/bin") ||
            path_is_beneath(normal, "/sbin"))
                return 0;
        r = path_canonical(normal, &real, NULL);
        return r == -ENOMEM ? r : r == -ETIMEDOUT || (r >= 0 && !resolved_shows(s, real));
}

/* Why the toolchain that `variable` names isn't shown; NULL: no row of the table follows it. */
static const char *find_why(const struct resolved *s, const char *variable) {
        for (size_t i = 0; i < s->tools.n_toolchains; i++)
                if (s->tools.toolchains[i].variable && streq(s->tools.toolchains[i].variable, variable) &&
                    s->tools.toolchains[i].why)
                        return s->tools.toolchains[i].why;
        return NULL;
}

static int find_unseen_variable(const struct resolved *s, struct resolved_tools *tools, const char *name,
                                const char *below) {
        const char *value = variables_value(&s->environment.variables, name), *why = find_why(s, name);
        _cleanup_free_ char *path = NULL;
        int r;

        if (!value || !path_is_absolute(value))
                return 0;
        path = path_join(value, below);
        r = path ? is_unseen(s, path) : -ENOMEM;
        /* Of a folder that isn't what the variable promises its own name is looked for. */
        if (r == 0 && access(path, F_OK) < 0)
                r = is_unseen(s, value);
        if (r <= 0)
                return r;
        return strv_consume(&tools->unseen, str_format("%s=%s isn't visible inside%s%s", name, value,
                                                       why ? ": " : "", why ? why : ""));
}

/* Whether an entry of a list like PATH's, n bytes long at `at`, stands before that in the list. */
static bool is_repeated(const char *list, const char *at, size_t n) {
        for (const char *before = list; before < at; before += strcspn(before, ":") + 1)
                if (strcspn(before, ":") == n && strncmp(before, at, n) == 0)
                        return true;
        return false;
}

static int find_unseen_path(const struct resolved *s, struct resolved_tools *tools) {
        const char *value = variables_value(&s->environment.variables, "PATH");
        _cleanup_strbuf_ struct strbuf names = {0};
        _cleanup_free_ char *list = NULL;
        int r = 0;

        for (const char *at = value; at && *at && r >= 0;) {
                size_t n = strcspn(at, ":");
                _cleanup_free_ char *entry = strndup(at, n);

                r = !entry ? -ENOMEM : is_repeated(value, at, n) ? 0 : is_unseen(s, entry);
                if (r > 0)
                        strbuf_addf(&names, "%s%s", names.length ? ", " : "", entry);
                at += n + (at[n] == ':');
        }
        if (r < 0 || (!names.length && !names.has_failed))
                return r < 0 ? r : 0;
        list = strbuf_finish(&names);
        return list ? strv_consume(&tools->unseen,
                                   str_format("PATH names what isn't visible inside: %s", list))
                    : -ENOMEM;
}

int toolchain_rules_find_unseen(const struct resolved *s, struct resolved_tools *tools,
                                struct nsrun_error *err) {
        static const char *const variables[][2] = {
                {"VIRTUAL_ENV", "bin/python"},
                {"CONDA_PREFIX", "bin"},
                {"JAVA_HOME", "bin/java"},
                {"GOROOT", "bin/go"},
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(variables) && r >= 0; i++)
                r = find_unseen_variable(s, tools, variables[i][0], variables[i][1]);
        if (r >= 0)
                r = find_unseen_path(s, tools);
        STRV_FOREACH (entry, s->policy->env.entries)
                if (r >= 0 && !strchr(*entry, '=') &&
                    !environment_get(environment_inherited(s->policy), *entry))
                        r = strv_consume(&tools->unseen,
                                         str_format("--env %s passes nothing: it isn't set here", *entry));
        return r < 0 ? error_oom(err) : 0;
}
