/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symlinks that a command may have planted: a source that is reached through one in
 * a writable folder is not what the user meant to expose but what the last command chose. */
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "config.h"
#include "instance.h"
#include "refuse.h"
#include "workspace/project.h"

/* As many as the kernel follows. */
#define LINKS_MAX 40

/* The i-th of the roots that a command may write to, or NULL where that is none: the
 * project, even where it is read-only now (it need not have been so in the last run),
 * the folder of --tmp, and the writable rules' sources. */
static const char *root_at(const struct nsrun_policy *p, size_t i) {
        if (i == 0)
                return p->project;
        if (i == 1)
                return p->tmp;
        return p->rules[i - 2].access == POLICY_RW ? p->rules[i - 2].source : NULL;
}

const char *refuse_writable_root(const struct nsrun_policy *p, const char *path) {
        for (size_t i = 0; i < 2 + p->n_rules; i++) {
                const char *root = root_at(p, i);

                if (root && path_is_beneath(path, root))
                        return root;
        }
        return NULL;
}

/* Whether a command that could write to one of the roots may have planted `link` to
 * choose the rule's source.  A link that stays within its root shows nothing new; but
 * what a read-only rule would protect could be changed by way of it.  The rule is among the
 * roots itself, with what the link made of it: so one root that says no is enough. */
static bool is_planted(const struct nsrun_policy *p, const char *link, const struct policy_rule *rule) {
        for (size_t i = 0; i < 2 + p->n_rules; i++) {
                const char *root = root_at(p, i);

                if (root && path_is_beneath(link, root) &&
                    (rule->access == POLICY_RO || !path_is_beneath(rule->source, root)))
                        return true;
        }
        return false;
}

static int refuse_link(const char *link, const char *source, const char *option, struct nsrun_error *err) {
        _cleanup_free_ char *visible = str_visible(source);
        char hint[sizeof(err->hint)];

        if (!visible)
                return error_oom(err);
        (void)snprintf(
                hint, sizeof(hint),
                "it leads to %s, and a command in the sandbox may have planted it: name the real path",
                visible);
        return refuse(err, link, hint, "%s goes through a symlink in a writable folder", option);
}

/* The walk and the resolution before it saw different links: someone is at work. */
static int refuse_changed(const char *spelled, const char *option, struct nsrun_error *err) {
        return refuse(err, spelled, "name the real path",
                      "%s goes through symlinks that change while nsrun looks", option);
}

/* One step of the walk: *at, a canonical path, goes on to its entry `name`; where
 * that is a symlink, *rest becomes its text and the old rest.  1: it was one; 0: not. */
static int step(char **at, const char *name, size_t length, char **rest, const char *after) {
        _cleanup_free_ char *next = NULL, *spliced = NULL;
        char text[PATH_MAX];
        ssize_t n;

        if (asprintf(&next, "%s/%.*s", streq(*at, "/") ? "" : *at, (int)length, name) < 0)
                return -ENOMEM;
        n = readlink(next, text, sizeof(text) - 1);
        if (n < 0) {
                free(*at);
                *at = TAKE_PTR(next);
                return 0;
        }
        text[n] = '\0';
        if (asprintf(&spliced, "%s/%s", text, after) < 0)
                return -ENOMEM;
        if (text[0] == '/')
                (*at)[1] = '\0';
        free(*rest);
        *rest = TAKE_PTR(spliced);
        return 1;
}

int refuse_planted(const struct nsrun_policy *p, const struct policy_rule *rule, struct nsrun_error *err) {
        const char *spelled = rule->spelled, *source = rule->source, *option = rule->option;
        _cleanup_free_ char *at = strdup("/"), *rest = strdup(spelled);
        const char *next = rest;

        for (unsigned links = 0; at && rest;) {
                _cleanup_free_ char *link = NULL;
                size_t n;
                int r;

                next += strspn(next, "/");
                n = strcspn(next, "/");
                if (n == 0)
                        return streq(at, source) ? 0 : refuse_changed(spelled, option, err);
                if ((n == 1 && next[0] == '.') || (n == 2 && next[0] == '.' && next[1] == '.')) {
                        char *parent = n == 2 ? path_parent(at) : strdup(at);

                        free(at);
                        at = parent;
                        next += n;
                        continue;
                }
                if (asprintf(&link, "%s/%.*s", streq(at, "/") ? "" : at, (int)n, next) < 0)
                        break;
                r = step(&at, next, n, &rest, next + n);
                if (r < 0)
                        break;
                if (r == 0) {
                        next += n;
                        continue;
                }
                if (is_planted(p, link, rule))
                        return refuse_link(link, source, option, err);
                if (++links > LINKS_MAX)
                        return refuse_changed(spelled, option, err);
                next = rest;
        }
        return error_oom(err);
}

/* Whether a rule keeps a command from writing at `target` what it shows of `source`. */
static bool is_kept(const struct nsrun_policy *p, const char *source, const char *target) {
        for (size_t i = 0; i < p->n_rules; i++)
                if (p->rules[i].access != POLICY_RW && streq(p->rules[i].source, source) &&
                    streq(p->rules[i].target, target))
                        return true;
        return false;
}

/* What a command puts there a later run would obey, in whatever project. */
static int refuse_config_root(const struct nsrun_policy *p, const char *source, const char *target,
                              const char *option, const char *folder, struct nsrun_error *err) {
        const char *below = path_below(folder, source);
        _cleanup_free_ char *place = NULL, *visible = NULL;
        char hint[sizeof(err->hint)];

        if (!below && !path_is_beneath(source, folder))
                return 0;
        if (below) {
                place = path_join(target, *below ? below : ".");
                if (!place)
                        return error_oom(err);
                if (is_kept(p, folder, place))
                        return 0;
        }
        visible = str_visible(folder);
        if (!visible)
                return error_oom(err);
        (void)snprintf(
                hint, sizeof(hint),
                "make the folder and keep it as it is: mkdir -p %s, and --ro for it; a config.json in "
                "it also takes --no-config, or a --config elsewhere",
                visible);
        return refuse(err, source, hint, "%s would let a command write the configuration of later runs",
                      option);
}

static int refuse_config_folder(const struct nsrun_policy *p, const char *folder, struct nsrun_error *err) {
        int r = p->tmp ? refuse_config_root(p, p->tmp, "/tmp", "--tmp", folder, err) : 0;

        for (size_t i = 0; i < p->n_rules && r >= 0; i++)
                if (p->rules[i].access == POLICY_RW)
                        r = refuse_config_root(p, p->rules[i].source, p->rules[i].target, p->rules[i].option,
                                               folder, err);
        return r;
}

static int refuse_config_folders(const struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_free_ char *file = NULL, *parent = NULL, *folder = NULL;
        int r;

        r = refuse_config_folder(p, "/etc/nsrun", err);
        if (r < 0)
                return r;
        if (config_find_user_file(p, &file) < 0)
                return error_oom(err);
        if (!file)
                return 0;
        parent = path_parent(file);
        if (!parent || path_canonical_to_be(parent, &folder) < 0)
                return error_oom(err);
        return refuse_config_folder(p, folder, err);
}

int refuse_changeable(const struct nsrun_policy *p, const struct policy_rule *file, const char *what,
                      struct nsrun_error *err) {
        if (refuse_writable_root(p, file->source))
                return refuse(err, file->source, "keep it outside of what a command may write",
                              "%s lies in a writable folder, where a command could change it", what);
        return streq(file->spelled, file->source) ? 0 : refuse_planted(p, file, err);
}

static int refuse_config_file(const struct nsrun_policy *p, struct nsrun_error *err) {
        const struct policy_rule file = {.access = POLICY_RO,
                                         .option = "the configuration",
                                         .source = p->config,
                                         .spelled = p->config_spelled};

        return p->config ? refuse_changeable(p, &file, file.option, err) : 0;
}

int refuse_config(const struct nsrun_policy *p, struct nsrun_error *err) {
        int r = refuse_config_file(p, err);

        return r < 0 ? r : refuse_config_folders(p, err);
}

/* -ENOMEM.  What isn't there, or can be no root, no command has written to. */
static int add_root(struct nsrun_policy *roots, const char *path) {
        _cleanup_free_ char *canonical = NULL;
        int r = path_canonical(path, &canonical, NULL);

        if (r < 0 || project_denied(canonical, roots->home))
                return r == -ENOMEM ? r : 0;
        return policy_add_default(roots, POLICY_RW, canonical, "an earlier run");
}

/* The working folder, as each profile finds the project. */
static int add_project_root(const struct nsrun_policy *p, struct nsrun_policy *roots) {
        _cleanup_free_ char *cwd = NULL, *project = NULL;
        int r;

        if (p->no_project || p->project)
                return p->project ? add_root(roots, p->project) : 0;
        cwd = getcwd(NULL, 0);
        if (!cwd)
                return errno == ENOMEM ? -ENOMEM : 0;
        r = add_root(roots, cwd);
        if (r >= 0)
                r = project_find(cwd, &project);
        return r < 0 ? r : add_root(roots, project);
}

static int add_roots(const struct nsrun_policy *p, struct nsrun_policy *roots) {
        _cleanup_free_ char *instance = NULL;
        struct nsrun_error ignored = {0};
        int r;

        r = policy_find_home(roots);
        if (r >= 0 && p->instance && !(roots->instance = strdup(p->instance)))
                r = -ENOMEM;
        if (r >= 0 && instance_find_root(roots, &instance, NULL, &ignored) >= 0)
                r = add_root(roots, instance);
        if (r >= 0)
                r = add_project_root(p, roots);
        if (r >= 0 && p->tmp)
                r = add_root(roots, p->tmp);
        for (size_t i = 0; i < p->n_rules && r >= 0; i++)
                if (p->rules[i].access == POLICY_RW)
                        r = add_root(roots, p->rules[i].source);
        for (size_t i = 0; i < p->expose.n && r >= 0; i++)
                if (streq(p->expose.items[i].mode, "rw"))
                        r = add_root(roots, p->expose.items[i].source);
        return r;
}

int refuse_plain_config(const struct nsrun_policy *p, struct nsrun_error *err) {
        struct nsrun_policy *roots = NULL;
        int r;

        r = nsrun_policy_new(&roots);
        if (r >= 0 && p->host_environ)
                r = strv_copy(p->host_environ, &roots->host_environ);
        if (r >= 0)
                r = add_roots(p, roots);
        if (r >= 0 && p->config &&
            (!(roots->config = strdup(p->config)) || !(roots->config_spelled = strdup(p->config_spelled))))
                r = -ENOMEM;
        r = r < 0 ? error_oom(err) : refuse_config_file(roots, err);
        (void)nsrun_policy_free(roots);
        return r;
}
