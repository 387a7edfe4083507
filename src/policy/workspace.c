/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy made from a workspace: what runs in the sandbox has the same roots, /tmp and environment
 * as the workspace's file tools outside. */
#include "workspace/workspace.h"

#include "policy.h"
#include "refusal.h"

static const char option[] = "the workspace";

static void drop_roots(struct nsrun_policy *p) {
        size_t n = 0;

        for (size_t i = 0; i < p->n_rules; i++)
                if (p->rules[i].option == option)
                        policy_clear_rule(&p->rules[i]);
                else
                        p->rules[n++] = p->rules[i];
        p->n_rules = n;
}

/* Adds rules for the workspace's roots, but for the project and the temp, which have fields of
 * their own. */
static int policy_workspace_add_roots(struct nsrun_policy *p, const struct workspace *w) {
        int r = 0;

        for (size_t i = 1; i < w->n_roots && r >= 0; i++) {
                const struct workspace_root *root = &w->roots[i];

                if (!w->temp || !streq(root->path, w->temp))
                        r = policy_add_rule(p, root->is_writable ? POLICY_BY_WORKSPACE : POLICY_BY_READABLE,
                                            root->is_writable ? POLICY_RW : POLICY_RO, root->path, NULL,
                                            option);
        }
        return r;
}

nsrun_public int nsrun_policy_set_workspace(struct nsrun_policy *p, struct nsrun_workspace *workspace,
                                            struct nsrun_error *error) {
        const struct workspace *w = &workspace->roots;
        _cleanup_free_ char *project = NULL, *tmp = NULL;
        _cleanup_strv_ char **copy = NULL;
        bool has_tmp = w->temp && w->alias_tmp_to_temp;
        const char *const *env;
        int r;

        if (workspace->is_allow_all && !p->no_sandbox)
                return policy_refuse(error, NULL,
                                     "name the folders that it may write, or set no-sandbox first",
                                     "a workspace that allows everything can't be a sandbox's");
        if (w->temp && !w->alias_tmp_to_temp && !p->no_sandbox)
                return policy_refuse(
                        error, w->temp,
                        "the sandbox has the temp at /tmp, where the workspace would look for another "
                        "folder: set it with its alias",
                        "a temp without its alias");
        r = nsrun_workspace_env(workspace, &env, error);
        if (r < 0)
                return r;
        project = strdup(w->roots[0].path);
        tmp = has_tmp ? strdup(w->temp) : NULL;
        if (!project || (has_tmp && !tmp) || strv_copy((char *const *)(uintptr_t)env, &copy) < 0)
                return error_oom(error);
        drop_roots(p);
        STRV_FOREACH (glob, w->hide)
                if (!strv_contains(p->hide, *glob) && strv_add(&p->hide, *glob) < 0)
                        return error_oom(error);
        if (policy_workspace_add_roots(p, w) < 0) {
                drop_roots(p);
                return error_oom(error);
        }
        free(p->project);
        p->project = TAKE_PTR(project);
        p->no_project = false;
        free(p->tmp);
        p->tmp = TAKE_PTR(tmp);
        p->tmp_kind = p->tmp ? POLICY_TMP_FOLDER : POLICY_TMP_UNSAID;
        p->has_workspace = true;
        p->allows_all = workspace->is_allow_all;
        p->is_env_explicit = workspace->is_env_explicit;
        strv_free(p->workspace_env);
        p->workspace_env = TAKE_PTR(copy);
        return 0;
}

nsrun_public int nsrun_toolchains_add(struct nsrun_workspace *workspace, struct nsrun_policy *policy,
                                      struct nsrun_error *error) {
        int (*const lists[])(char ***, struct nsrun_error *) = {nsrun_toolchains_readable,
                                                                nsrun_toolchains_overlay};

        for (size_t i = 0; workspace && i < ARRAY_SIZE(lists); i++) {
                _cleanup_strv_ char **paths = NULL;
                int r = lists[i](&paths, error);

                STRV_FOREACH (path, paths)
                        if (r >= 0)
                                r = nsrun_workspace_add_readable(workspace, *path, error);
                if (r < 0)
                        return r;
        }
        if (policy)
                policy->has_toolchains = true;
        return 0;
}
