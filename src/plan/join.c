/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan of a command in a session: the session's own, with another command, working
 * directory and environment. */
#include "base/path.h"
#include "keys/use.h"
#include "policy/withheld.h"
#include "record.h"
#include "resolve/environment.h"

/* Puts one entry of --env into the environment: "NAME=VALUE" as it stands, NAME with the value that
 * the caller's environment has. */
static int set(struct variables *env, const struct nsrun_policy *p, const char *entry) {
        size_t length = strcspn(entry, "=");
        const char *value;

        if (entry[length] == '=')
                return variables_set(env, strdup(entry));
        value = environment_get(environment_inherited(p), entry);
        if (!value) {
                variables_drop(env, entry, length);
                return 0;
        }
        return variables_set(env, str_format("%s=%s", entry, value));
}

static int plan_join_fill_environment(struct nsrun_plan *plan, const struct resolved *s) {
        const struct nsrun_policy *p = s->policy;
        _cleanup_variables_ struct variables env = {0};
        int r = variables_set_all(&env, TAKE_PTR(plan->env));

        if (r >= 0)
                r = environment_add_usual(s, &env);
        if (r < 0)
                return r;
        STRV_FOREACH (entry, p->env.entries) {
                r = set(&env, p, *entry);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (name, p->unset.entries)
                variables_drop(&env, *name, strlen(*name));
        for (const char *const *name = s->unset; name && *name; name++)
                variables_drop(&env, *name, strlen(*name));
        r = variables_set(&env, str_format("PWD=%s", plan->cwd));
        plan->env = variables_finish(&env);
        return r;
}

static int plan_join_fill(struct nsrun_plan *plan, const struct resolved *s) {
        int r;

        /* The session's own --chdir counts for more than where the caller stands. */
        if (s->policy->chdir || (plan->project && streq(plan->cwd, plan->project))) {
                free(TAKE_PTR(plan->cwd));
                r = plan_find_start(s, plan->project, POLICY_NO_PROJECT_DIR, &plan->cwd);
                if (r < 0)
                        return r;
        }
        strv_free(TAKE_PTR(plan->argv));
        r = strv_copy(s->argv, &plan->argv);
        plan->is_session = false;
        /* The session's overlays are mounted already: this command neither mounts one nor needs a
         * run directory. */
        plan->has_overlays = plan->has_stubs = false;
        free(TAKE_PTR(plan->rundir));
        return r < 0 ? r : plan_join_fill_environment(plan, s);
}

/* Reads a session's record, whose plan gets the way into the session. */
static int join_read(const char *id, struct plan_record *record, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_free_ char *bytes = NULL;
        struct plan_join *join;
        size_t n = 0;
        int r = records_open(id, &folder, err);

        if (r >= 0)
                r = records_read(&folder, &bytes, &n, err);
        if (r >= 0)
                r = record_restore(bytes, n, false, record, err);
        if (r < 0)
                return r;
        join = record->plan->join = calloc(1, sizeof(*join));
        if (!join)
                return error_oom(err);
        join->folder = folder;
        folder = RECORD_FOLDER_INIT;
        join->init = record->init;
        join->namespaces = record->namespaces;
        join->isolates_commands = record->plan->isolates_commands;
        join->is_nested = record->is_nested;
        join->cgroup = TAKE_PTR(record->cgroup);
        join->n_processes = record->n_processes;
        join->rundir = TAKE_PTR(record->rundir);
        join->stored = TAKE_PTR(bytes);
        join->n_stored = n;
        memcpy(join->namespace_inodes, record->namespace_inodes, sizeof(join->namespace_inodes));
        return 0;
}

/* Whether the caller's variable that a key comes from has the key in that value, too. */
static bool value_has_key(const struct nsrun_policy *p, const char *source, const char *value) {
        char name[KEY_NAME_MOST + 1];
        enum key_source_kind kind;
        const char *variable, *key = NULL;

        if (!key_source_read(source, name, &kind, &variable) && kind == KEY_OF_VARIABLE)
                key = environment_get(environment_inherited(p), variable);
        return key && value && strlen(key) >= KEY_VALUE_LEAST && strstr(value, key);
}

/* A session's key that stays outside isn't given to one of its commands, by whatever name. */
static int refuse_session_key(const struct nsrun_plan *plan, const struct nsrun_policy *p, const char *name,
                              const char *value, struct nsrun_error *err) {
        STRV_FOREACH (key, plan->keys) {
                size_t n = strcspn(*key, "=");

                if ((strlen(name) == n && strncmp(name, *key, n) == 0) || value_has_key(p, *key, value))
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL, "leave it out",
                                          "--env %s: the session has that key outside (--key)", name);
        }
        return 0;
}

/* Nor are its programs led away from a key: with a count of its own git would not see what leads it there.
 */
static int refuse_leading(const struct nsrun_plan *plan, const char *name, struct nsrun_error *err) {
        STRV_FOREACH (line, plan->key_uses) {
                const char *text = strchr(*line, ' ');
                struct key_use use;

                if (!text || key_use_read(text + 1, &use))
                        continue;
                if (streq(name, use.variable) ||
                    (use.is_git && startswith(name, "GIT_CONFIG_") && environment_get(plan->env, name)))
                        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), NULL,
                                          "leave it out, or say it at the session's start",
                                          "--env %s: the session leads programs to its key %s by it", name,
                                          use.name);
        }
        return 0;
}

static int refuse_keys(const struct nsrun_plan *plan, const struct nsrun_policy *p,
                       struct nsrun_error *err) {
        int r = 0;

        STRV_FOREACH (entry, p->env.entries) {
                _cleanup_free_ char *name = strndup(*entry, strcspn(*entry, "="));
                const char *equals = strchr(*entry, '=');

                if (!name)
                        return error_oom(err);
                r = refuse_session_key(plan, p, name,
                                       equals ? equals + 1 : environment_get(environment_inherited(p), name),
                                       err);
                if (r >= 0)
                        r = refuse_leading(plan, name, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_build_join(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err) {
        _cleanup_record_ struct plan_record record = {0};
        int r = join_read(s->policy->session, &record, err);

        if (r >= 0)
                r = refuse_keys(record.plan, s->policy, err);
        if (r < 0)
                return r;
        record.plan->join->kills_leftovers = s->policy->kills_leftovers;
        if (plan_join_fill(record.plan, s) < 0)
                return error_oom(err);
        *ret = TAKE_PTR(record.plan);
        return 0;
}

int plan_join_again(struct nsrun_plan *plan, const char *id, struct nsrun_error *err) {
        _cleanup_record_ struct plan_record record = {0};
        int r = join_read(id, &record, err);

        if (r >= 0)
                plan->join = TAKE_PTR(record.plan->join);
        return r;
}

int plan_load_operations(struct nsrun_plan *plan, struct nsrun_error *err) {
        _cleanup_record_ struct plan_record record = {0};
        int r;

        if (!plan->join || plan->n_ops > 0)
                return 0;
        r = record_restore(plan->join->stored, plan->join->n_stored, true, &record, err);
        if (r < 0)
                return r;
        plan->ops = TAKE_PTR(record.plan->ops);
        plan->n_ops = record.plan->n_ops;
        record.plan->n_ops = 0;
        return 0;
}
