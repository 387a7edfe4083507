/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command that writes the program that confirms, or puts another one in its way, would confirm the
 * next one itself. */
#include "confirmer.h"

#include <unistd.h>

#include "base/path.h"
#include "base/sys.h"
#include "plan/plan.h"
#include "policy/refuse.h"

int confirmer_error(const struct confirmer *c, int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_USAGE, r, c ? c->program : NULL,
                         "nobody can be asked to confirm the command", NULL);
}

/* As execvp(3) does, but that an entry which isn't absolute is no place to look: it would be the current
 * folder's, which is mostly the project. */
static int search(const char *name, char **ret) {
        const char *at = getenv("PATH");
        int result = -ENOENT;

        if (!at)
                at = "/bin:/usr/bin";
        for (size_t n; *at; at += n + (at[n] == ':')) {
                _cleanup_free_ char *path = NULL;
                int r;

                n = strcspn(at, ":");
                if (*at != '/')
                        continue;
                if (asprintf(&path, "%.*s/%s", (int)n, at, name) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                r = sys_is_executable(path);
                if (r >= 0) {
                        *ret = TAKE_PTR(path);
                        return 0;
                }
                if (r == -EACCES)
                        result = r;
        }
        return result;
}

/* Its absolute path, as it is spelled. */
static int spell(const char *program, char **ret) {
        _cleanup_free_ char *cwd = NULL;

        if (!strchr(program, '/'))
                return search(program, ret);
        if (path_is_absolute(program)) {
                *ret = strdup(program);
                return *ret ? 0 : -ENOMEM;
        }
        cwd = getcwd(NULL, 0);
        if (!cwd)
                return -errno;
        if (asprintf(ret, "%s/%s", cwd, program) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

/* The folders that the session's commands may write to, as the roots of a policy. */
static int add_session_roots(const struct nsrun_plan *plan, struct nsrun_policy *roots) {
        if (plan->project && !(roots->project = strdup(plan->project)))
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (op->kind == PLAN_BIND && !op->is_read_only &&
                    policy_add_rule(roots, POLICY_RW, op->source, NULL, "the session") < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int refuse_in_session(struct nsrun_policy *policy, const struct policy_rule *file, const char *what,
                             struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        struct nsrun_policy *roots = NULL;
        int r;

        r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0)
                r = plan_load_operations(plan, err);
        if (r < 0)
                return r;
        if (nsrun_policy_new(&roots) < 0 || add_session_roots(plan, roots) < 0)
                r = error_oom(err);
        else
                r = refuse_changeable(roots, file, what, err);
        (void)nsrun_policy_free(roots);
        return r;
}

int confirmer_find(struct confirmer *c, struct nsrun_policy *policy, struct nsrun_error *err) {
        struct policy_rule file = {.access = POLICY_RO, .option = "--confirm"};
        static const char what[] = "the program that confirms";
        _cleanup_free_ char *spelled = NULL, *canonical = NULL;
        int r;

        r = spell(c->program, &spelled);
        if (r >= 0)
                r = path_canonical(spelled, &canonical, NULL);
        if (r < 0)
                return confirmer_error(c, r, err);
        file.spelled = spelled;
        file.source = canonical;
        if (policy->session) {
                r = refuse_in_session(policy, &file, what, err);
        } else {
                r = policy_resolve(policy, err);
                if (r >= 0)
                        r = refuse_changeable(policy, &file, what, err);
        }
        if (r < 0)
                return r;
        free(c->path);
        c->path = TAKE_PTR(canonical);
        return 0;
}
