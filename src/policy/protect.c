/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect.h.  What is there becomes read-only, and a mount point can't be moved away; what isn't is
 * looked for when the command has ended (sweep/protected.c), or with --protect=strict can't be made
 * (protect_stubs.c). */
#include "protect.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>

#include "agents.h"
#include "base/array.h"
#include "base/beneath.h"
#include "base/path.h"
#include "host/glob.h"
#include "host/subrepositories.h"
#include "protect_git.h"
#include "protect_stubs.h"

/* Sorted as nsrun-protect(7) has them: git's, editors' and agents', shells', package managers'. */
const char *const protect_names[] = {
        ".git/branches",
        ".git/commondir",
        ".git/config",
        ".git/config.worktree",
        ".git/hooks",
        ".git/info/attributes",
        ".git/objects/info/alternates",
        ".git/remotes",
        ".gitconfig",
        ".gitmodules",
        ".husky",
        ".pre-commit-config.yaml",
        ".agents",
        ".aider.conf.yml",
        ".claude",
        ".codex",
        ".cursor",
        ".devcontainer",
        ".devcontainer.json",
        ".gemini",
        ".idea",
        ".mcp.json",
        ".opencode",
        ".qwen",
        ".vscode",
        "opencode.json",
        "opencode.jsonc",
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

enum {
        NESTED_DEPTH = 8,
        RUN_INDEX_MAX = 256 << 10, /* a longer index would cost a run more than its start */
        SESSION_INDEX_MAX = 64 << 20,
};

bool protect_covers(const char *path) {
        for (const char *at = path; at; at = strchr(at, '/')) {
                at += *at == '/';
                for (const char *const *name = protect_names; *name; name++) {
                        const char *rest = startswith(at, *name);

                        if (rest && (!*rest || *rest == '/'))
                                return true;
                }
        }
        return false;
}

/* Whether --no-protect names `path`, or a folder that it is in. */
static bool is_among_open(const struct nsrun_policy *p, const char *name) {
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

bool protect_is_left_open(const struct protecting *p, const char *name) {
        const struct nsrun_policy *policy = p->resolved->policy;
        _cleanup_free_ char *below = NULL;

        if (!policy->no_protect)
                return false;
        below = *p->below ? str_concat(p->below, "/", name) : NULL;
        return is_among_open(policy, name) || (below && is_among_open(policy, below));
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
                                     .giver = access == POLICY_RW ? PLAN_BY_PIN : PLAN_BY_PROTECTED,
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
static int protect_linked(const struct protecting *p, const char *source) {
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = 0;
        int r = path_canonical(source, &canonical, &mode);

        if (r == -ENOMEM)
                return r;
        if (r < 0 || streq(canonical, p->top) || !path_is_beneath(canonical, p->top))
                return 0;
        return S_ISREG(mode) || S_ISDIR(mode) ? protect_add_everywhere(p->resolved, canonical, S_ISDIR(mode))
                                              : 0;
}

static int protect_found(void *data, const char *name, const struct stat *st) {
        struct protecting *p = data;
        struct resolved *s = p->resolved;
        _cleanup_free_ char *source = NULL;

        if (protect_is_left_open(p, name))
                return 0;
        source = str_concat(p->path, "/", name);
        if (!source || strv_consume(&s->present, str_concat(p->path, "//", name)) < 0)
                return -ENOMEM;
        if (s->policy->protects_strictly && strv_add(&p->found, name) < 0)
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

int protect_leave_closed(nsrun_unused void *data, nsrun_unused const char *name) {
        return 0;
}

int protect_name(struct protecting *p, const char *glob) {
        return protect_is_left_open(p, glob) ? 0 : strv_add(&p->globs, glob);
}

/* The names that nothing was found of can't be made.  Those that a wildcard of an agent's row stands for can
 * (strict_check() refuses the user's own), and are moved aside. */
static int keep_free(const struct protecting *p) {
        int r = 0;

        STRV_FOREACH (glob, p->globs) {
                _cleanup_free_ char *name = NULL;

                if (r < 0 || streq(*glob, ".git"))
                        continue;
                r = strict_unescape(*glob, &name);
                if (r == -EINVAL)
                        r = 0;
                else if (r >= 0 && !strv_contains(p->found, name))
                        r = strict_keep_free(p->resolved, p->path, name);
        }
        return r;
}

int protect_find(struct protecting *p) {
        const struct glob_search search = {
                .found = protect_found, .closed = protect_leave_closed, .wants_type = true, .data = p};
        struct resolved *s = p->resolved;
        size_t n = strv_length(s->protected), m = strv_length(p->globs);
        char **grown = m > 0 ? reallocarray(s->protected, n + m + 1, sizeof(*grown)) : NULL;
        int r = 0;

        if (m == 0)
                return 0;
        if (!grown)
                return -ENOMEM;
        s->protected = grown;
        grown[n] = NULL;
        for (size_t i = 0; i < m; i++, grown[n] = NULL)
                if (!(grown[n++] = str_concat(p->path, "//", p->globs[i])))
                        return -ENOMEM;
        r = glob_find(p->fd, p->globs, &search);
        if (r >= 0 && s->policy->protects_strictly)
                r = keep_free(p);
        strv_free(TAKE_PTR(p->globs));
        strv_free(TAKE_PTR(p->found));
        return r;
}

static int protect_error(const struct protecting *p, int r, const char *glob) {
        if (r == -ENOMEM)
                return error_oom(p->err);
        if (r == -E2BIG && !glob)
                return error_set(p->err, NSRUN_STAGE_POLICY, r, p->top,
                                 "there are too many repositories and git dirs in it to protect them",
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
        return strv_consume(&p->resolved->present, str_concat(p->path, "//", "HEAD"));
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
        if (protect_is_left_open(above, name))
                return 0;
        /* A writable folder of its own has its turn. */
        for (size_t i = 0; i < s->n_rules; i++)
                if (s->rules[i].access == POLICY_RW && streq(s->rules[i].source, path))
                        return 0;
        if (++*p.n_repositories > PROTECT_REPOSITORIES_MAX)
                return -E2BIG;
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
                                             .git_dir = p->git_fd,
                                             .index_limit = p->resolved->is_session ? SESSION_INDEX_MAX
                                                                                    : RUN_INDEX_MAX};
        _cleanup_strv_ char **found = NULL;
        int r = depth < NESTED_DEPTH ? nested_find(&places, &found, NULL) : 0;

        STRV_FOREACH (name, found)
                if (r >= 0)
                        r = protect_one_nested(p, *name, depth + 1);
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
        for (const char *const *glob = agent_protected(p->resolved, p->top); glob && *glob && r >= 0; glob++)
                r = protect_name(p, *glob);
        if (r >= 0)
                r = protect_find(p);
        if (r >= 0)
                r = protect_repository(p, 0);
        return r < 0 ? protect_error(p, r, NULL) : 0;
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
        _cleanup_free_ char *users_hooks = NULL;
        bool is_strict = s->policy->protects_strictly;
        unsigned n_repositories = 0;
        size_t n = s->n_rules;
        int r = is_strict ? strict_check(s, err) : 0;

        if (r >= 0 && s->home && protect_find_users_hooks(s->home, &users_hooks) < 0)
                r = error_oom(err);
        for (size_t i = 0; i < n && r >= 0; i++) {
                struct protecting p = {.resolved = s,
                                       .users_hooks = users_hooks,
                                       .below = "",
                                       .git_fd = -EBADF,
                                       .n_repositories = &n_repositories,
                                       .err = err};

                if (!is_protectable(s, &s->rules[i]))
                        continue;
                p.top = p.path = s->rules[i].source;
                p.fd = p.top_fd = open(p.top, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                /* Whoever mounts it says what is wrong. */
                if (p.fd < 0)
                        continue;
                r = protect_folder(&p);
                (void)close(p.fd);
                close_fdp(&p.git_fd);
                free(p.git_dir);
                strv_free(p.globs);
        }
        if (r >= 0 && is_strict && (r = strict_keep_git_dir(s)) < 0)
                r = error_set(err, NSRUN_STAGE_POLICY, r, s->git_dir,
                              "the protected names can't be looked for", NULL);
        if (r >= 0 && is_strict)
                r = strict_finish(s, err);
        return r < 0 ? r : protect_list_links(s, err);
}

int protect_apply_option(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        int r = option_refuse_braces(spec, value, err);

        if (r < 0)
                return r;
        if (streq(spec->name, "protect") && streq(value, "strict")) {
                p->protects_strictly = true;
                return 0;
        }
        if (startswith(value, "strict,"))
                return option_refuse(spec, value, "'strict' stands alone", "give the option twice", err);
        if (strstr(value, "**"))
                return option_refuse(spec, value, "no tree is searched for such names",
                                     "name the folder, as in 'src/*.conf'; a '*' matches in one folder",
                                     err);
        if (!glob_is_expandable(value))
                return option_refuse(spec, value, "not a name below a writable folder",
                                     "such a name is relative, without '.', '..' and empty parts", err);
        return strv_add(streq(spec->name, "protect") ? &p->protect : &p->no_protect, value) < 0
                       ? error_oom(err)
                       : 0;
}
