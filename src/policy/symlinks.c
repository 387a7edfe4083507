/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals for symlinks that a command may have planted.  A source that is reached through a
 * symlink in a writable folder is not what the user meant to expose, but what the last command
 * chose. */
#include "base/path.h"
#include "config.h"
#include "disk/reach.h"
#include "environment.h"
#include "host/project.h"
#include "instance_profile.h"
#include "refuse.h"

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

struct link_look {
        const struct trust *trust;
        const struct resolved_rule *rule;
        struct nsrun_error *err;
};

static int judge_link(void *data, const char *link) {
        const struct link_look *look = data;
        const struct trust *trust = look->trust;
        enum reach reach = REACH_NOBODY;
        int r;

        r = reach_of_link(link, look->rule->source, trust->home, trust->known, &reach);
        if (is_planted(trust->writable, link, look->rule))
                reach = REACH_NOW;
        if (r < 0 || reach == REACH_NOBODY)
                return r;
        return reach_refuse(reach, look->rule->option, link, look->rule->source, look->err);
}

int refuse_untrusted_link(const struct trust *trust, const struct resolved_rule *rule,
                          struct nsrun_error *err) {
        struct link_look look = {.trust = trust, .rule = rule, .err = err};
        int r = reach_each_link(rule->spelled, rule->source, judge_link, &look);

        return r == -EAGAIN   ? reach_refuse_changed(rule->option, rule->spelled, err)
               : r == -ENOMEM ? error_oom(err)
                              : r;
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
        /* Beneath a writable folder, but for that of --tmp, a rule can keep it. */
        if (below && *below && source != s->tmp.source)
                (void)snprintf(
                        hint, sizeof(hint),
                        "make the folder and keep it as it is: mkdir -p %s, and --ro for it; a config.json in "
                        "it also takes --no-config, or a --config elsewhere",
                        visible);
        else
                (void)snprintf(hint, sizeof(hint), "name a folder that neither holds nor lies in %s",
                               visible);
        return policy_refuse(err, source, hint,
                             "%s would let a command write the configuration of later runs", option);
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

int refuse_changeable(const struct trust *trust, const struct resolved_rule *file, const char *what,
                      struct nsrun_error *err) {
        static const char hint[] = "keep it outside of what a command may write";

        STRV_FOREACH (root, trust->writable)
                if (path_is_beneath(file->source, *root))
                        return policy_refuse(err, file->source, hint,
                                             "%s lies in a writable folder, where a command could change it",
                                             what);
        if (!(trust->kept && streq(trust->kept, file->source)) &&
            exposed_is_known(trust->known, file->source))
                return policy_refuse(
                        err, file->source, hint,
                        "%s lies in a folder that an earlier run could write, where a command could "
                        "change it",
                        what);
        return streq(file->spelled, file->source) ? 0 : refuse_untrusted_link(trust, file, err);
}

static int refuse_config_file(const struct nsrun_policy *p, const struct trust *trust,
                              struct nsrun_error *err) {
        const struct resolved_rule file = {.access = POLICY_RO,
                                           .option = "the configuration",
                                           .source = p->config,
                                           .spelled = p->config_spelled};
        _cleanup_free_ char *own = NULL, *kept = NULL;
        struct trust with_own = *trust;

        if (!p->config)
                return 0;
        /* refuse_config_folders() keeps the usual one from every command. */
        if (config_find_user_file(p, &own) < 0 || (own && path_canonical_to_be(own, &kept) < 0))
                return error_oom(err);
        with_own.kept = kept;
        return refuse_changeable(&with_own, &file, file.option, err);
}

int refuse_config(const struct resolved *s, struct nsrun_error *err) {
        const struct trust trust = resolved_trust(s);
        int r = refuse_config_file(s->policy, &trust, err);

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
                r = project_find(cwd, home, &project);
        return r < 0 ? r : add_root(writable, home, project);
}

/* Lists the folders that a command of this policy could write to in a run with a sandbox. */
static int list_roots(const struct nsrun_policy *p, const char *home, char ***writable) {
        char *const *inherited = environment_inherited(p);
        _cleanup_free_ char *instance = NULL;
        struct nsrun_error ignored = {0};
        int r = 0;

        if (instance_find_root(p->instance, inherited, home, &instance, NULL, &ignored) >= 0)
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
        _cleanup_free_ char *home = NULL;
        _cleanup_strv_ char **writable = NULL;
        _cleanup_exposed_ struct exposed known = {0};
        struct trust trust;

        if (policy_find_home(environment_get(environment_inherited(p), "HOME"), &home) < 0 ||
            list_roots(p, home, &writable) < 0 || exposed_read(&known) < 0)
                return error_oom(err);
        trust = (struct trust){.writable = writable, .home = home, .known = &known};
        return refuse_config_file(p, &trust, err);
}
