/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds and judges the program that confirms an agent's commands.  A command that could write that
 * program, or put another one in its place, would confirm the next command itself. */
#include "confirmer.h"

#include "base/path.h"
#include "host/program.h"
#include "plan/plan.h"
#include "rules/refuse.h"

int confirmer_error(const struct confirmer *c, int r, struct nsrun_error *err) {
        const bool is_name = c && r == -ENOENT && !strchr(c->program, '/');

        return error_set(err, NSRUN_STAGE_USAGE, r, c ? c->program : NULL,
                         "nobody can be asked to confirm the command",
                         is_name ? "name it by its path where it isn't one of the system's" : NULL);
}

/* The program's absolute path, with no symlink followed. */
static int spell(const char *program, char **ret) {
        _cleanup_free_ char *cwd = NULL;

        if (!strchr(program, '/'))
                return program_find(program, ret);
        if (path_is_absolute(program)) {
                *ret = strdup(program);
                return *ret ? 0 : -ENOMEM;
        }
        cwd = getcwd(NULL, 0);
        if (!cwd)
                return -errno;
        *ret = str_format("%s/%s", cwd, program);
        return *ret ? 0 : -ENOMEM;
}

/* Lists the host's folders that a session's commands may write to.  -ENOMEM. */
static int list_session_roots(const struct nsrun_plan *plan, char ***ret) {
        int r = plan->project ? strv_add(ret, plan->project) : 0;

        for (size_t i = 0; i < plan->n_ops && r >= 0; i++)
                if (plan->ops[i].kind == PLAN_BIND && !plan->ops[i].is_read_only)
                        r = strv_add(ret, plan->ops[i].source);
        return r;
}

static int refuse_in_session(const struct policy_request *request, const struct resolved_rule *file,
                             const char *what, struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_strv_ char **writable = NULL;
        _cleanup_exposed_ struct exposed known = {0};
        struct trust trust;
        int r = plan_make(request, &plan, err);

        if (r >= 0)
                r = plan_load_operations(plan, err);
        if (r >= 0 && (list_session_roots(plan, &writable) < 0 || exposed_read(&known) < 0))
                r = error_oom(err);
        trust = (struct trust){.writable = writable, .known = &known};
        return r < 0 ? r : refuse_changeable(&trust, file, what, err);
}

static int refuse_in_sandbox(const struct policy_request *request, const struct resolved_rule *file,
                             const char *what, struct nsrun_error *err) {
        _cleanup_resolved_ struct resolved resolved = {0};
        struct trust trust;
        int r = policy_resolve(request, &resolved, err);

        trust = resolved_trust(&resolved);
        return r < 0 ? r : refuse_changeable(&trust, file, what, err);
}

/* Without a sandbox (`request` is NULL) a command could write the program anywhere: nothing is
 * judged then. */
int confirmer_find(struct confirmer *c, const struct policy_request *request, struct nsrun_error *err) {
        struct resolved_rule file = {.access = POLICY_RO, .option = "--confirm"};
        static const char what[] = "the program that confirms";
        _cleanup_free_ char *spelled = NULL, *canonical = NULL;
        int r = spell(c->program, &spelled);

        if (r >= 0)
                r = path_canonical(spelled, &canonical, NULL);
        if (r < 0)
                return confirmer_error(c, r, err);
        file.spelled = spelled;
        file.source = canonical;
        if (request)
                r = request->policy->session ? refuse_in_session(request, &file, what, err)
                                             : refuse_in_sandbox(request, &file, what, err);
        if (r < 0)
                return r;
        free(c->path);
        c->path = TAKE_PTR(canonical);
        return 0;
}
