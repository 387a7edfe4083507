/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy as it was asked for becomes one that can be planned: paths canonical,
 * defaults merged, conflicts settled or refused.  Reads the host only. */
#include <sys/stat.h>

#include "base/path.h"
#include "environment.h"
#include "git.h"
#include "instance.h"
#include "limits.h"
#include "policy.h"
#include "refuse.h"
#include "sockets.h"
#include "workspace/project.h"
#include "workspace/toolchains.h"
#include "workspace/user.h"

static const char asked_for_project[] = "--project";

struct resolving {
        struct nsrun_policy *policy;
        char *cwd; /* NULL where it can't be told */
        char **sockets;
        struct gitdir gitdir;   /* where the project's .git is a file; else empty */
        struct policy_rule tmp; /* what --tmp asks for, to be judged when all roots are known */
};

static void resolving_clear(struct resolving *c) {
        gitdir_clear(&c->gitdir);
        policy_clear_rule(&c->tmp);
        free(c->cwd);
        strv_free(c->sockets);
}

/* Takes the rules away that have been cleared, and keeps the order. */
static void compact(struct nsrun_policy *p) {
        size_t n = 0;

        for (size_t i = 0; i < p->n_rules; i++)
                if (p->rules[i].source)
                        p->rules[n++] = p->rules[i];
        p->n_rules = n;
}

static void drop_defaults(struct nsrun_policy *p) {
        for (size_t i = 0; i < p->n_rules; i++)
                if (p->rules[i].is_default || p->rules[i].is_derived)
                        policy_clear_rule(&p->rules[i]);
        compact(p);
        strv_free(TAKE_PTR(p->ephemeral));
        strv_free(TAKE_PTR(p->held));
        strv_free(TAKE_PTR(p->identity));
}

/* Whether a tmpfs at `home` would stand in the way of what else is there. */
static bool home_is_unusable(const char *home) {
        static const char *const roots[] = {"/usr", "/opt", "/etc", "/sys", "/tmp", "/bin", "/sbin"};

        if (streq(home, "/") || startswith(home, "/lib") || refuse_is_own(home))
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
                if (path_is_beneath(home, roots[i]) && (!streq(roots[i], "/tmp") || streq(home, "/tmp")))
                        return true;
        return false;
}

int policy_find_home(struct nsrun_policy *p) {
        const char *home = environment_get(environment_inherited(p), "HOME");
        struct user user = {0};
        char *normalised = NULL;
        int r = 0;

        p->uid = geteuid();
        p->gid = getegid();
        if (!home || !path_is_absolute(home)) {
                r = user_find(p->uid, p->gid, &user);
                home = r < 0 ? NULL : user.home;
        }
        if (home && path_is_absolute(home)) {
                normalised = path_normalise(home);
                r = normalised ? 0 : -ENOMEM;
        }
        user_clear(&user);
        if (r < 0)
                return r;
        if (normalised && home_is_unusable(normalised))
                free(TAKE_PTR(normalised));
        free(p->home);
        p->home = normalised;
        return 0;
}

/* How the user spelled a path, where that differs from what it leads to and is a
 * place that can hold a symlink; else NULL.  A lexical ".." may have crossed a
 * symlink: then the spelling leads elsewhere and is dropped. */
static int find_alias(const struct resolving *c, const char *spelled, const char *canonical, char **ret) {
        _cleanup_free_ char *absolute = NULL, *leads_to = NULL;
        int r;

        if (!path_is_absolute(spelled) && !c->cwd) {
                *ret = NULL;
                return 0;
        }
        absolute = path_join(c->cwd, spelled);
        if (!absolute)
                return -ENOMEM;
        if (!streq(absolute, canonical) && !refuse_is_own(absolute)) {
                r = path_canonical(absolute, &leads_to, NULL);
                if (r == -ENOMEM)
                        return r;
        }
        *ret = leads_to && streq(leads_to, canonical) ? TAKE_PTR(absolute) : NULL;
        return 0;
}

/* Remembers how a source was spelled where that is not its name: what lies in
 * between is judged when all roots are known. */
static int remember_spelling(const struct resolving *c, struct policy_rule *rule, const char *spelled) {
        if (streq(spelled, rule->source))
                return 0;
        free(TAKE_PTR(rule->spelled));
        if (path_is_absolute(spelled))
                rule->spelled = strdup(spelled);
        else if (asprintf(&rule->spelled, "%s/%s", c->cwd ? c->cwd : "", spelled) < 0)
                rule->spelled = NULL;
        return rule->spelled ? 0 : -ENOMEM;
}

static int refuse_all_planted(const struct resolving *c, struct nsrun_error *err) {
        const struct nsrun_policy *p = c->policy;
        int r = c->tmp.spelled ? refuse_planted(p, &c->tmp, err) : 0;

        for (size_t i = 0; i < p->n_rules && r >= 0; i++)
                if (p->rules[i].spelled)
                        r = refuse_planted(p, &p->rules[i], err);
        return r;
}

static bool is_instance(const struct nsrun_policy *p) {
        return p->profile == POLICY_PROFILE_INSTANCE;
}

static int project_error(const struct nsrun_policy *p, int r, const char *path, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, r, path,
                         p->project ? "the project can't be opened" : "the current folder can't be opened",
                         "choose a folder with --project DIR, or use --no-project");
}

static int resolve_project(struct resolving *c, struct nsrun_error *err) {
        static const char hint[] = "choose a folder with --project DIR, or use --no-project";
        _cleanup_free_ char *canonical = NULL;
        struct nsrun_policy *p = c->policy;
        const char *option = p->project       ? asked_for_project
                             : is_instance(p) ? "the working directory"
                                              : "the project";
        const char *reason;
        struct policy_rule *rule;
        unsigned mode = 0;
        int r;

        if (p->no_project)
                return 0;
        if (p->project)
                r = path_canonical(p->project, &canonical, &mode);
        else
                r = !c->cwd          ? -ENOENT
                    : is_instance(p) ? path_canonical(c->cwd, &canonical, NULL)
                                     : project_find(c->cwd, &canonical);
        if (r < 0)
                return project_error(p, r, p->project ? p->project : c->cwd, err);
        if (p->project && (mode & S_IFMT) != S_IFDIR)
                return project_error(p, -ENOTDIR, p->project, err);
        reason = project_denied(canonical, p->home);
        if (reason)
                return refuse(err, canonical, hint, "%s can't be %s", reason,
                              is_instance(p) ? "the working directory" : "the project");
        if (p->project && !p->project_alias && find_alias(c, p->project, canonical, &p->project_alias) < 0)
                return error_oom(err);
        if (policy_add_default(p, POLICY_RW, canonical, option) < 0)
                return error_oom(err);
        rule = &p->rules[p->n_rules - 1];
        if (p->project_alias && !(rule->alias = strdup(p->project_alias)))
                return error_oom(err);
        if (p->project && remember_spelling(c, rule, p->project) < 0)
                return error_oom(err);
        free(p->project);
        p->project = TAKE_PTR(canonical);
        return 0;
}

/* The folder for /tmp, which is at its own path, too: a name that a program prints
 * then means the same on both sides.  An explicit rule for that path goes before. */
static int resolve_tmp(struct resolving *c, struct nsrun_error *err) {
        struct nsrun_policy *p = c->policy;
        struct policy_rule *rule = &c->tmp;
        unsigned mode = 0;
        int r;

        if (!p->tmp)
                return 0;
        *rule = (struct policy_rule){.access = POLICY_RW, .option = "--tmp"};
        r = path_canonical(p->tmp, &rule->source, &mode);
        if (r == 0 && (mode & S_IFMT) != S_IFDIR)
                r = -ENOTDIR;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, p->tmp, "the folder of --tmp can't be opened",
                                 "create it first, or use --tmp=tmpfs");
        r = refuse_source(rule, c->sockets, err);
        if (r < 0)
                return r;
        if (remember_spelling(c, rule, p->tmp) < 0 ||
            (!p->tmp_alias && find_alias(c, p->tmp, rule->source, &p->tmp_alias) < 0) ||
            policy_add_default(p, POLICY_RW, rule->source, rule->option) < 0)
                return error_oom(err);
        free(p->tmp);
        p->tmp = strdup(rule->source);
        rule = &p->rules[p->n_rules - 1];
        if (!p->tmp || (p->tmp_alias && !(rule->alias = strdup(p->tmp_alias))))
                return error_oom(err);
        return 0;
}

static int add_toolchain(void *data, const struct toolchain_entry *entry, const char *path) {
        return policy_add_default(data, entry->access == TOOLCHAIN_OVERLAY ? POLICY_OVERLAY : POLICY_RO,
                                  path, "toolchains");
}

static int resolve_target(const struct resolving *c, struct policy_rule *rule, const char *spelled,
                          struct nsrun_error *err) {
        _cleanup_free_ char *normalised = NULL;

        if (!rule->target) {
                if (!rule->alias && find_alias(c, spelled, rule->source, &rule->alias) < 0)
                        return error_oom(err);
                rule->target = strdup(rule->source);
                if (!rule->target)
                        return error_oom(err);
        } else {
                if (!path_is_absolute(rule->target))
                        return refuse(err, rule->target, "targets are absolute paths inside the sandbox",
                                      "a relative target (%s)", rule->option);
                normalised = path_normalise(rule->target);
                if (!normalised)
                        return error_oom(err);
                free(rule->target);
                rule->target = TAKE_PTR(normalised);
        }
        return refuse_target(c->policy, rule->target, rule->option, err);
}

/* Whether a folder of nsrun's own lists is reached through a symlink below the
 * home folder, which a command may have planted in a run that could write there: it is
 * not taken, and --ro or --overlay ask for it. */
static bool is_linked_default(const struct nsrun_policy *p, const struct policy_rule *rule,
                              const char *spelled) {
        const char *below = rule->is_default && p->home ? path_below(spelled, p->home) : NULL;
        _cleanup_free_ char *home = NULL, *plain = NULL;

        if (!below || !*below || streq(spelled, rule->source) || path_canonical(p->home, &home, NULL) < 0)
                return false;
        plain = path_join(home, below);
        return !plain || !streq(plain, rule->source);
}

static int resolve_rule(const struct resolving *c, struct policy_rule *rule, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL, *canonical = NULL;
        unsigned mode = 0;
        int r;

        r = path_canonical(rule->source, &canonical, &mode);
        if (r == -ENOENT && rule->is_to_be_made) {
                canonical = strdup(rule->source);
                mode = S_IFDIR;
                r = canonical ? 0 : -ENOMEM;
        }
        if (r == -ENOENT && rule->is_default) {
                policy_clear_rule(rule); /* nsrun's own lists take what is there */
                return 0;
        }
        if (r < 0)
                return error_setf(err, NSRUN_STAGE_POLICY, r, rule->source,
                                  r == -ENOENT ? "create it first, or leave the option out" : NULL,
                                  "the source of %s can't be opened", rule->option);
        spelled = TAKE_PTR(rule->source);
        rule->source = TAKE_PTR(canonical);
        rule->is_directory = (mode & S_IFMT) == S_IFDIR;
        if (is_linked_default(c->policy, rule, spelled)) {
                policy_clear_rule(rule);
                return 0;
        }
        if (remember_spelling(c, rule, spelled) < 0)
                return error_oom(err);
        if (rule->access == POLICY_OVERLAY && !rule->is_directory)
                return error_setf(err, NSRUN_STAGE_POLICY, -ENOTDIR, rule->source,
                                  "expose it with --ro or --rw", "only a folder can be the source of %s",
                                  rule->option);
        r = refuse_source(rule, c->sockets, err);
        if (r < 0)
                return r;
        return resolve_target(c, rule, spelled, err);
}

/* The lightest one stays: an option's, a configuration's, one of nsrun's own. */
static int weight(const struct policy_rule *rule) {
        return rule->is_default ? 2 : rule->is_config ? 1 : 0;
}

/* By target; for one target by weight, then as given. */
static int compare_rules(const void *a, const void *b) {
        const struct policy_rule *x = *(struct policy_rule *const *)a, *y = *(struct policy_rule *const *)b;
        int c = strcmp(x->target, y->target);

        if (c != 0)
                return c;
        if (weight(x) != weight(y))
                return weight(x) - weight(y);
        return x < y ? -1 : x > y;
}

static int compare_target(const void *key, const void *element) {
        return strcmp(key, (*(struct policy_rule *const *)element)->target);
}

static int refuse_two(const char *target, const char *a, const char *b, struct nsrun_error *err) {
        return refuse(err, target, "keep one of them", "two rules for one target (%s and %s)", a, b);
}

/* Leaves one rule for each target in `sorted`, returns how many that are. */
static int merge_sorted(struct policy_rule **sorted, size_t n, size_t *ret_n, struct nsrun_error *err) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++) {
                struct policy_rule *rule = sorted[i], *first = kept > 0 ? sorted[kept - 1] : NULL;

                if (!first || !streq(first->target, rule->target)) {
                        sorted[kept++] = rule;
                        continue;
                }
                if (!rule->is_default && weight(first) == weight(rule) &&
                    (first->access != rule->access || !streq(first->source, rule->source)))
                        return refuse_two(rule->target, first->option, rule->option, err);
                if (!first->alias && streq(first->source, rule->source))
                        first->alias = TAKE_PTR(rule->alias);
                policy_clear_rule(rule);
        }
        *ret_n = kept;
        return 0;
}

static int resolve_links(struct nsrun_policy *p, struct policy_rule **sorted, size_t n,
                         struct nsrun_error *err) {
        for (size_t i = 0; i < p->n_links; i++) {
                struct policy_link *link = &p->links[i];
                struct policy_rule **rule;
                char *normalised;
                int r;

                if (!path_is_absolute(link->path))
                        return refuse(err, link->path, "targets are absolute paths inside the sandbox",
                                      "a relative target (--symlink)");
                normalised = path_normalise(link->path);
                if (!normalised)
                        return error_oom(err);
                free(link->path);
                link->path = normalised;
                r = refuse_target(p, link->path, "--symlink", err);
                if (r < 0)
                        return r;
                rule = n > 0 ? bsearch(link->path, sorted, n, sizeof(*sorted), compare_target) : NULL;
                if (rule)
                        return refuse_two(link->path, (*rule)->option, "--symlink", err);
                for (size_t j = i; j-- > 0;)
                        if (streq(p->links[j].path, link->path) && !streq(p->links[j].text, link->text))
                                return refuse_two(link->path, "--symlink", "--symlink", err);
        }
        return 0;
}

/* The same link twice is one. */
static void merge_links(struct nsrun_policy *p) {
        size_t n = 0;

        for (size_t i = 0; i < p->n_links; i++) {
                bool is_known = false;

                for (size_t j = 0; j < n && !is_known; j++)
                        is_known = streq(p->links[j].path, p->links[i].path);
                if (is_known) {
                        free(p->links[i].text);
                        free(p->links[i].path);
                } else {
                        p->links[n++] = p->links[i];
                }
        }
        p->n_links = n;
}

/* Settles what takes two rules to see. */
static int merge(struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_free_ struct policy_rule **sorted = NULL;
        size_t n = 0;
        int r;

        sorted = calloc(p->n_rules + 1, sizeof(struct policy_rule *));
        if (!sorted)
                return error_oom(err);
        for (size_t i = 0; i < p->n_rules; i++)
                sorted[i] = &p->rules[i];
        qsort(sorted, p->n_rules, sizeof(struct policy_rule *), compare_rules);
        r = merge_sorted(sorted, p->n_rules, &n, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (sorted[i]->alias &&
                    bsearch(sorted[i]->alias, sorted, n, sizeof(*sorted), compare_target))
                        free(TAKE_PTR(sorted[i]->alias));
        r = resolve_links(p, sorted, n, err);
        if (r < 0)
                return r;
        merge_links(p);
        compact(p);
        return 0;
}

/* No mount point is made in a folder of the host, so the project is not to be seen
 * below one that is /tmp; an explicit rule says that there is one. */
static int refuse_hidden_project(const struct nsrun_policy *p, struct nsrun_error *err) {
        if (!p->tmp || !p->project || !path_is_beneath(p->project, "/tmp"))
                return 0;
        for (size_t i = 0; i < p->n_rules; i++)
                if (!p->rules[i].is_default && streq(p->rules[i].target, p->project))
                        return 0;
        return refuse(err, p->project, "choose a project elsewhere, or use --tmp=playground",
                      "the project would be hidden by the folder of --tmp");
}

static bool is_protected_at(const struct nsrun_policy *p, const char *source, const char *target) {
        for (size_t i = 0; i < p->n_rules; i++) {
                const struct policy_rule *rule = &p->rules[i];

                if (rule->access != POLICY_RW && streq(rule->source, source) && streq(rule->target, target))
                        return true;
        }
        return false;
}

/* The folder of --tmp is at /tmp, too: what is protected in it where it is would be writable
 * there. */
static int refuse_tmp_around(const struct nsrun_policy *p, struct nsrun_error *err) {
        for (size_t i = 0; p->tmp && i < p->n_rules; i++) {
                const struct policy_rule *rule = &p->rules[i];
                const char *below = path_below(rule->source, p->tmp);
                _cleanup_free_ char *other = NULL;

                if (rule->access == POLICY_RW || !below || !*below || !streq(rule->target, rule->source))
                        continue;
                other = path_join("/tmp", below);
                if (!other)
                        return error_oom(err);
                if (!is_protected_at(p, rule->source, other))
                        return refuse(err, rule->source,
                                      "choose another folder for --tmp, or use --tmp=playground",
                                      "what %s protects could be written by way of /tmp", rule->option);
        }
        return 0;
}

static int resolve_rules(const struct resolving *c, size_t from, struct nsrun_error *err) {
        struct nsrun_policy *p = c->policy;
        int r = 0;

        for (size_t i = from; i < p->n_rules && r >= 0; i++)
                r = resolve_rule(c, &p->rules[i], err);
        if (r >= 0)
                compact(p);
        return r;
}

static int refuse_profile(const struct nsrun_policy *p, struct nsrun_error *err) {
        if (!is_instance(p)) {
                if (p->instance)
                        return refuse(err, p->instance, "add --profile=instance",
                                      "--instance is of no use without its profile");
                return 0;
        }
        if (policy_is_plain(p))
                return refuse(err, NULL, "nsrun run would run the command with no sandbox at all",
                              "isolation is disabled (%s)", p->isolation_label);
        return 0;
}

/* Inside, home is the instance's; until now it was the user's, whose secrets are refused. */
static int move_home(struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_strv_ char **environment = NULL;
        char *home = path_join(p->instance_root, INSTANCE_HOME);

        if (!home || instance_environment(p->instance_root, &environment) < 0) {
                free(home);
                return error_oom(err);
        }
        free(p->home);
        p->home = home;
        strv_free(p->instance_env);
        p->instance_env = TAKE_PTR(environment);
        return 0;
}

int policy_resolve(struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_(resolving_clear) struct resolving c = {.policy = p};
        int r;

        if (!p->is_session && (!p->argv || !p->argv[0])) {
                (void)error_set(err, NSRUN_STAGE_USAGE, 0, NULL, "no command", NULL);
                return -EINVAL;
        }
        if (p->session)
                return policy_resolve_session(p, err);
        if (p->kills_leftovers)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                 "--kill-leftovers is for commands in a session",
                                 "name one with --session; without, all ends with the command");
        r = refuse_profile(p, err);
        if (r < 0)
                return r;
        if (!is_instance(p))
                free(TAKE_PTR(p->instance_root));
        strv_free(TAKE_PTR(p->instance_env));
        c.cwd = getcwd(NULL, 0);
        drop_defaults(p);
        if (policy_find_home(p) < 0 || sockets_list(environment_inherited(p), p->home, &c.sockets) < 0)
                return error_oom(err);
        r = resolve_project(&c, err);
        if (r >= 0)
                r = resolve_tmp(&c, err);
        if (r >= 0)
                r = is_instance(p)     ? instance_add_rules(p, err)
                    : p->has_workspace ? 0
                                       : git_add_rules(p, &c.gitdir, err);
        if (r < 0)
                return r;
        /* The system's are nobody's files. */
        if (toolchains_each(p->has_workspace || is_instance(p) ? NULL : p->home, add_toolchain, p) < 0)
                return error_oom(err);
        r = resolve_rules(&c, 0, err);
        if (r >= 0 && is_instance(p)) {
                size_t n = p->n_rules;

                r = instance_add_command(p, c.cwd, err);
                if (r >= 0)
                        r = resolve_rules(&c, n, err);
        }
        if (r < 0)
                return r;
        r = merge(p, err);
        if (r >= 0)
                r = refuse_hidden_project(p, err);
        if (r >= 0)
                r = refuse_tmp_around(p, err);
        if (r < 0)
                return r;
        r = refuse_all_planted(&c, err);
        if (r >= 0)
                r = refuse_hardening(p, c.cwd, err);
        if (r >= 0)
                r = refuse_records(p, err);
        if (r >= 0)
                r = refuse_limits(p, err);
        if (r >= 0)
                r = refuse_config(p, err);
        if (r >= 0)
                r = is_instance(p) ? move_home(p, err) : git_find_identity(p, c.gitdir.common_dir, err);
        return r < 0 ? r : environment_resolve(p, err);
}
