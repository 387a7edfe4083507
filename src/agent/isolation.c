/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instance isolation for host programs: picoclaw's pkg/isolation, function by function, on an
 * object of the host program's instead of process-wide state. */
#include "base/path.h"
#include "base/responds.h"
#include "probe.h"
#include "resolve/instance_folders.h"
#include "resolve/project.h"
#include "run/sized.h"

struct nsrun_isolation {
        bool is_enabled;
        char *root;      /* the instance root; or NULL */
        char *workspace; /* the instance's workspace; or NULL */
        struct nsrun_expose_path *expose_paths;
        size_t n_expose_paths;
        nsrun_log log;
        void *log_data;
};

static const char label[] = "expose_paths";

nsrun_public int nsrun_isolation_new(struct nsrun_isolation **ret) {
        struct nsrun_isolation *isolation = calloc(1, sizeof(*isolation));

        if (!isolation)
                return -ENOMEM;
        *ret = isolation;
        return 0;
}

nsrun_public struct nsrun_isolation *nsrun_isolation_free(struct nsrun_isolation *isolation) {
        if (!isolation)
                return NULL;
        free(isolation->root);
        free(isolation->workspace);
        free(isolation->expose_paths);
        free(isolation);
        return NULL;
}

nsrun_public int nsrun_isolation_configure(struct nsrun_isolation *isolation,
                                           const struct nsrun_isolation_config *config) {
        _cleanup_expose_ struct expose_list list = {0};
        _cleanup_free_ char *root = NULL, *workspace = NULL;
        struct nsrun_isolation_config own;
        struct nsrun_expose_path *packed = NULL;
        size_t n = 0;
        int r = sized_take(&own, sizeof(own), config, "nsrun_isolation_config", NULL);

        if (r < 0)
                return r;
        root = own.root ? strdup(own.root) : NULL;
        workspace = own.workspace ? strdup(own.workspace) : NULL;
        if ((own.root && !root) || (own.workspace && !workspace) ||
            expose_add_all(&list, own.expose_paths, own.n_expose_paths, label) < 0 ||
            expose_pack(&list, &packed, &n) < 0)
                return -ENOMEM;
        free(isolation->root);
        free(isolation->workspace);
        free(isolation->expose_paths);
        isolation->is_enabled = own.enabled != 0;
        isolation->root = TAKE_PTR(root);
        isolation->workspace = TAKE_PTR(workspace);
        isolation->expose_paths = packed;
        isolation->n_expose_paths = n;
        return 0;
}

nsrun_public void nsrun_isolation_current(const struct nsrun_isolation *isolation,
                                          struct nsrun_isolation_config *ret) {
        struct nsrun_isolation_config now = {
                .size = sizeof(now),
                .enabled = isolation->is_enabled,
                .root = isolation->root,
                .expose_paths = isolation->expose_paths,
                .n_expose_paths = isolation->n_expose_paths,
                .workspace = isolation->workspace,
        };

        sized_move(ret, &now);
}

nsrun_public void nsrun_isolation_set_log(struct nsrun_isolation *isolation, nsrun_log log, void *data) {
        isolation->log = log;
        isolation->log_data = data;
}

nsrun_public int nsrun_isolation_is_supported(void) {
        return 1;
}

/* ------------------------------------------------------------ expose paths */

static int pack_and_clear(int r, struct expose_list *list, struct nsrun_expose_path **ret, size_t *ret_n) {
        if (r >= 0)
                r = expose_pack(list, ret, ret_n);
        expose_clear(list);
        return r;
}

nsrun_public int nsrun_isolation_default_expose_paths(const char *root, struct nsrun_expose_path **ret,
                                                      size_t *ret_n) {
        struct expose_list list = {0};

        return pack_and_clear(expose_add_defaults(&list, root), &list, ret, ret_n);
}

nsrun_public int nsrun_isolation_normalize_expose_path(const struct nsrun_expose_path *item,
                                                       struct nsrun_expose_path **ret) {
        struct expose_list list = {0};
        size_t n;

        return pack_and_clear(expose_add_all(&list, item, 1, label), &list, ret, &n);
}

nsrun_public int nsrun_isolation_merge_expose_paths(const struct nsrun_expose_path *defaults,
                                                    size_t n_defaults,
                                                    const struct nsrun_expose_path *overrides,
                                                    size_t n_overrides, struct nsrun_expose_path **ret,
                                                    size_t *ret_n) {
        struct expose_list list = {0};
        int r = expose_add_all(&list, defaults, n_defaults, label);

        if (r >= 0)
                r = expose_add_all(&list, overrides, n_overrides, label);
        if (r >= 0)
                r = expose_merge(&list);
        return pack_and_clear(r, &list, ret, ret_n);
}

nsrun_public int nsrun_isolation_validate_expose_paths(const struct nsrun_expose_path *items, size_t n,
                                                       struct nsrun_error *error) {
        _cleanup_expose_ struct expose_list list = {0};

        if (expose_add_all(&list, items, n, label) < 0)
                return error_oom(error);
        return expose_check_all(&list, error);
}

nsrun_public int nsrun_isolation_build_mount_plan(const char *root,
                                                  const struct nsrun_expose_path *overrides,
                                                  size_t n_overrides, struct nsrun_expose_path **ret,
                                                  size_t *ret_n) {
        struct expose_list list = {0};
        int r = expose_add_defaults(&list, root);

        if (r >= 0)
                r = expose_add_all(&list, overrides, n_overrides, label);
        if (r >= 0)
                r = expose_merge(&list);
        return pack_and_clear(r, &list, ret, ret_n);
}

nsrun_public int nsrun_isolation_build_access_rules(nsrun_unused const char *root,
                                                    nsrun_unused const struct nsrun_expose_path *overrides,
                                                    nsrun_unused size_t n_overrides,
                                                    struct nsrun_error *error) {
        return error_set(error, NSRUN_STAGE_USAGE, -EOPNOTSUPP, NULL,
                         "unsupported configuration: access rules are Windows's",
                         "on Linux the mount plan says what is shown");
}

/* ------------------------------------------------------------ the instance */

static int isolation_find_root(const struct nsrun_isolation *isolation, char **ret, char **ret_spelled,
                               struct nsrun_error *error) {
        _cleanup_free_ char *home = NULL;
        int r = policy_find_home(getenv("HOME"), &home, NULL);

        if (r < 0)
                return responds_fail(r, getenv("HOME"), error);
        return instance_find_root(isolation->root, environ, home, ret, ret_spelled, error);
}

nsrun_public int nsrun_isolation_resolve_root(const struct nsrun_isolation *isolation, char **ret,
                                              struct nsrun_error *error) {
        return isolation_find_root(isolation, ret, NULL, error);
}

/* Writes "root/below" at *to, and moves *to behind it. */
static char *put_path(char **to, const char *root, const char *below) {
        char *start = *to;

        *to = stpcpy(start, root);
        if (below)
                *to = stpcpy(stpcpy(*to, "/"), below);
        ++*to;
        return start;
}

nsrun_public int nsrun_isolation_user_env(const char *root, struct nsrun_user_env **ret) {
        struct nsrun_user_env *env = malloc(sizeof(*env) + 5 * (strlen(root) + 32));
        char *to;

        if (!env)
                return -ENOMEM;
        to = (char *)(env + 1);
        env->home = put_path(&to, root, INSTANCE_HOME);
        env->tmp = put_path(&to, root, "runtime-user-env/tmp");
        env->config = put_path(&to, root, "runtime-user-env/config");
        env->cache = put_path(&to, root, "runtime-user-env/cache");
        env->state = put_path(&to, root, "runtime-user-env/state");
        *ret = env;
        return 0;
}

nsrun_public int nsrun_isolation_instance_dirs(const char *root, char ***ret) {
        size_t head = (INSTANCE_N_DIRS + 1) * sizeof(char *);
        char **list = malloc(head + INSTANCE_N_DIRS * (strlen(root) + 32));
        char *to;

        if (!list)
                return -ENOMEM;
        to = (char *)list + head;
        for (size_t i = 0; i < INSTANCE_N_DIRS; i++)
                list[i] = put_path(&to, root, instance_dir(i));
        list[INSTANCE_N_DIRS] = NULL;
        *ret = list;
        return 0;
}

nsrun_public int nsrun_isolation_prepare_root(const char *root, struct nsrun_error *error) {
        _cleanup_free_ char *canonical = NULL;
        int r;

        if (root[0] != '/')
                return error_set(error, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), root,
                                 "the instance root is relative", "name an absolute path");
        r = path_canonical_to_be(root, &canonical);
        if (r < 0)
                return responds_fail(r, root, error);
        return instance_make_dirs(canonical, NULL, error);
}

nsrun_public int nsrun_isolation_apply_user_env(struct nsrun_policy *policy, const char *root) {
        _cleanup_strv_ char **list = NULL;
        int r = instance_environment(root, &list);

        for (char **entry = list; r >= 0 && *entry; entry++)
                r = nsrun_policy_set(policy, "env", *entry, NULL);
        return r;
}

/* ---------------------------------------------------------------- commands */

nsrun_public int nsrun_isolation_prepare_command(const struct nsrun_isolation *isolation,
                                                 struct nsrun_policy *policy, struct nsrun_error *error) {
        _cleanup_expose_ struct expose_list list = {0};
        _cleanup_free_ char *root = NULL, *spelled = NULL, *workspace = NULL;
        int r;

        if (!isolation->is_enabled)
                return 0;
        r = isolation_find_root(isolation, &root, &spelled, error);
        if (r < 0)
                return r;
        workspace = isolation->workspace ? strdup(isolation->workspace) : NULL;
        if ((isolation->workspace && !workspace) ||
            expose_add_all(&list, isolation->expose_paths, isolation->n_expose_paths, label) < 0 ||
            expose_merge(&list) < 0)
                return error_oom(error);
        r = expose_check_all(&list, error);
        if (r < 0)
                return r;
        policy_set_instance(policy, TAKE_PTR(spelled), TAKE_PTR(workspace), &list);
        return 0;
}

/* Makes a sandbox of this isolation with a command that does nothing.  The working directory, where a
 * command begins that names no folder, is judged and not exposed. */
static int isolation_probe(const struct nsrun_isolation *isolation, struct nsrun_error *error) {
        char *const argv[] = {(char *)"true", NULL};
        struct policy_request request = {.argv = argv};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        struct nsrun_policy *policy = NULL;
        struct nsrun_error inner = {0};
        int status, r;

        if (nsrun_policy_new(&policy) < 0)
                return error_oom(error);
        request.policy = policy;
        r = nsrun_isolation_prepare_command(isolation, policy, &inner);
        if (r >= 0)
                r = plan_make(&request, &plan, &inner);
        plan = nsrun_plan_free(plan);
        if (r >= 0)
                r = nsrun_policy_set(policy, "no-project", NULL, &inner);
        if (r >= 0)
                r = plan_make(&request, &plan, &inner);
        if (r >= 0)
                r = probe_run(plan, &status, &inner);
        (void)nsrun_policy_free(policy);
        /* An instance's commands need not be the system's, so `true` may be missing: everything else was
         * built by then. */
        if (r >= 0 || inner.stage == NSRUN_STAGE_EXEC)
                return 0;
        if (error && error->stage == NSRUN_STAGE_NONE)
                *error = inner;
        return r;
}

nsrun_public int nsrun_isolation_preflight(const struct nsrun_isolation *isolation,
                                           struct nsrun_error *error) {
        return isolation->is_enabled ? isolation_probe(isolation, error) : 0;
}

static int log_plan(const struct nsrun_isolation *isolation, const struct nsrun_plan *plan,
                    struct nsrun_error *error) {
        _cleanup_free_ char *line = NULL;
        int r;

        if (!isolation->log)
                return 0;
        r = plan_print_log(plan, &line, error);
        if (r >= 0)
                isolation->log(isolation->log_data, line);
        return r;
}

nsrun_public int nsrun_isolation_start(const struct nsrun_isolation *isolation, struct nsrun_policy *policy,
                                       const struct nsrun_start_options *options, struct nsrun_sandbox **ret,
                                       struct nsrun_error *error) {
        const struct policy_request request = {.policy = policy, .is_plain = !isolation->is_enabled};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        int r = nsrun_isolation_prepare_command(isolation, policy, error);

        if (r >= 0)
                r = plan_make(&request, &plan, error);
        if (r >= 0 && isolation->is_enabled)
                r = log_plan(isolation, plan, error);
        return r < 0 ? r : nsrun_start(plan, options, ret, error);
}

nsrun_public int nsrun_isolation_run(const struct nsrun_isolation *isolation, struct nsrun_policy *policy,
                                     const struct nsrun_start_options *options, struct nsrun_exit *ret,
                                     struct nsrun_error *error) {
        struct nsrun_sandbox *sandbox = NULL;
        int r = nsrun_isolation_start(isolation, policy, options, &sandbox, error);

        if (r >= 0)
                r = nsrun_sandbox_wait(sandbox, ret, error);
        (void)nsrun_sandbox_free(sandbox);
        return r;
}
