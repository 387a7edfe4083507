/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect.h.  What is there becomes read-only, and a mount point can't be moved away; what isn't is
 * looked for when the command has ended (run/protected.c), or with --protect=strict can't be made
 * (strict.c). */
#include "protect.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>

#include "base/array.h"
#include "base/path.h"
#include "host/names.h"
#include "strict.h"

/* Sorted as nsrun(1) has them: git's, editors' and agents', shells', package managers'. */
const char *const protect_names[] = {
        ".git/commondir",
        ".git/config",
        ".git/config.worktree",
        ".git/hooks",
        ".git/info/attributes",
        ".git/objects/info/alternates",
        ".gitconfig",
        ".gitmodules",
        ".husky",
        ".pre-commit-config.yaml",
        ".agents",
        ".claude",
        ".codex",
        ".cursor",
        ".devcontainer",
        ".devcontainer.json",
        ".gemini",
        ".idea",
        ".mcp.json",
        ".vscode",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".envrc",
        ".profile",
        ".zlogin",
        ".zlogout",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        ".npmrc",
        ".ripgreprc",
        ".yarnrc",
        ".yarnrc.yml",
        NULL,
};

/* Of each git dir that .git has of a submodule or a linked worktree: those that are there when the command
 * begins, as git makes new ones. */
static const char *const of_modules[] = {"commondir", "config", "config.worktree", "hooks",
                                         "info/attributes"};
static const char *const of_worktrees[] = {"commondir", "config.worktree", "gitdir"};

struct protecting {
        struct resolved *resolved;
        size_t folder; /* the rule's, which is writable */
        int fd;
        size_t n_found;
        struct nsrun_error *err;
};

enum {
        MODULES_DEPTH = 16,
        MODULES_MAX = 1000,
};

/* Where a walk through .git's git dirs is. */
struct git_dirs {
        struct protecting *protecting;
        unsigned depth;
        unsigned *n_modules;
};

/* Whether --no-protect names it, or a folder that it is in. */
static bool is_left_open(const struct nsrun_policy *p, const char *name) {
        char path[PATH_MAX];

        if (strlen(name) >= sizeof(path))
                return false;
        STRV_FOREACH (glob, p->no_protect)
                for (const char *end = name; end;) {
                        end = strchr(end + (end != name), '/');
                        memcpy(path, name, end ? (size_t)(end - name) : strlen(name) + 1);
                        if (end)
                                path[end - name] = '\0';
                        if (fnmatch(*glob, path, FNM_PATHNAME) == 0)
                                return true;
                }
        return false;
}

/* Whether a rule shows something else there: the very path, or an overlay or what is read-only around it. */
static bool is_shown_otherwise(const struct resolved *s, const char *target) {
        const struct resolved_rule *around = NULL;

        for (size_t i = 0; i < s->n_rules; i++) {
                const struct resolved_rule *rule = &s->rules[i];

                if (streq(rule->target, target))
                        return true;
                if (path_is_beneath(target, rule->target) &&
                    (!around || strlen(rule->target) > strlen(around->target)))
                        around = rule;
        }
        return around && around->access != POLICY_RW;
}

int protect_add_rule(struct resolved *s, enum policy_access access, const char *source, const char *target,
                     bool is_directory) {
        struct resolved_rule rule = {.access = access,
                                     .origin = POLICY_BY_DEFAULT,
                                     .option = "a protected name",
                                     .is_directory = is_directory};

        if (is_shown_otherwise(s, target))
                return 0;
        if (ARRAY_GROW(s->rules, s->n_rules) < 0)
                return -ENOMEM;
        rule.source = strdup(source);
        rule.target = strdup(target);
        if (!rule.source || !rule.target) {
                resolved_rule_clear(&rule);
                return -ENOMEM;
        }
        s->rules[s->n_rules++] = rule;
        return 0;
}

/* Where it is, and wherever else a writable rule shows it. */
int protect_add_everywhere(struct resolved *s, const char *source, bool is_directory) {
        const char *in_tmp = s->tmp.source ? path_below(source, s->tmp.source) : NULL;
        size_t n = s->n_rules;

        for (size_t i = 0; i < n; i++) {
                const struct resolved_rule *rule = &s->rules[i];
                const char *below = rule->access == POLICY_RW ? path_below(source, rule->source) : NULL;
                _cleanup_free_ char *target = below && *below ? path_join(rule->target, below) : NULL;

                if (!below || !*below)
                        continue;
                if (!target || protect_add_rule(s, POLICY_RO, source, target, is_directory) < 0)
                        return -ENOMEM;
        }
        if (in_tmp) {
                _cleanup_free_ char *target = path_join("/tmp", in_tmp);

                return target ? protect_add_rule(s, POLICY_RO, source, target, is_directory) : -ENOMEM;
        }
        return 0;
}

/* A symlink can't be bound, and what it says is looked at in the end; what it leads to can, where that lies
 * in the folder. */
static int protect_linked(struct protecting *p, const char *source) {
        struct resolved *s = p->resolved;
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = 0;
        int r = path_canonical(source, &canonical, &mode);

        if (r == -ENOMEM)
                return r;
        if (r < 0 || streq(canonical, s->rules[p->folder].source) ||
            !path_is_beneath(canonical, s->rules[p->folder].source))
                return 0;
        return S_ISREG(mode) || S_ISDIR(mode) ? protect_add_everywhere(s, canonical, S_ISDIR(mode)) : 0;
}

static int protect_found(void *data, const char *name, const struct stat *st) {
        struct protecting *p = data;
        struct resolved *s = p->resolved;
        const char *folder = s->rules[p->folder].source;
        _cleanup_free_ char *source = path_join(folder, name);
        char *entry;

        if (is_left_open(s->policy, name))
                return 0;
        p->n_found++;
        if (!source || asprintf(&entry, "%s//%s", folder, name) < 0 || strv_consume(&s->present, entry) < 0)
                return -ENOMEM;
        /* A repository's folder is the command's to write. */
        if (streq(name, ".git") && !S_ISREG(st->st_mode))
                return 0;
        if (S_ISLNK(st->st_mode))
                return s->policy->protects_strictly ? strict_pin_link(s, source, p->err)
                                                    : protect_linked(p, source);
        return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || s->policy->protects_strictly
                       ? protect_add_everywhere(s, source, S_ISDIR(st->st_mode))
                       : 0;
}

static char *join_globs(const char *folder, const char *name) {
        char *joined;

        return asprintf(&joined, "%s/%s", folder, name) < 0 ? NULL : joined;
}

/* One name, or a glob. */
static int protect_glob(struct protecting *p, const char *glob) {
        struct resolved *s = p->resolved;
        char *entry;
        int r;

        if (is_left_open(s->policy, glob))
                return 0;
        if (asprintf(&entry, "%s//%s", s->rules[p->folder].source, glob) < 0 ||
            strv_consume(&s->protected, entry) < 0)
                return -ENOMEM;
        p->n_found = 0;
        r = names_expand(p->fd, glob, protect_found, p);
        if (r >= 0 && p->n_found == 0 && s->policy->protects_strictly && !streq(glob, ".git")) {
                _cleanup_free_ char *name = NULL;

                r = strict_unescape(glob, &name);
                return r < 0 ? r : strict_keep_free(s, s->rules[p->folder].source, name);
        }
        /* What is closed to the caller is closed to the command. */
        return r == -EACCES ? 0 : r;
}

/* Each of `names` in the git dir `folder`. */
static int protect_git_dir(struct protecting *p, const char *folder, const char *const *names, size_t n) {
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++) {
                _cleanup_free_ char *name = join_globs(folder, names[i]);

                r = name ? protect_glob(p, name) : -ENOMEM;
        }
        return r;
}

static int protect_worktree(void *data, const char *name, const struct stat *st) {
        const struct git_dirs *dirs = data;
        _cleanup_free_ char *folder = names_escape(name);

        if (!folder)
                return -ENOMEM;
        return S_ISDIR(st->st_mode)
                       ? protect_git_dir(dirs->protecting, folder, of_worktrees, ARRAY_SIZE(of_worktrees))
                       : 0;
}

static int protect_modules(struct protecting *p, const char *folder, unsigned depth, unsigned *n);

/* A command may have moved one of the two away for a while. */
static bool is_git_dir_at(int fd, const char *name) {
        static const char *const signs[] = {"HEAD", "config"};
        char path[PATH_MAX];
        struct stat st;

        for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
                int n = snprintf(path, sizeof(path), "%s/%s", name, signs[i]);

                if (n > 0 && (size_t)n < sizeof(path) && fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(st.st_mode))
                        return true;
        }
        return false;
}

/* A submodule's git dir, which has those of its own submodules in turn; or a folder of the submodule's name,
 * which is its path. */
static int protect_module(void *data, const char *name, const struct stat *st) {
        const struct git_dirs *dirs = data;
        struct protecting *p = dirs->protecting;
        _cleanup_free_ char *folder = names_escape(name), *modules = NULL;
        int r;

        if (!folder)
                return -ENOMEM;
        if (!S_ISDIR(st->st_mode))
                return 0;
        if (!is_git_dir_at(p->fd, name))
                return protect_modules(p, folder, dirs->depth + 1, dirs->n_modules);
        if (++*dirs->n_modules > MODULES_MAX)
                return -E2BIG;
        r = protect_git_dir(p, folder, of_modules, ARRAY_SIZE(of_modules));
        modules = r < 0 ? NULL : join_globs(folder, "modules");
        if (r >= 0 && !modules)
                r = -ENOMEM;
        return r < 0 ? r : protect_modules(p, modules, dirs->depth + 1, dirs->n_modules);
}

static int protect_modules(struct protecting *p, const char *folder, unsigned depth, unsigned *n) {
        struct git_dirs dirs = {p, depth, n};
        _cleanup_free_ char *all = join_globs(folder, "*");

        if (!all)
                return -ENOMEM;
        return depth < MODULES_DEPTH ? names_expand(p->fd, all, protect_module, &dirs) : 0;
}

static int protect_git_dirs(struct protecting *p) {
        unsigned n_modules = 0;
        struct git_dirs dirs = {p, 0, &n_modules};
        int r = is_left_open(p->resolved->policy, ".git/modules")
                        ? 0
                        : protect_modules(p, ".git/modules", 0, &n_modules);

        if (r >= 0 || r == -EACCES)
                r = names_expand(p->fd, ".git/worktrees/*", protect_worktree, &dirs);
        return r == -EACCES ? 0 : r;
}

static int protect_error(struct protecting *p, int r, const char *glob) {
        const char *folder = p->resolved->rules[p->folder].source;

        if (r == -ENOMEM)
                return error_oom(p->err);
        if (r == -E2BIG && !glob)
                return error_set(p->err, NSRUN_STAGE_POLICY, r, folder,
                                 "there are too many git dirs in .git/modules to protect them",
                                 "look who made them; --no-protect .git/modules leaves them open");
        return error_set(p->err, NSRUN_STAGE_POLICY, r, glob ? glob : folder,
                         "the protected names can't be looked for", NULL);
}

/* Of a git dir that lies in the folder under another name, as a symlink .git says. */
static int protect_linked_git_dir(struct protecting *p) {
        const char *folder = p->resolved->rules[p->folder].source;
        _cleanup_free_ char *link = path_join(folder, ".git"), *canonical = NULL, *glob = NULL;
        int r = link ? path_canonical(link, &canonical, NULL) : -ENOMEM;
        const char *below = r < 0 ? NULL : path_below(canonical, folder);

        if (r == -ENOMEM || !below || !*below)
                return r == -ENOMEM ? r : 0;
        glob = names_escape(below);
        return glob ? protect_git_dir(p, glob, of_modules, ARRAY_SIZE(of_modules)) : -ENOMEM;
}

static int protect_git(struct protecting *p) {
        struct resolved *s = p->resolved;
        const char *folder = s->rules[p->folder].source;
        struct stat st;
        int r = protect_glob(p, ".git");

        if (r < 0 || fstatat(p->fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return r;
        if (S_ISLNK(st.st_mode))
                return protect_linked_git_dir(p);
        if (!S_ISDIR(st.st_mode))
                return 0;
        if (s->project && !s->git_dir && streq(folder, s->project) && !is_left_open(s->policy, ".git") &&
            !(s->git_dir = path_join(folder, ".git")))
                return -ENOMEM;
        for (const char *const *name = protect_names; *name && r >= 0; name++)
                if (startswith(*name, ".git/"))
                        r = protect_glob(p, *name);
        return r < 0 ? r : protect_git_dirs(p);
}

static int protect_folder(struct protecting *p) {
        const struct nsrun_policy *policy = p->resolved->policy;
        int r = protect_git(p);

        for (const char *const *name = protect_names; *name && r >= 0; name++)
                if (!startswith(*name, ".git/"))
                        r = protect_glob(p, *name);
        if (r < 0)
                return protect_error(p, r, NULL);
        for (char **glob = policy->protect; glob && *glob; glob++) {
                r = protect_glob(p, *glob);
                if (r < 0)
                        return protect_error(p, r, *glob);
        }
        return 0;
}

/* A folder of the host that the command may write to.  Not /tmp's; and of git dirs outside the project
 * git.c has said which parts are writable. */
static bool is_protectable(const struct resolved *s, const struct resolved_rule *rule) {
        if (rule->access != POLICY_RW || !rule->is_directory || rule->option == s->tmp.option)
                return false;
        return (!s->git_dir || !path_is_beneath(rule->source, s->git_dir)) &&
               (!s->git_common_dir || !path_is_beneath(rule->source, s->git_common_dir));
}

int protect_add_rules(struct resolved *s, struct nsrun_error *err) {
        bool is_strict = s->policy->protects_strictly;
        size_t n = s->n_rules;
        int r = is_strict ? strict_check(s, err) : 0;

        for (size_t i = 0; i < n && r >= 0; i++) {
                struct protecting p = {.resolved = s, .folder = i, .fd = -EBADF, .err = err};

                if (!is_protectable(s, &s->rules[i]))
                        continue;
                p.fd = open(s->rules[i].source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                /* Whoever mounts it says what is wrong. */
                if (p.fd < 0)
                        continue;
                r = protect_folder(&p);
                (void)close(p.fd);
        }
        if (r >= 0 && is_strict && (r = strict_keep_git_dir(s)) < 0)
                r = error_set(err, NSRUN_STAGE_POLICY, r, s->git_dir,
                              "the protected names can't be looked for", NULL);
        return r < 0 || !is_strict ? r : strict_finish(s, err);
}
