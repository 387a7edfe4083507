/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One rule: from the words that asked for it to canonical paths; and which of two rules for one
 * target stays.  Only reads the host. */
#include "rules.h"

#include <fcntl.h>

#include "base/array.h"
#include "base/causes.h"
#include "base/path.h"
#include "home_secrets.h"
#include "refuse.h"

char *resolve_spelling(const struct resolved *s, const char *spelled) {
        if (path_is_absolute(spelled))
                return strdup(spelled);
        return str_format("%s/%s", s->cwd ? s->cwd : "", spelled);
}

/* The alias of a target: the absolute path as the user spelled it, if it differs from what it leads
 * to and the sandbox can have a symlink there; else NULL.  path_join() takes ".." out without
 * following symlinks: if that makes the spelling lead elsewhere it is no alias. */
static int find_alias(const struct resolved *s, const char *spelled, const char *canonical, char ***ret) {
        _cleanup_free_ char *absolute = NULL, *leads_to = NULL;
        int r;

        if (!path_is_absolute(spelled) && !s->cwd)
                return 0;
        absolute = path_join(s->cwd, spelled);
        if (!absolute)
                return -ENOMEM;
        if (streq(absolute, canonical) || refuse_is_own(absolute))
                return 0;
        r = path_canonical_to_be(absolute, &leads_to);
        if (r < 0)
                return r == -ETIMEDOUT ? 0 : r;
        return streq(leads_to, canonical) ? strv_consume(ret, TAKE_PTR(absolute)) : 0;
}

static int resolve_target(const struct resolved *s, const struct rule_request *request,
                          struct resolved_rule *rule, struct nsrun_error *err) {
        int r = 0;

        if (!request->target) {
                r = find_alias(s, request->spelled ? request->spelled : request->source, rule->source,
                               &rule->aliases);
                rule->target = strdup(rule->source);
        } else {
                if (!path_is_absolute(request->target))
                        return policy_refuse(err, request->target,
                                             "targets are absolute paths inside the sandbox",
                                             "a relative target (%s)", rule->option);
                rule->target = path_normalise(request->target);
        }
        if (r < 0 || !rule->target)
                return error_oom(err);
        return refuse_target(s->policy, rule->target, rule->option, err);
}

/* Keeps the source as it was spelled if that isn't its canonical path.  symlinks.c judges the symlinks
 * on that way when all writable folders are known. */
static int remember_spelling(const struct resolved *s, const struct rule_request *request,
                             struct resolved_rule *rule) {
        const char *spelled = request->spelled ? request->spelled : request->source;

        if (!streq(spelled, rule->source))
                rule->spelled = resolve_spelling(s, spelled);
        return streq(spelled, rule->source) || rule->spelled ? 0 : -ENOMEM;
}

/* Fills a rule from what asks for it.  1: the rule is to be added; 0: it is one of nsrun's own whose source
 * is missing, and is left out. */
static int make_rule(const struct resolved *s, const struct rule_request *request,
                     struct resolved_rule *rule, struct nsrun_error *err) {
        /* The key of a configuration is named by its file and line. */
        const char *hint = *request->option != '-' && strchr(request->option, ':')
                                   ? "create it first, or take it out there"
                                   : "create it first, or leave the option out";
        _cleanup_free_ char *fix = NULL;
        unsigned mode = request->mode;
        int r = 0;

        if (mode == 0)
                r = (request->is_canonical ? path_canonical_in : path_canonical)(request->source,
                                                                                 &rule->source, &mode);
        else if (!(rule->source = strdup(request->source)))
                r = -ENOMEM;
        if (r == -ENOENT && request->is_to_be_made) {
                r = path_canonical_to_be(request->source, &rule->source);
                mode = S_IFDIR;
        }
        /* A rule of nsrun's own, or one that may miss, is left out if its source is missing. */
        if (r == -ENOENT && (request->is_optional || policy_is_default(request->origin)))
                return 0;
        if (r == -ETIMEDOUT)
                return error_cause(err, NSRUN_ERROR_NO_ANSWER, r, request->source);
        if (r < 0) {
                fix = refuse_closed_fix(r, request->source);
                return error_setf(err, NSRUN_STAGE_POLICY, r, request->source, r == -ENOENT ? hint : fix,
                                  "the source of %s can't be opened", request->option);
        }
        rule->is_directory = (mode & S_IFMT) == S_IFDIR;
        if (remember_spelling(s, request, rule) < 0)
                return error_oom(err);
        if (rule->access == POLICY_OVERLAY && !rule->is_directory)
                return error_setf(err, NSRUN_STAGE_POLICY, -ENOTDIR, rule->source,
                                  "expose it with --ro or --rw", "only a folder can be the source of %s",
                                  rule->option);
        r = refuse_source(rule, s->sockets, err);
        if (r >= 0 && request->origin != POLICY_BY_TOOLCHAINS)
                r = refuse_secrets(rule, s->guarded, err);
        if (r >= 0)
                r = resolve_target(s, request, rule, err);
        return r < 0 ? r : 1;
}

int resolve_rule(struct resolved *s, const struct rule_request *request, struct nsrun_error *err) {
        struct resolved_rule rule = {.access = request->access,
                                     .origin = request->origin,
                                     .giver = request->giver,
                                     .option = request->option,
                                     .rank = request->rank};
        int r = make_rule(s, request, &rule, err);

        if (r > 0 && ARRAY_GROW(s->files.rules, s->files.n_rules) < 0)
                r = error_oom(err);
        if (r > 0)
                s->files.rules[s->files.n_rules++] = rule;
        else
                resolved_rule_clear(&rule);
        return r < 0 ? r : 0;
}

int resolve_default(struct resolved *s, enum plan_origin giver, enum policy_access access,
                    const char *source, const char *option, struct nsrun_error *err) {
        const struct rule_request request = {.access = access,
                                             .origin = POLICY_BY_DEFAULT,
                                             .giver = giver,
                                             .option = option,
                                             .source = source};

        return resolve_rule(s, &request, err);
}

bool rules_keep(const struct resolved *s, const char *source, const char *target) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (s->files.rules[i].access != POLICY_RW && streq(s->files.rules[i].source, source) &&
                    streq(s->files.rules[i].target, target))
                        return true;
        return false;
}

int rules_judge(const struct resolved *s,
                int (*judge)(const struct resolved *s, const struct resolved_rule *rule, const void *data,
                             struct nsrun_error *err),
                const void *data, struct nsrun_error *err) {
        int r = s->files.tmp.source ? judge(s, &s->files.tmp, data, err) : 0;

        for (size_t i = 0; i < s->files.n_rules && r >= 0; i++)
                r = judge(s, &s->files.rules[i], data, err);
        return r;
}

struct resolved_rule *rules_find(const struct resolved *s, const char *target) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (streq(s->files.rules[i].target, target))
                        return &s->files.rules[i];
        return NULL;
}

int rules_list_writable(const struct resolved *s, char ***ret) {
        int r = s->project ? strv_add(ret, s->project) : 0;

        if (r >= 0 && s->files.tmp.source)
                r = strv_add(ret, s->files.tmp.source);
        for (size_t i = 0; i < s->files.n_rules && r >= 0; i++)
                if (s->files.rules[i].access == POLICY_RW)
                        r = strv_add(ret, s->files.rules[i].source);
        return r;
}

/* ------------------------------------------------------------------ two for one target */

/* Sorts rules by target; those for one target by origin, then by rank, then in the order in which
 * they were given. */
static int compare_rules(const void *a, const void *b) {
        const struct resolved_rule *x = *(struct resolved_rule *const *)a;
        const struct resolved_rule *y = *(struct resolved_rule *const *)b;
        int c = strcmp(x->target, y->target);

        if (c != 0)
                return c;
        if (x->origin != y->origin)
                return x->origin < y->origin ? -1 : 1;
        if (x->rank != y->rank)
                return x->rank > y->rank ? -1 : 1;
        return x < y ? -1 : x > y;
}

static int compare_target(const void *key, const void *element) {
        return strcmp(key, (*(struct resolved_rule *const *)element)->target);
}

static int refuse_two(const char *target, const char *a, const char *b, struct nsrun_error *err) {
        return policy_refuse(err, target, "keep one of them", "two rules for one target (%s and %s)", a, b);
}

static bool is_workspace(const struct resolved_rule *rule) {
        return rule->origin == POLICY_BY_WORKSPACE || rule->origin == POLICY_BY_READABLE;
}

/* Whether two rules for one target, of which `first` would stay, contradict each other: both have
 * the same origin and differ, or an option shows another folder than the workspace's root there,
 * which its file tools would not see. */
static bool is_contradiction(const struct resolved_rule *first, const struct resolved_rule *rule) {
        bool is_same_source = streq(first->source, rule->source);

        if (first->origin == rule->origin)
                return first->rank == rule->rank && !policy_is_default(rule->origin) &&
                       (first->access != rule->access || !is_same_source);
        return is_workspace(rule) && !is_same_source;
}

/* Leaves one rule for each target in `sorted`; *ret_n is how many those are. */
static int merge_sorted(struct resolved_rule **sorted, size_t n, size_t *ret_n, struct nsrun_error *err) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++) {
                struct resolved_rule *rule = sorted[i], *first = kept > 0 ? sorted[kept - 1] : NULL;

                if (!first || !streq(first->target, rule->target)) {
                        sorted[kept++] = rule;
                        continue;
                }
                if (is_contradiction(first, rule))
                        return refuse_two(rule->target, first->option, rule->option, err);
                STRV_FOREACH (alias, rule->aliases)
                        if (streq(first->source, rule->source) && !strv_contains(first->aliases, *alias) &&
                            strv_add(&first->aliases, *alias) < 0)
                                return error_oom(err);
                resolved_rule_clear(rule);
        }
        *ret_n = kept;
        return 0;
}

/* Removes the rules of `s` that have been cleared, and keeps the others' order. */
static void compact(struct resolved *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->files.n_rules; i++)
                if (s->files.rules[i].source)
                        s->files.rules[n++] = s->files.rules[i];
        s->files.n_rules = n;
}

/* An empty folder takes the place of a toolchain's; of anything else it would be the opposite. */
static int resolve_tmpfs_conflicts(struct resolved *s, struct nsrun_error *err) {
        for (size_t k = 0; k < s->files.n_tmpfs; k++) {
                const char *path = s->files.tmpfs[k].path;

                for (size_t i = 0; i < s->files.n_links; i++)
                        if (streq(s->files.links[i].path, path))
                                return refuse_two(path, "--symlink", "--tmpfs", err);
                for (size_t i = 0; i < s->files.n_rules; i++) {
                        struct resolved_rule *rule = &s->files.rules[i];

                        if (!rule->target || !streq(rule->target, path))
                                continue;
                        if (rule->origin != POLICY_BY_TOOLCHAINS)
                                return refuse_two(path, rule->option, "--tmpfs", err);
                        resolved_rule_clear(rule);
                }
        }
        return 0;
}

/* Leaves out the aliases at which another rule has its target. */
static void drop_taken_aliases(struct resolved_rule *rule, struct resolved_rule *const *sorted, size_t n) {
        size_t kept = 0;

        for (size_t i = 0; rule->aliases && rule->aliases[i]; i++) {
                char *alias = TAKE_PTR(rule->aliases[i]);

                if (bsearch(alias, sorted, n, sizeof(*sorted), compare_target))
                        free(alias);
                else
                        rule->aliases[kept++] = alias;
        }
        if (rule->aliases)
                rule->aliases[kept] = NULL;
}

int resolve_conflicts(struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ struct resolved_rule **sorted =
                calloc(s->files.n_rules + 1, sizeof(struct resolved_rule *));
        size_t n = 0;
        int r;

        if (!sorted)
                return error_oom(err);
        for (size_t i = 0; i < s->files.n_rules; i++)
                sorted[i] = &s->files.rules[i];
        qsort(sorted, s->files.n_rules, sizeof(*sorted), compare_rules);
        r = merge_sorted(sorted, s->files.n_rules, &n, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                drop_taken_aliases(sorted[i], sorted, n);
        for (size_t i = 0; i < s->files.n_links; i++) {
                const char *path = s->files.links[i].path;
                struct resolved_rule **rule =
                        n > 0 ? bsearch(path, sorted, n, sizeof(*sorted), compare_target) : NULL;

                if (rule)
                        return refuse_two(path, (*rule)->option, "--symlink", err);
        }
        r = resolve_tmpfs_conflicts(s, err);
        compact(s);
        return r;
}

/* Adds a symlink of the sandbox's.  The same one twice is added once. */
int resolve_link(struct resolved *s, const char *text, const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *text_copy = strdup(text), *normalised = NULL;
        int r;

        if (!path_is_absolute(path))
                return policy_refuse(err, path, "targets are absolute paths inside the sandbox",
                                     "a relative target (--symlink)");
        normalised = path_normalise(path);
        if (!text_copy || !normalised)
                return error_oom(err);
        r = refuse_target(s->policy, normalised, "--symlink", err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < s->files.n_links; i++)
                if (streq(s->files.links[i].path, normalised))
                        return streq(s->files.links[i].text, text)
                                       ? 0
                                       : refuse_two(normalised, "--symlink", "--symlink", err);
        if (ARRAY_GROW(s->files.links, s->files.n_links) < 0)
                return error_oom(err);
        s->files.links[s->files.n_links++] = (struct policy_link){TAKE_PTR(text_copy), TAKE_PTR(normalised)};
        return 0;
}

/* Adds an empty folder.  The same one twice is added once. */
int resolve_tmpfs(struct resolved *s, const struct policy_tmpfs *tmpfs, struct nsrun_error *err) {
        uint64_t size = tmpfs->size > 0 ? tmpfs->size : s->policy->tmpfs_size;
        _cleanup_free_ char *spelled = resolve_spelling(s, tmpfs->path),
                            *path = spelled ? path_normalise(spelled) : NULL;
        int r;

        if (!path)
                return error_oom(err);
        r = refuse_target(s->policy, path, "--tmpfs", err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < s->files.n_tmpfs; i++)
                if (streq(s->files.tmpfs[i].path, path))
                        return s->files.tmpfs[i].size == size ? 0
                                                              : refuse_two(path, "--tmpfs", "--tmpfs", err);
        if (ARRAY_GROW(s->files.tmpfs, s->files.n_tmpfs) < 0)
                return error_oom(err);
        s->files.tmpfs[s->files.n_tmpfs++] = (struct policy_tmpfs){TAKE_PTR(path), size};
        return 0;
}
