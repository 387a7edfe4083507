/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect.h.  protect_find.c looks for names in one folder. */
#include "protect.h"

#include <fcntl.h>

#include "base/beneath.h"
#include "base/path.h"
#include "base/responds.h"
#include "host/subrepositories.h"
#include "protect_git.h"
#include "protect_home.h"
#include "protect_kept.h"
#include "protect_names.h"
#include "protect_stubs.h"

enum {
        NESTED_DEPTH = 8,
        RUN_INDEX_MAX = 256 << 10, /* a longer index would cost a run more than its start */
        SESSION_INDEX_MAX = 64 << 20,
};

static int protect_error(const struct protecting *p, int r, const char *glob) {
        if (r == -ENOMEM)
                return error_oom(p->err);
        if (*p->err->what)
                return r;
        if (r == -E2BIG && !glob)
                return error_set(
                        p->err, NSRUN_STAGE_POLICY, UNSAID(r), p->top,
                        "there are too many repositories, git dirs and symlinks of protected folders in it to "
                        "protect them",
                        "look who made them; --no-protect GLOB leaves folders open, "
                        "--no-protect .git/modules those of submodules");
        return error_set(p->err, NSRUN_STAGE_POLICY, r, glob ? glob : p->path,
                         "the protected names can't be looked for", NULL);
}

static int protect_nested(const struct protecting *p, unsigned depth);

/* With objects and refs beside it a HEAD makes a folder a repository, to git, where its .git is none: a new
 * one is looked for in the end.  A bare repository's own is the command's to write. */
static int note_head(const struct protecting *p) {
        struct stat st;

        if (fstatat(p->fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        return strv_consume(&p->resolved->protection.present, str_concat(p->path, "//", "HEAD"));
}

/* A repository, or a writable folder that is none. */
static int protect_repository(struct protecting *p, unsigned depth) {
        int r = protect_git(p);

        for (const char *const *name = protect_names; *name && r >= 0; name++)
                if (!startswith(*name, ".git/"))
                        r = protect_name(p, *name);
        if (r >= 0)
                r = note_head(p);
        if (r >= 0)
                r = protect_find(p);
        if (r >= 0)
                r = protect_git_orders(p);
        return r < 0 ? r : protect_nested(p, depth);
}

/* What lies at `name` below `above`, a repository in its turn. */
static int protect_one_nested(const struct protecting *above, const char *name, unsigned depth) {
        struct protecting p = *above;
        const struct resolved *s = above->resolved;
        _cleanup_free_ char *path = str_concat(above->path, "/", name);
        _cleanup_free_ char *below = str_concat(above->below, *above->below ? "/" : "", name);
        int r;

        if (!path || !below)
                return -ENOMEM;
        /* It is the user's still. */
        if (protect_is_left_open(above, name))
                return strv_consume(&p.resolved->protection.present,
                                    str_format("%s//%s/.git", above->path, name));
        if (strv_contains(*p.repositories, path))
                return 0;
        /* A writable folder of its own has its turn. */
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (s->files.rules[i].access == POLICY_RW && streq(s->files.rules[i].source, path))
                        return 0;
        if (++*p.n_repositories > PROTECT_REPOSITORIES_MAX)
                return -E2BIG;
        if (strv_add(p.repositories, path) < 0)
                return -ENOMEM;
        p.path = path;
        p.below = below;
        p.globs = NULL;
        p.git_dir = NULL;
        p.git_fd = -EBADF;
        p.fd = beneath_open(above->fd, name, O_PATH | O_DIRECTORY, 0);
        if (p.fd < 0)
                return p.fd == -ENOMEM ? p.fd : 0;
        r = protect_repository(&p, depth);
        (void)close(p.fd);
        close_fdp(&p.git_fd);
        free(p.git_dir);
        strv_free(p.globs);
        return r;
}

static int protect_nested(const struct protecting *p, unsigned depth) {
        const struct nested_places places = {.folder = p->fd,
                                             .crosses = protect_crosses,
                                             .data = (void *)(uintptr_t)p,
                                             .git_dir = p->git_fd,
                                             .folder_of = protect_folder_of,
                                             .index_limit = p->resolved->is_session ? SESSION_INDEX_MAX
                                                                                    : RUN_INDEX_MAX};
        _cleanup_strv_ char **found = NULL;
        int r = depth < NESTED_DEPTH && !p->is_git_dir ? nested_find(&places, &found, NULL) : 0;

        if (r == -E2BIG)
                return error_set(p->err, NSRUN_STAGE_POLICY, r, p->path,
                                 "there are more folders in it than can be looked into for repositories",
                                 "look who made them; --no-protect '*' protects nothing");
        STRV_FOREACH (name, found)
                if (r >= 0)
                        r = protect_one_nested(p, *name, depth + 1);
        return r;
}

/* Linked worktrees are where their git dirs say, at any depth. */
static int protect_worktrees(const struct protecting *p) {
        struct protecting top = protect_top_of(p);
        int r = 0;

        for (size_t i = 0; r >= 0 && i < strv_length(*p->worktrees); i++) {
                _cleanup_free_ char *below = NULL;

                r = protect_linked_worktree(&top, (*p->worktrees)[i], &below);
                if (r > 0)
                        r = protect_one_nested(&top, below, 1);
        }
        return r;
}

static int protect_folder(struct protecting *p) {
        const struct nsrun_policy *policy = p->resolved->policy;
        int r = 0;

        if (strv_contains(policy->no_protect, "*"))
                return 0;
        for (char **glob = policy->protect; glob && *glob; glob++) {
                r = protect_name(p, *glob);
                if (r >= 0)
                        r = protect_find(p);
                if (r < 0)
                        return protect_error(p, r, *glob);
        }
        r = protect_repository(p, 0);
        if (r >= 0)
                r = protect_worktrees(p);
        return r < 0 ? protect_error(p, r, NULL) : 0;
}

/* What was found to be led to or named, in one folder. */
static int protect_targets(struct protecting *p) {
        int r = 0;

        /* More may come of each. */
        for (size_t i = 0; i < strv_length(*p->targets) && r >= 0; i++)
                r = protect_target(p, (*p->targets)[i]);
        return r < 0 ? protect_error(p, r, NULL) : 0;
}

/* The project where it is no writable folder, nor in one: what its configuration names may be. */
static int protect_from_project(struct protecting *p) {
        int r = protect_project_orders(p);

        return r < 0 ? protect_error(p, r, NULL) : 0;
}

/* Calls `protect` with the folder of a rule, or NULL, the project. */
static int protect_open(const struct protecting *all, const struct resolved_rule *rule,
                        int (*protect)(struct protecting *p)) {
        _cleanup_strv_ char **repositories = NULL, **worktrees = NULL;
        struct protecting p = *all;
        int r;

        p.is_git_dir = rule && rule->giver == PLAN_BY_GIT;
        p.repositories = &repositories;
        p.worktrees = &worktrees;
        p.below = p.is_git_dir ? ".git" : "";
        p.top = p.path = rule ? rule->source : p.resolved->project;
        p.fd = p.top_fd = open(p.top, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* Whoever mounts it says what is wrong. */
        if (p.fd < 0)
                return 0;
        r = protect(&p);
        (void)close(p.fd);
        close_fdp(&p.git_fd);
        free(p.git_dir);
        strv_free(p.globs);
        return r;
}

int protect_add_rules(struct resolved *s, struct nsrun_error *err) {
        _cleanup_strv_ char **targets = NULL;
        bool is_strict = s->policy->protects_strictly;
        unsigned n_repositories = 0;
        const struct protecting all = {.resolved = s,
                                       .git_fd = -EBADF,
                                       .n_repositories = &n_repositories,
                                       .targets = &targets,
                                       .err = err};
        size_t n = s->files.n_rules;
        int r = is_strict ? strict_check(s, err) : 0;

        if (r >= 0 && (r = protect_home_targets(s, &targets)) < 0)
                r = responds_fail(r, NULL, err);
        for (size_t i = 0; i < n && r >= 0; i++)
                if (protect_is_writable(s, &s->files.rules[i]))
                        r = protect_open(&all, &s->files.rules[i], protect_folder);
        if (r >= 0 && s->project && !protect_can_be_written(s, s->project))
                r = protect_open(&all, NULL, protect_from_project);
        for (size_t done = 0; r >= 0 && done < strv_length(targets);) {
                done = strv_length(targets);
                for (size_t i = 0; i < n && r >= 0; i++)
                        if (protect_is_writable(s, &s->files.rules[i]))
                                r = protect_open(&all, &s->files.rules[i], protect_targets);
        }
        if (r >= 0 && !is_strict && protect_add_kept(s) < 0)
                return error_oom(err);
        return r >= 0 && is_strict ? strict_finish(s, err) : r;
}
