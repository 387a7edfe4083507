/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals that keep configurations from what commands may write. */
#include "refuse_config.h"

#include "base/path.h"
#include "base/responds.h"
#include "host/project.h"
#include "instance_folders.h"
#include "policy/config.h"
#include "policy/withheld.h"
#include "project.h"
#include "rules/rules.h"

/* Refuses a writable folder if the configuration's `folder` lies in it or around it: what a command wrote
 * there a later run would obey, in any project. */
static int refuse_config_root(const struct resolved *s, const struct resolved_rule *rule, const void *folder,
                              struct nsrun_error *err) {
        const char *below = path_below(folder, rule->source);
        bool is_tmp = rule == &s->files.tmp;
        _cleanup_free_ char *place = NULL, *visible = NULL, *word = NULL;
        char hint[sizeof(err->hint)];
        struct stat st;

        if (rule->access != POLICY_RW || (!below && !path_is_beneath(rule->source, folder)))
                return 0;
        if (below) {
                place = path_join(is_tmp ? "/tmp" : rule->target, *below ? below : ".");
                if (!place)
                        return error_oom(err);
                if (rules_keep(s, folder, place))
                        return 0;
        }
        visible = str_visible(folder);
        word = str_shell_quote(folder);
        if (!visible || !word)
                return error_oom(err);
        /* Beneath a writable folder, but for that of --tmp, a rule can keep it. */
        if (below && *below && !is_tmp && stat(folder, &st) == 0 && S_ISREG(st.st_mode))
                (void)snprintf(hint, sizeof(hint), "keep it as it is: --ro %s", word);
        else if (below && *below && !is_tmp)
                (void)snprintf(
                        hint, sizeof(hint),
                        "make the folder and keep it as it is: mkdir -p %s, and --ro for it; a config.json in "
                        "it also takes --no-config, or a --config elsewhere",
                        word);
        else
                (void)snprintf(hint, sizeof(hint), "name a folder that neither holds nor lies in %s",
                               visible);
        return policy_refuse(err, rule->source, hint,
                             "%s would let a command write the configuration of later runs", rule->option);
}

static int refuse_config_folders(const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *file = NULL, *parent = NULL, *folder = NULL, *place = NULL;
        int r = rules_judge(s, refuse_config_root, "/etc/nsrun", err);

        if (r < 0)
                return r;
        if (config_find_user_file(s->policy, &file) < 0)
                return error_oom(err);
        if (!file)
                return 0;
        parent = path_parent(file);
        r = parent ? path_canonical(parent, &folder, NULL) : -ENOMEM;
        /* It may be a link that leads elsewhere; where there is no folder there is none in it. */
        if (r >= 0)
                r = path_canonical_to_be(file, &place);
        else if (r != -ENOMEM && r != -ETIMEDOUT)
                r = path_canonical_to_be(parent, &folder);
        if (r < 0)
                return responds_fail(r, NULL, err);
        r = rules_judge(s, refuse_config_root, folder, err);
        return r < 0 || !place || path_is_beneath(place, folder)
                       ? r
                       : rules_judge(s, refuse_config_root, place, err);
}

static int refuse_config_file(const struct nsrun_policy *p, const struct trust *trust,
                              struct nsrun_error *err) {
        const struct resolved_rule file = {.access = POLICY_RO,
                                           .option = "the configuration",
                                           .source = p->config,
                                           .spelled = p->config_spelled};
        bool is_usual = trust->home && !environment_get(environment_inherited(p), "XDG_CONFIG_HOME");
        _cleanup_free_ char *kept = is_usual ? path_join(trust->home, ".config/nsrun/config.json") : NULL;
        struct trust with_own = *trust;

        if (!p->config)
                return 0;
        if (is_usual && !kept)
                return error_oom(err);
        /* refuse_config_folders() has kept that one from every command.  Not so what a link there leads to,
         * or a variable, which may be newer than what a command wrote. */
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
        const char *named = environment_get(environment_inherited(p), "HOME");
        _cleanup_free_ char *home = NULL;
        _cleanup_strv_ char **writable = NULL;
        _cleanup_exposed_ struct exposed known = {0};
        struct trust trust;
        int r;

        r = policy_find_home(named, &home, NULL);
        if (r >= 0)
                r = list_roots(p, home, &writable);
        if (r >= 0)
                r = exposed_read(&known);
        if (r < 0)
                return responds_fail(r, named, err);
        trust = (struct trust){.writable = writable, .home = home, .known = &known};
        return refuse_config_file(p, &trust, err);
}
