/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan of a command in a session: the session's own, with another command, working
 * directory and environment. */
#include "base/path.h"
#include "policy/environment.h"
#include "record.h"

/* Takes the entry for the `length` bytes of `name` out of v. */
static void drop(char **v, const char *name, size_t length) {
        char **to = v;

        for (char **from = v; from && *from; from++)
                if (strncmp(*from, name, length) == 0 && (*from)[length] == '=')
                        free(*from);
                else
                        *to++ = *from;
        if (to)
                *to = NULL;
}

/* "NAME=VALUE", or NAME as the caller has it. */
static int set(char ***env, const struct nsrun_policy *p, const char *entry) {
        size_t length = strcspn(entry, "=");
        const char *value;
        char *made;

        drop(*env, entry, length);
        if (entry[length] == '=')
                return strv_add(env, entry);
        value = environment_get(environment_inherited(p), entry);
        if (!value)
                return 0;
        return asprintf(&made, "%s=%s", entry, value) < 0 ? -ENOMEM : strv_consume(env, made);
}

static int fill_environment(struct nsrun_plan *plan, const struct nsrun_policy *p) {
        char *pwd = NULL;
        int r = 0;

        STRV_FOREACH (entry, p->env) {
                r = set(&plan->env, p, *entry);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (name, p->unset)
                drop(plan->env, *name, strlen(*name));
        drop(plan->env, "PWD", 3);
        return asprintf(&pwd, "PWD=%s", plan->cwd) < 0 ? -ENOMEM : strv_consume(&plan->env, pwd);
}

static int fill(struct nsrun_plan *plan, const struct nsrun_policy *p) {
        const char *start = plan->project ? plan->project : POLICY_NO_PROJECT_DIR;
        int r;

        if (p->chdir) {
                free(plan->cwd);
                plan->cwd = path_join(start, p->chdir);
                if (!plan->cwd)
                        return -ENOMEM;
        }
        strv_free(TAKE_PTR(plan->argv));
        r = strv_copy(p->argv, &plan->argv);
        plan->is_session = false;
        /* They are mounted, whatever this command does. */
        plan->has_overlays = false;
        free(TAKE_PTR(plan->umbrella));
        return r < 0 ? r : fill_environment(plan, p);
}

int plan_build_join(const struct nsrun_policy *p, struct nsrun_plan **ret, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        _cleanup_free_ char *bytes = NULL;
        struct plan_join *join;
        size_t n = 0;
        int r;

        r = records_open(p->session, &folder, err);
        if (r >= 0)
                r = records_read(&folder, &bytes, &n, err);
        if (r >= 0)
                r = record_restore(bytes, n, false, &record, err);
        if (r < 0)
                return r;
        join = record.plan->join = calloc(1, sizeof(*join));
        if (!join)
                return error_oom(err);
        join->folder = folder;
        folder = RECORD_FOLDER_INIT;
        join->init = record.init;
        join->namespaces = record.namespaces;
        join->is_nested = record.is_nested;
        join->kills_leftovers = p->kills_leftovers;
        join->cgroup = TAKE_PTR(record.cgroup);
        join->n_processes = record.n_processes;
        join->stored = TAKE_PTR(bytes);
        join->n_stored = n;
        memcpy(join->namespace_inodes, record.namespace_inodes, sizeof(join->namespace_inodes));
        if (fill(record.plan, p) < 0)
                return error_oom(err);
        *ret = TAKE_PTR(record.plan);
        return 0;
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
