/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules and variables for git.  Where the git dirs are and whether the .git file
 * may be believed is workspace/gitdir.c's to find out. */
#include "git.h"

#include <sys/stat.h>

#include "base/path.h"
#include "environment.h"
#include "refuse.h"
#include "workspace/identity.h"

static const char option[] = "the project's git dir";

/* One entry of a git dir. */
struct part {
        const char *name;
        enum policy_access access;
};

/* A worktree's repository is somebody else's folder: of it the command gets what a
 * commit writes, each by its name, in a folder that is otherwise made up.  So
 * whatever else it puts there (hooks, a commondir that leads git astray, a
 * config.worktree) is gone with the sandbox, and git can still make its lock files. */
static const struct part common_parts[] = {
        {"objects", POLICY_RW},     {"refs", POLICY_RW},
        {"logs", POLICY_RW},        {"reftable", POLICY_RW},
        {"lfs", POLICY_RW},         {"HEAD", POLICY_RO},
        {"config", POLICY_RO},      {"config.worktree", POLICY_RO},
        {"hooks", POLICY_RO},       {"info", POLICY_RO},
        {"packed-refs", POLICY_RO}, {"shallow", POLICY_RO},
        {"index", POLICY_RO},     /* what the main checkout has staged is not for `git prune` to take */
        {"worktrees", POLICY_RO}, /* the others': git asks which branches are taken */
};

/* What is the worktree's own, and a submodule's repository, are writable as a whole: the index and HEAD
 * live there.  These parts of it stay as they are. */
static const struct part own_parts[] = {
        {"commondir", POLICY_RO},       {"gitdir", POLICY_RO}, {"config", POLICY_RO},
        {"config.worktree", POLICY_RO}, {"hooks", POLICY_RO},  {"modules", POLICY_RO},
};

/* Of what is there, plain files and folders alone: a symlink leads who knows where. */
static int add_parts(struct nsrun_policy *p, const char *folder, const struct part *parts, size_t n) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *path = path_join(folder, parts[i].name);
                struct stat st;
                int r;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
                        continue;
                r = policy_add_default(p, parts[i].access, path, option);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Packing refs takes them out of refs/ once they are in packed-refs: made inside,
 * that file would be gone with the sandbox, and the branches with it. */
static int hold_packed_refs(struct nsrun_policy *p, const char *common_dir) {
        char *path = path_join(common_dir, "packed-refs");
        struct stat st;

        if (path && lstat(path, &st) == 0) {
                free(path);
                return 0;
        }
        return strv_consume(&p->held, path);
}

static int add_rules(struct nsrun_policy *p, const struct gitdir *g) {
        int r;

        r = policy_add_default(p, POLICY_RO, g->dot_git, option);
        if (r >= 0)
                r = policy_add_default(p, POLICY_RW, g->git_dir, option);
        if (r >= 0)
                r = add_parts(p, g->git_dir, own_parts, ARRAY_SIZE(own_parts));
        if (r < 0 || !g->common_dir)
                return r;
        r = strv_add(&p->ephemeral, g->common_dir);
        if (r >= 0)
                r = hold_packed_refs(p, g->common_dir);
        return r < 0 ? r : add_parts(p, g->common_dir, common_parts, ARRAY_SIZE(common_parts));
}

int git_add_rules(struct nsrun_policy *p, struct gitdir *ret, struct nsrun_error *err) {
        _cleanup_gitdir_ struct gitdir dirs = {0};
        const char *why = NULL, *hint = NULL;
        int r;

        if (!p->project)
                return 0;
        r = gitdir_find(p->project, &dirs, &why, &hint);
        if (r == -EPERM) {
                _cleanup_free_ char *path = path_join(p->project, ".git");

                return path ? refuse(err, path, hint, "the project's .git file can't be believed: %s", why)
                            : error_oom(err);
        }
        if (r > 0 && (r = add_rules(p, &dirs)) >= 0) {
                *ret = dirs;
                dirs = (struct gitdir){0};
        }
        return r < 0 ? error_oom(err) : 0;
}

/* Whether --env or --unsetenv has a word on `name`. */
static bool is_explicit(const struct nsrun_policy *p, const char *name) {
        size_t n = strlen(name);

        STRV_FOREACH (entry, p->env)
                if (strncmp(*entry, name, n) == 0 && ((*entry)[n] == '=' || !(*entry)[n]))
                        return true;
        return strv_contains(p->unset, name);
}

/* An explicit environment is left alone, and a complete one needs nothing. */
static bool is_wanted(const struct nsrun_policy *p) {
        size_t n_known = 0;

        if (!p->project || p->clean_env)
                return false;
        for (size_t i = 0; i < IDENTITY_N_VARIABLES; i++) {
                if (is_explicit(p, identity_variables[i]))
                        return false;
                n_known += environment_get(environment_inherited(p), identity_variables[i]) != NULL;
        }
        return n_known < IDENTITY_N_VARIABLES;
}

/* Where a command of this policy may have put a program called git. */
static int list_writable(const struct nsrun_policy *p, char ***ret) {
        int r = p->tmp ? strv_add(ret, p->tmp) : 0;

        for (size_t i = 0; i < p->n_rules && r >= 0; i++)
                if (p->rules[i].access == POLICY_RW)
                        r = strv_add(ret, p->rules[i].source);
        return r;
}

int git_find_identity(struct nsrun_policy *p, const char *common_dir, struct nsrun_error *err) {
        _cleanup_identity_ struct identity id = {0};
        _cleanup_strv_ char **writable = NULL;
        struct identity_request request = {
                .project = p->project,
                .common_dir = common_dir,
                .environ = environment_inherited(p),
        };
        int r;

        if (!is_wanted(p))
                return 0;
        if (p->has_workspace)
                return p->is_env_explicit || strv_copy(p->workspace_env, &p->identity) >= 0 ? 0
                                                                                            : error_oom(err);
        r = list_writable(p, &writable);
        request.untrusted = writable;
        if (r >= 0)
                r = identity_find(&request, &id);
        if (r >= 0)
                r = identity_to_environment(&id, &p->identity);
        return r < 0 ? error_oom(err) : 0;
}
