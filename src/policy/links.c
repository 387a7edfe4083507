/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals for symlinks that a command may have planted.  A source that is reached through a
 * symlink in a writable folder is not what the user meant to expose, but what the last command
 * chose. */
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "config.h"
#include "environment.h"
#include "host/project.h"
#include "instance.h"
#include "refuse.h"

/* The kernel's own limit of symlinks in one path. */
#define LINKS_MAX 40

/* Whether a command that could write to one of the `writable` folders may have planted `link` to
 * choose the rule's source.  A link that leads to a place in the same folder shows a writable rule
 * nothing new; for a read-only rule it is refused all the same, since the command could change what
 * the rule means to protect.  (A writable rule's own source is among `writable`, wherever the link
 * leads: so each folder is judged for itself, and one that refuses is enough.) */
static bool is_planted(char *const *writable, const char *link, const struct resolved_rule *rule) {
        STRV_FOREACH (root, writable)
                if (path_is_beneath(link, *root) &&
                    (rule->access == POLICY_RO || !path_is_beneath(rule->source, *root)))
                        return true;
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

/* Refuses a path that leads elsewhere in this walk than when it was resolved: its links are being
 * changed. */
static int refuse_changed(const char *spelled, const char *option, struct nsrun_error *err) {
        return refuse(err, spelled, "name the real path",
                      "%s goes through symlinks that change while nsrun looks", option);
}

/* One step of the walk: from *at, a canonical path, to its entry `name`.  If that is a symlink (1),
 * *at stays and *rest becomes the link's text followed by `after`; if not (0), *at becomes the
 * entry. */
static int links_step(char **at, const char *name, size_t length, char **rest, const char *after) {
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

int refuse_untrusted_link(char *const *writable, const struct resolved_rule *rule, struct nsrun_error *err) {
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
                r = links_step(&at, next, n, &rest, next + n);
                if (r < 0)
                        break;
                if (r == 0) {
                        next += n;
                        continue;
                }
                if (is_planted(writable, link, rule))
                        return refuse_link(link, source, option, err);
                if (++links > LINKS_MAX)
                        return refuse_changed(spelled, option, err);
                next = rest;
        }
        return error_oom(err);
}

/* Whether a rule that isn't writable shows `source` at `target`, over what a writable one would
 * show there. */
static bool links_is_kept(const struct resolved *s, const char *source, const char *target) {
        for (size_t i = 0; i < s->n_rules; i++)
                if (s->rules[i].access != POLICY_RW && streq(s->rules[i].source, source) &&
                    streq(s->rules[i].target, target))
                        return true;
        return false;
}

/* Refuses the writable folder `source`, shown at `target`, if the configuration's `folder` lies in
 * it or around it: what a command wrote there a later run would obey, in any project. */
static int refuse_config_root(const struct resolved *s, const char *source, const char *target,
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
                if (links_is_kept(s, folder, place))
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

static int refuse_config_folder(const struct resolved *s, const char *folder, struct nsrun_error *err) {
        int r = s->tmp.source ? refuse_config_root(s, s->tmp.source, "/tmp", "--tmp", folder, err) : 0;

        for (size_t i = 0; i < s->n_rules && r >= 0; i++)
                if (s->rules[i].access == POLICY_RW)
                        r = refuse_config_root(s, s->rules[i].source, s->rules[i].target, s->rules[i].option,
                                               folder, err);
        return r;
}

static int refuse_config_folders(const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *file = NULL, *parent = NULL, *folder = NULL;
        int r;

        r = refuse_config_folder(s, "/etc/nsrun", err);
        if (r < 0)
                return r;
        if (config_find_user_file(s->policy, &file) < 0)
                return error_oom(err);
        if (!file)
                return 0;
        parent = path_parent(file);
        if (!parent || path_canonical_to_be(parent, &folder) < 0)
                return error_oom(err);
        return refuse_config_folder(s, folder, err);
}

int refuse_changeable(char *const *writable, const struct resolved_rule *file, const char *what,
                      struct nsrun_error *err) {
        STRV_FOREACH (root, writable)
                if (path_is_beneath(file->source, *root))
                        return refuse(err, file->source, "keep it outside of what a command may write",
                                      "%s lies in a writable folder, where a command could change it", what);
        return streq(file->spelled, file->source) ? 0 : refuse_untrusted_link(writable, file, err);
}

static int refuse_config_file(const struct nsrun_policy *p, char *const *writable, struct nsrun_error *err) {
        const struct resolved_rule file = {.access = POLICY_RO,
                                           .option = "the configuration",
                                           .source = p->config,
                                           .spelled = p->config_spelled};

        return p->config ? refuse_changeable(writable, &file, file.option, err) : 0;
}

int refuse_config(const struct resolved *s, struct nsrun_error *err) {
        int r = refuse_config_file(s->policy, s->writable, err);

        return r < 0 ? r : refuse_config_folders(s, err);
}

/* Adds the canonical form of `path` to the writable folders.  A path that doesn't exist, or that
 * can be no project, is skipped: no command has been able to write to it.  -ENOMEM. */
static int add_root(char ***writable, const char *home, const char *path) {
        _cleanup_free_ char *canonical = NULL;
        int r = path_canonical(path, &canonical, NULL);

        if (r < 0 || project_denied(canonical, home))
                return r == -ENOMEM ? r : 0;
        return strv_consume(writable, TAKE_PTR(canonical));
}

/* Adds the folder that would be the project: the one that --project names, else the working
 * directory, which the instance profile uses, and the project around it, which the other profile
 * finds. */
static int add_project_root(const struct nsrun_policy *p, char ***writable, const char *home) {
        _cleanup_free_ char *cwd = NULL, *project = NULL;
        int r;

        if (p->no_project || p->project)
                return p->project ? add_root(writable, home, p->project) : 0;
        cwd = getcwd(NULL, 0);
        if (!cwd)
                return errno == ENOMEM ? -ENOMEM : 0;
        r = add_root(writable, home, cwd);
        if (r >= 0)
                r = project_find(cwd, &project);
        return r < 0 ? r : add_root(writable, home, project);
}

/* Lists the folders that a command of this policy could write to in a run with a sandbox. */
static int list_roots(const struct nsrun_policy *p, char ***writable) {
        char *const *inherited = environment_inherited(p);
        _cleanup_free_ char *home = NULL, *instance = NULL;
        struct nsrun_error ignored = {0};
        int r;

        r = policy_find_home(environment_get(inherited, "HOME"), &home);
        if (r >= 0 && instance_find_root(p->instance, inherited, home, &instance, NULL, &ignored) >= 0)
                r = add_root(writable, home, instance);
        if (r >= 0 && p->instance_workspace)
                r = add_root(writable, home, p->instance_workspace);
        if (r >= 0)
                r = add_project_root(p, writable, home);
        if (r >= 0 && p->tmp)
                r = add_root(writable, home, p->tmp);
        for (size_t i = 0; i < p->n_rules && r >= 0; i++)
                if (p->rules[i].access == POLICY_RW)
                        r = add_root(writable, home, p->rules[i].source);
        for (size_t i = 0; i < p->expose.n && r >= 0; i++)
                if (streq(p->expose.items[i].mode, "rw"))
                        r = add_root(writable, home, p->expose.items[i].source);
        return r;
}

int refuse_plain_config(const struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_strv_ char **writable = NULL;

        return list_roots(p, &writable) < 0 ? error_oom(err) : refuse_config_file(p, writable, err);
}
