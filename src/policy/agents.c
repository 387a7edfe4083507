/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --agent NAME: a row of the table, the configuration's or the shipped one, becomes rules.  Every rule is
 * one of nsrun's own: an option or a configuration that names the same folder decides. */
#include "agents.h"

#include "base/path.h"
#include "environment.h"
#include "options.h"
#include "refuse.h"

#define LIST(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define WRITABLE(...) AGENT_FOLDER(POLICY_RW, __VA_ARGS__, {NULL, NULL})
#define OVERLAY(...)  AGENT_FOLDER(POLICY_OVERLAY, __VA_ARGS__, {NULL, NULL})
#define READABLE(...) AGENT_FOLDER(POLICY_RO, __VA_ARGS__, {NULL, NULL})
#define AGENT_FOLDER(how, where, ...)                                      \
        {                                                                  \
                .access = (how), .path = (where), .moved = { __VA_ARGS__ } \
        }

/* clang-format off */
const struct agent_entry agent_entries[] = {
#include "agents.inc"
};
/* clang-format on */
const size_t n_agent_entries = ARRAY_SIZE(agent_entries);

static const char of_agent[] = "--agent";

bool agent_find(const struct nsrun_policy *p, const char *name, struct agent_row *ret) {
        *ret = (struct agent_row){0};
        for (size_t i = 0; i < p->n_agents; i++)
                if (streq(p->agents[i].name, name)) {
                        ret->own = &p->agents[i];
                        return true;
                }
        for (size_t i = 0; i < n_agent_entries; i++)
                if (streq(agent_entries[i].name, name)) {
                        ret->shipped = &agent_entries[i];
                        return true;
                }
        return false;
}

int agent_apply_option(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        struct agent_row row;
        char *copy;

        if (!agent_find(p, value, &row))
                return option_refuse(spec, value, "no agent of that name",
                                     "'nsrun agents' has them all; a configuration adds one", err);
        copy = strdup(value);
        if (!copy)
                return error_oom(err);
        free(p->agent);
        p->agent = copy;
        return 0;
}

static bool agent_find_chosen(const struct nsrun_policy *p, struct agent_row *ret) {
        return p->agent && agent_find(p, p->agent, ret);
}

/* Where a folder of the shipped table is: a variable's place, if the command gets that variable.  A value
 * that is no absolute path moves nothing.  1: *ret; 0: nobody knows the home; -ENOMEM. */
static int place_folder(const struct resolved *s, const struct agent_folder *folder, char **ret) {
        for (size_t i = 0; i < AGENT_MOVES_MOST && folder->moved[i].variable; i++) {
                const char *base = environment_passed(s->policy, folder->moved[i].variable);

                if (!base || !path_is_absolute(base))
                        continue;
                *ret = *folder->moved[i].below ? path_join(base, folder->moved[i].below) : strdup(base);
                return *ret ? 1 : -ENOMEM;
        }
        if (folder->path[0] != '~')
                *ret = strdup(folder->path);
        else if (s->home)
                *ret = path_join(s->home, folder->path + 2);
        else
                return 0;
        return *ret ? 1 : -ENOMEM;
}

/* Adds a rule, and remembers the folder for what is protected in it. */
static int agent_add_rule(struct resolved *s, enum plan_origin of_readable, enum policy_access access,
                          const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *canonical = NULL;
        int r = resolve_default(s, access == POLICY_RW ? PLAN_BY_AGENT : of_readable, access, path, of_agent,
                                err);

        if (r < 0 || access != POLICY_RW)
                return r;
        if (path_canonical(path, &canonical, NULL) == -ENOMEM)
                return error_oom(err);
        return canonical && strv_add(&s->agent_folders, canonical) < 0 ? error_oom(err) : 0;
}

static int add_own(struct resolved *s, const struct policy_agent *agent, struct nsrun_error *err) {
        const struct {
                enum policy_access access;
                char *const *paths;
        } lists[] = {{POLICY_RW, agent->writable},
                     {POLICY_OVERLAY, agent->overlay},
                     {POLICY_RO, agent->readable}};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                STRV_FOREACH (path, lists[i].paths) {
                        r = agent_add_rule(s, PLAN_BY_READABLE, lists[i].access, *path, err);
                        if (r < 0)
                                return r;
                }
        return r;
}

int agent_add_rules(struct resolved *s, struct nsrun_error *err) {
        struct agent_row row;

        if (!agent_find_chosen(s->policy, &row))
                return 0;
        if (s->policy->profile == POLICY_PROFILE_INSTANCE)
                return policy_refuse(
                        err, NULL, "leave one of the two out",
                        "--agent can't be had with the instance profile, which has a home of its own");
        if (row.own)
                return add_own(s, row.own, err);
        for (size_t i = 0; i < AGENT_FOLDERS_MOST && row.shipped->folders[i].path; i++) {
                _cleanup_free_ char *path = NULL;
                int r = place_folder(s, &row.shipped->folders[i], &path);

                if (r < 0)
                        return error_oom(err);
                r = r > 0 ? agent_add_rule(s, PLAN_BY_TABLE, row.shipped->folders[i].access, path, err) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static const char *const *list_of(char *const *own) {
        return (const char *const *)own;
}

/* A key that --env or --unsetenv names is the user's choice, and no other is passed then. */
void agent_choose_key(struct resolved *s) {
        const struct nsrun_policy *p = s->policy;
        const char *const *keys, *found = NULL;
        struct agent_row row;

        if (!agent_find_chosen(p, &row))
                return;
        keys = row.own ? list_of(row.own->keys) : row.shipped->keys;
        for (; keys && *keys; keys++) {
                const char *value = environment_get(environment_inherited(p), *keys);

                if (variables_find(&p->env, *keys, strlen(*keys)))
                        return;
                if (!found && value && *value && !variables_find(&p->unset, *keys, strlen(*keys)))
                        found = *keys;
        }
        s->agent_key = found;
}

const char *const *agent_hosts(const struct nsrun_policy *p) {
        struct agent_row row;

        return !agent_find_chosen(p, &row) ? NULL : row.own ? list_of(row.own->hosts) : row.shipped->hosts;
}

const char *const *agent_protected(const struct resolved *s, const char *path) {
        struct agent_row row;

        if (!strv_contains(s->agent_folders, path) || !agent_find_chosen(s->policy, &row))
                return NULL;
        return row.own ? list_of(row.own->protect) : row.shipped->protect;
}

const char *agent_seccomp(const struct nsrun_policy *p) {
        struct agent_row row;

        if (p->seccomp || !agent_find_chosen(p, &row))
                return p->seccomp;
        return (row.own ? row.own->is_nested : row.shipped->is_nested) ? "nested" : NULL;
}
