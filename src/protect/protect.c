/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect.h.  protect_find.c looks for names in one folder. */
#include "protect.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "host/glob.h"
#include "host/subrepositories.h"
#include "host/walk.h"
#include "kept/kept.h"
#include "protect_git.h"
#include "protect_home.h"
#include "protect_names.h"
#include "protect_rules.h"
#include "protect_stubs.h"

/* --------------------------------------- folders that are kept aside */

/* Protected folders that the host hasn't, and of which something is kept aside. */

/* Whether --hide may name the path, `below` a writable folder; of what is kept of it carry/ asks. */
static bool is_kept_hidden(const struct resolved *s, const char *path, const char *below) {
        STRV_FOREACH (glob, s->policy->hide) {
                _cleanup_free_ char *normal = NULL;

                if (path_is_beneath(path, *glob) || walk_normalise(*glob, &normal) < 0 ||
                    walk_covers(normal, below))
                        return true;
        }
        return false;
}

static bool is_on_tmpfs(const struct resolved *s, const char *target) {
        for (size_t i = 0; i < s->files.n_tmpfs; i++)
                if (path_is_beneath(target, s->files.tmpfs[i].path))
                        return true;
        return false;
}

/* Adds a rule at one place that shows where the folder would be, its own if it can be: a layer is one
 * overlay's.  1, 0: there is none. */
static int add_kept_rule(struct resolved *s, const struct kept *k, bool *ret_is_hidden) {
        size_t n = s->files.n_rules;

        for (size_t i = 0; i < 2 * n && s->files.n_rules == n; i++) {
                const struct resolved_rule *rule = &s->files.rules[i % n];
                const char *below = rule->access == POLICY_RW ? path_below(k->path, rule->source) : NULL;
                _cleanup_free_ char *target = below && *below ? path_join(rule->target, below) : NULL;

                if (!below || !*below || (i < n && !streq(rule->source, rule->target)))
                        continue;
                if (!target)
                        return -ENOMEM;
                if (is_on_tmpfs(s, target))
                        continue;
                *ret_is_hidden = is_kept_hidden(s, k->path, below);
                if (*ret_is_hidden)
                        return 0;
                if (protect_add_rule(s, POLICY_RO, k->path, target, true) < 0)
                        return -ENOMEM;
        }
        return s->files.n_rules > n;
}

/* Says what of it the command doesn't find. */
static int say_of_kept(struct resolved *s, const char *what, const char *path, const char *why) {
        _cleanup_free_ char *visible = str_visible(path);

        return visible ? strv_consume(&s->git.lacks, str_format("%s%s%s", what, visible, why)) : -ENOMEM;
}

/* A folder that the host hasn't, and of which this is the last that is kept aside, `has_others` for those
 * that are older: the command has its version of it (carry/private_folder.h). */
static int protect_kept(struct resolved *s, const struct kept *k, bool has_others) {
        const char *name = path_basename(k->path), *known = protect_name_of(s->protection.names, k->path);
        _cleanup_close_ int parent =
                known && protect_is_folder(known) ? beneath_open_parent(k->path) : -ENOENT;
        bool is_hidden = false;
        struct stat st;
        int r;

        if (parent < 0 || (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                           !protect_is_placeholder(parent, name, NULL)))
                return parent == -ENOMEM ? parent : 0;
        if (k->is_moved)
                return say_of_kept(s, "what is kept aside of ", k->path,
                                   " is too large to be there ('nsrun review')");
        r = add_kept_rule(s, k, &is_hidden);
        if (is_hidden)
                return say_of_kept(s, "what is kept aside of ", k->path, " isn't there: --hide names it");
        if (r > 0 &&
            (strv_add(&s->protection.private, k->path) < 0 || strv_add(&s->protection.kept, k->path) < 0))
                return -ENOMEM;
        return r > 0 && has_others ? say_of_kept(s, "more is kept aside of ", k->path,
                                                 " than the last, which is there ('nsrun review')")
                                   : r;
}

/* Whether one is kept of a folder as it was made. */
static bool is_made_folder(const struct kept *k) {
        return (k->is_folder || k->is_moved) && streq(k->reason, KEPT_PROTECTED) && !kept_is_old(k);
}

/* Of each the command has its own version, as of one that exists: adds the rules, and the paths to
 * protection.private and protection.kept.  -ENOMEM. */
static int protect_add_kept(struct resolved *s) {
        struct kept *list = NULL;
        size_t n = 0;
        int r = s->project && s->own[OWN_RUNDIRS] && kept_has(s->project) ? kept_list(s->project, &list, &n)
                                                                          : 0;

        for (size_t i = n; i-- > 0 && r >= 0;) {
                bool is_last = is_made_folder(&list[i]), has_others = false;

                for (size_t j = 0; j < n && is_last; j++) {
                        bool is_other =
                                j != i && streq(list[j].path, list[i].path) && is_made_folder(&list[j]);

                        is_last = !is_other || j < i;
                        has_others |= is_other;
                }
                if (is_last && strv_length(s->protection.private) < PROTECT_PRIVATE_MOST &&
                    !strv_contains(s->protection.private, list[i].path))
                        r = protect_kept(s, &list[i], has_others);
        }
        kept_free(list, n);
        return r == -ENOMEM ? r : 0;
}

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

/* With objects and refs beside it a HEAD makes a folder a repository, to git, where its .git is none: that
 * is looked for in the end, whoever made the HEAD.  A bare repository's own is the command's to write. */
static int note_head(const struct protecting *p) {
        if (!nested_is_bare(p->fd))
                return 0;
        return strv_consume(&p->resolved->protection.present, str_concat(p->path, "//", "HEAD"));
}

/* An agent that trusts a project obeys what it finds in its own worktrees there, as they are made. */
static int protect_agents_worktrees(struct protecting *p) {
        const struct resolved *s = p->resolved;
        int r = 0;

        for (size_t i = 0; i < s->files.n_rules && r >= 0; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];
                const char *below = rule->giver == PLAN_BY_STATE && rule->access == POLICY_RW
                                            ? path_below(rule->source, p->path)
                                            : NULL;
                _cleanup_free_ char *place = below && *below ? glob_escape(below) : NULL;

                if (below && *below && !place)
                        return -ENOMEM;
                for (const char *const *name = protect_names; place && *name && r >= 0; name++) {
                        _cleanup_free_ char *glob = str_concat(place, "/*/", *name);

                        if (!startswith(*name, ".git/"))
                                r = glob ? protect_name(p, glob) : -ENOMEM;
                }
        }
        return r;
}

/* A repository, or a writable folder that is none. */
static int protect_repository(struct protecting *p, unsigned depth) {
        int r = protect_git(p);

        for (const char *const *name = protect_names; *name && r >= 0; name++)
                if (!startswith(*name, ".git/"))
                        r = protect_name(p, *name);
        if (r >= 0)
                r = protect_agents_worktrees(p);
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
