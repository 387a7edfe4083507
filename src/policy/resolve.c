/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From what was asked to what it means here and now, step by step.  rules.c resolves one rule, and
 * decides which of two for one target stays. */
#include <sys/stat.h>

#include "agents.h"
#include "base/path.h"
#include "config.h"
#include "environment.h"
#include "git.h"
#include "grants.h"
#include "hide.h"
#include "host/engine_sockets.h"
#include "host/project.h"
#include "host/user.h"
#include "host/userns.h"
#include "instance_profile.h"
#include "learn_view.h"
#include "limits.h"
#include "net/proxy.h"
#include "network.h"
#include "overlay_backing.h"
#include "protect.h"
#include "refuse.h"
#include "seccomp/load.h"
#include "tool_settings.h"
#include "toolchains.h"

void resolved_shown_clear(struct resolved_shown *shown) {
        free(shown->source);
        free(shown->target);
        free(shown->text);
        *shown = (struct resolved_shown){.source = NULL};
}

void resolved_clear(struct resolved *s) {
        for (size_t i = 0; i < s->n_rules; i++)
                resolved_rule_clear(&s->rules[i]);
        free(s->rules);
        for (size_t i = 0; i < s->n_links; i++)
                policy_clear_link(&s->links[i]);
        free(s->links);
        for (size_t i = 0; i < s->n_tmpfs; i++)
                free(s->tmpfs[i].path);
        free(s->tmpfs);
        resolved_rule_clear(&s->tmp);
        free(s->plain);
        free(s->cwd);
        strv_free(s->sockets);
        free(s->home);
        free(s->project);
        strv_free(s->writable);
        for (size_t i = 0; i < s->n_toolchains; i++)
                resolved_toolchain_clear(&s->toolchains[i]);
        free(s->toolchains);
        strv_free(s->unseen);
        exposed_clear(&s->known);
        strv_free(s->exposes);
        for (size_t i = 0; i < s->n_shown; i++)
                resolved_shown_clear(&s->shown[i]);
        free(s->shown);
        strv_free(s->granted);
        strv_free(s->gives);
        free(s->ssh_agent);
        strv_free(s->dbus);
        free(s->browser);
        free(s->programs_first);
        free(s->wayland);
        strv_free(s->agent_folders);
        strv_free(s->network);
        net_proxy_forget(&s->via);
        free(s->seccomp);
        variables_clear(&s->env);
        strv_free(s->left_out);
        strv_free(s->secrets);
        strv_free(s->identity);
        free(s->git_settings);
        free(s->git_ignores);
        for (size_t i = 0; i < s->n_settings; i++) {
                free(s->settings[i].path);
                free(s->settings[i].text);
        }
        free(s->settings);
        strv_free(s->ephemeral);
        strv_free(s->reserved);
        for (size_t i = 0; i < s->n_hidden; i++)
                free(s->hidden[i].path);
        free(s->hidden);
        strv_free(s->protected);
        strv_free(s->present);
        strv_free(s->git_dirs);
        strv_free(s->git_links);
        free(s->git_dir);
        free(s->git_common_dir);
        free(s->instance_root);
        free(s->instance_workspace);
        strv_free(s->instance_env);
        *s = (struct resolved){0};
}

/* Whether the sandbox can't have a tmpfs at `home`, since it would hide system folders or nsrun's
 * own. */
static bool home_is_unusable(const char *home) {
        static const char *const roots[] = {"/usr", "/etc", "/sys", "/bin", "/sbin"};

        if (streq(home, "/") || streq(home, "/opt") || streq(home, "/tmp") || startswith(home, "/lib") ||
            refuse_is_own(home))
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
                if (path_is_beneath(home, roots[i]))
                        return true;
        return false;
}

int policy_find_home(const char *named, char **ret) {
        _cleanup_free_ char *home = NULL;

        if (user_find_home(named, &home) < 0)
                return -ENOMEM;
        /* In /opt, which is shown as it is, nothing is made for one that isn't there. */
        if (home && path_is_beneath(home, "/opt") && access(home, F_OK) < 0)
                return 0;
        *ret = home && !home_is_unusable(home) ? TAKE_PTR(home) : NULL;
        return 0;
}

static bool is_instance(const struct nsrun_policy *p) {
        return p->profile == POLICY_PROFILE_INSTANCE;
}

static int project_error(const struct nsrun_policy *p, int r, const char *path, struct nsrun_error *err) {
        static const char hint[] = "choose a folder with --project DIR, or use --no-project";
        _cleanup_free_ char *mode_fix = path ? refuse_closed_fix(r, path) : NULL,
                            *fix = mode_fix ? str_concat(mode_fix, "; or ", hint) : NULL;

        return error_set(err, NSRUN_STAGE_POLICY, r, path,
                         p->project ? "the project can't be opened" : "the current folder can't be opened",
                         fix ? fix : hint);
}

/* Finds the folder that was the project of the working directory before, below the one that is it now:
 * its .git is gone.  1: there is one, *ret; 0: there is none; -ENOMEM. */
static int find_former_project(const struct resolved *s, char **ret) {
        _cleanup_free_ char *at = s->cwd ? strdup(s->cwd) : NULL;

        while (at && !streq(at, s->project) && path_is_beneath(at, s->project)) {
                char *parent;

                if (exposed_was_project(&s->known, at)) {
                        *ret = TAKE_PTR(at);
                        return 1;
                }
                parent = path_parent(at);
                free(at);
                at = parent;
        }
        return at || !s->cwd ? 0 : -ENOMEM;
}

/* Refuses a project that was found by looking upwards, and is wider than the one before: a command that
 * removes the .git of its project would have the next one write to the repository around it. */
static int refuse_wider_project(const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *former = NULL, *wide = str_visible(s->project), *narrow = NULL;
        char hint[sizeof(err->hint)];
        int r;

        if (s->known.state == EXPOSED_UNKNOWN && !streq(s->cwd, s->project))
                return policy_refuse(
                        err, s->project, "name it with --project, or remove the file",
                        "which project this folder had before can't be known: nsrun's file of earlier "
                        "runs ($XDG_STATE_HOME/nsrun/exposed) is damaged");
        r = find_former_project(s, &former);
        if (r == 0)
                return 0;
        narrow = r < 0 ? NULL : str_visible(former);
        if (!narrow || !wide)
                return error_oom(err);
        (void)snprintf(hint, sizeof(hint),
                       "a command may have removed it: --project %s goes on with that folder, --project %s "
                       "takes the one around it",
                       narrow, wide);
        return policy_refuse(err, former, hint, "the project of earlier runs has no .git any more");
}

int resolve_project(struct resolved *s, struct nsrun_error *err) {
        static const char hint[] = "choose a folder with --project DIR, or use --no-project";
        const struct nsrun_policy *p = s->policy;
        const char *reason;
        unsigned mode = 0;
        int r;

        if (p->no_project)
                return 0;
        if (p->project)
                r = path_canonical(p->project, &s->project, &mode);
        else if (is_instance(p))
                r = instance_find_start(s, &s->project);
        else
                r = s->cwd ? project_find(s->cwd, s->home, &s->project) : -ENOENT;
        if (r < 0)
                return project_error(p, r, p->project ? p->project : s->cwd, err);
        r = p->project || is_instance(p) || s->plain ? 0 : refuse_wider_project(s, err);
        if (r < 0)
                return r;
        if (p->project && (mode & S_IFMT) != S_IFDIR)
                return project_error(p, -ENOTDIR, p->project, err);
        reason = s->plain && (p->allows_all || !p->no_sandbox) ? NULL : project_denied(s->project, s->home);
        if (reason)
                return policy_refuse(err, s->project, hint, "%s can't be %s", reason,
                                     is_instance(p) ? "the working directory" : "the project");
        return 0;
}

/* The configuration's sections were chosen for one project: for another they would be the wrong ones. */
static int refuse_other_project(const struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        const char *then = p->config_project, *now = s->project;

        if (!p->has_project_sections || is_instance(p) || (!then && !now) ||
            (then && now && streq(then, now)))
                return 0;
        return policy_refuse(err, now ? now : then, "say which one before the configuration is read",
                             "another project than the configuration was read for");
}

static int add_project_rule(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        const struct rule_request request = {
                .access = POLICY_RW,
                .origin = POLICY_BY_DEFAULT,
                .giver = PLAN_BY_PROJECT,
                .option = p->project       ? "--project"
                          : is_instance(p) ? "the working directory"
                                           : "the project",
                .source = s->project,
                .spelled = p->project,
        };

        return s->project ? resolve_rule(s, &request, err) : 0;
}

/* Decides what is /tmp inside.  A session whose policy doesn't say gets a scratch folder: its
 * commands share more in /tmp than fits into memory. */
static int resolve_tmp(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        struct resolved_rule *rule = &s->tmp;
        unsigned mode = 0;
        int r;

        s->has_scratch =
                p->tmp_kind == POLICY_TMP_SCRATCH || (p->tmp_kind == POLICY_TMP_UNSAID && s->is_session);
        if (p->tmp_kind != POLICY_TMP_FOLDER)
                return 0;
        *rule = (struct resolved_rule){.access = POLICY_RW, .option = "--tmp"};
        r = path_canonical(p->tmp, &rule->source, &mode);
        if (r == 0 && (mode & S_IFMT) != S_IFDIR)
                r = -ENOTDIR;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, p->tmp, "the folder of --tmp can't be opened",
                                 "create it first, or use --tmp=tmpfs");
        if (!streq(p->tmp, rule->source) && !(rule->spelled = resolve_spelling(s, p->tmp)))
                return error_oom(err);
        r = refuse_source(rule, s->sockets, err);
        return r < 0 ? r : refuse_secrets(rule, s->home, err);
}

/* Shows the folder of --tmp at its own path, too, so that a name in it that a program prints means
 * the same on both sides.  An explicit rule for that path wins. */
static int add_tmp_rule(struct resolved *s, struct nsrun_error *err) {
        const struct rule_request request = {
                .access = POLICY_RW,
                .origin = POLICY_BY_DEFAULT,
                .giver = PLAN_BY_WRITABLE,
                .option = s->tmp.option,
                .source = s->tmp.source,
                .spelled = s->tmp.spelled,
        };

        return s->tmp.source ? resolve_rule(s, &request, err) : 0;
}

/* The source of a rule for a path in the project; *ret stays NULL where it is to be left out. */
static int find_in_project(const struct resolved *s, const struct policy_rule *rule, char **ret,
                           struct nsrun_error *err) {
        if (!s->project && rule->is_optional)
                return 0;
        if (!s->project)
                return policy_refuse(err, rule->source, "make it {\"path\": ..., \"optional\": true}",
                                     "there is no project for what is relative to it (%s)", rule->option);
        *ret = path_join(s->project, rule->source);
        return *ret ? 0 : error_oom(err);
}

static int add_asked_rules(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int r = 0;

        for (size_t i = 0; i < p->n_rules && r >= 0; i++) {
                const struct policy_rule *rule = &p->rules[i];
                _cleanup_free_ char *in_project = NULL;
                struct rule_request request = {
                        .access = rule->access,
                        .origin = rule->origin,
                        .option = rule->option,
                        .source = rule->source,
                        .target = rule->target,
                        .is_optional = rule->is_optional,
                        .rank = rule->rank,
                };

                if (rule->of_project) {
                        r = find_in_project(s, rule, &in_project, err);
                        if (r >= 0 && !in_project)
                                continue;
                        request.source = in_project;
                }
                if (r >= 0)
                        r = resolve_rule(s, &request, err);
        }
        return r;
}

/* A sandbox of nsrun's that covers parts of its /proc lets nobody inside mount a new one.  A sandbox inside
 * can have one where nothing is covered (mount_too_revealing()), which is so for the filter that is meant
 * for such sandboxes and a user who can't write there: then what a cover would forbid is forbidden by the
 * files' modes, in every namespace that can be made inside. */
static void resolve_proc(struct resolved *s) {
        const struct nsrun_policy *p = s->policy;
        const char *seccomp = agent_seccomp(p);
        const struct seccomp_shipped *shipped = seccomp ? seccomp_find_shipped(seccomp, NULL) : NULL;

        s->proc = p->proc != POLICY_PROC_UNSAID ? p->proc
                  : userns_is_nsruns()          ? POLICY_PROC_AUTO
                                                : POLICY_PROC_NEW;
        s->has_whole_proc = shipped && streq(shipped->name, "nested") && s->inner_uid == s->uid &&
                            s->inner_gid == s->gid && userns_has_ordinary_user();
}

/* Adds what shows nothing of the host's. */
static int add_links(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int r = 0;

        for (size_t i = 0; i < p->n_links && r >= 0; i++)
                r = resolve_link(s, p->links[i].text, p->links[i].path, err);
        for (size_t i = 0; i < p->n_tmpfs && r >= 0; i++)
                r = resolve_tmpfs(s, &p->tmpfs[i], err);
        return r;
}

static int add_rules(struct resolved *s, struct nsrun_error *err) {
        bool has_instance = is_instance(s->policy);
        int r;

        r = add_asked_rules(s, err);
        /* Before the project's, which may be the same: just this rule knows how the workspace was spelled.
         */
        if (r >= 0 && has_instance)
                r = instance_add_rules(s, err);
        if (r >= 0)
                r = add_project_rule(s, err);
        if (r >= 0)
                r = agent_add_rules(s, err);
        if (r >= 0)
                r = add_tmp_rule(s, err);
        if (r >= 0 && !has_instance && !s->policy->has_workspace)
                r = git_add_rules(s, err);
        if (r >= 0)
                r = toolchain_rules_add(s, err);
        if (r >= 0)
                r = wide_add_rules(s, err);
        if (r >= 0 && has_instance)
                r = instance_add_command(s, err);
        return r < 0 ? r : add_links(s, err);
}

/* Fills s->writable.  The project is in it even if it is read-only now: an earlier run may have
 * been able to write to it. */
static int list_writable(struct resolved *s) {
        int r = s->project ? strv_add(&s->writable, s->project) : 0;

        if (r >= 0 && s->tmp.source)
                r = strv_add(&s->writable, s->tmp.source);
        for (size_t i = 0; i < s->n_rules && r >= 0; i++)
                if (s->rules[i].access == POLICY_RW)
                        r = strv_add(&s->writable, s->rules[i].source);
        return r;
}

/* Adds a line "LETTER PATH" to what this run exposes. */
static int add_exposed(struct resolved *s, char letter, const char *path) {
        char *line = NULL;

        return asprintf(&line, "%c %s", letter, path) < 0 ? -ENOMEM : strv_consume(&s->exposes, line);
}

/* Adds what is to be remembered of the project: it is one because of its .git; or the user named one
 * around those that the working directory had before, which count no more. */
static int add_exposed_projects(struct resolved *s) {
        _cleanup_free_ char *former = NULL;
        int r;

        if (!s->project || is_instance(s->policy))
                return 0;
        if (!s->policy->project)
                return !project_has_git(s->project) || exposed_was_project(&s->known, s->project)
                               ? 0
                               : add_exposed(s, 'p', s->project);
        r = find_former_project(s, &former);
        if (r > 0 && !project_has_git(former))
                r = add_exposed(s, 'n', former);
        return r < 0 ? r : 0;
}

/* Fills s->exposes: folders that this run lets a command write, and a session's overlays that the user
 * asked for, which a commit writes. */
static int list_exposes(struct resolved *s) {
        int r = add_exposed_projects(s);

        if (r >= 0 && s->tmp.source && !exposed_is_known(&s->known, s->tmp.source))
                r = add_exposed(s, 'w', s->tmp.source);
        for (size_t i = 0; i < s->n_rules && r >= 0; i++) {
                const struct resolved_rule *rule = &s->rules[i];
                bool is_committed = s->is_session && rule->access == POLICY_OVERLAY &&
                                    rule->origin != POLICY_BY_TOOLCHAINS;

                if (rule->is_directory && (rule->access == POLICY_RW || is_committed) &&
                    !exposed_is_known(&s->known, rule->source))
                        r = add_exposed(s, 'w', rule->source);
        }
        return r;
}

static int refuse_all_untrusted_links(const struct resolved *s, struct nsrun_error *err) {
        const struct trust trust = resolved_trust(s);
        int r = s->tmp.spelled ? refuse_untrusted_link(&trust, &s->tmp, err) : 0;

        for (size_t i = 0; i < s->n_rules && r >= 0; i++)
                if (s->rules[i].spelled)
                        r = refuse_untrusted_link(&trust, &s->rules[i], err);
        return r;
}

/* Refuses --tmp=FOLDER for a project below /tmp: no mount point can be made in a folder of the
 * host, so that the project would be hidden.  An explicit rule for the project says that FOLDER has
 * that mount point. */
static int refuse_hidden_project(const struct resolved *s, struct nsrun_error *err) {
        if (!s->tmp.source || !s->project || !path_is_beneath(s->project, "/tmp"))
                return 0;
        for (size_t i = 0; i < s->n_rules; i++)
                if (!policy_is_default(s->rules[i].origin) && streq(s->rules[i].target, s->project))
                        return 0;
        return policy_refuse(err, s->project, "choose a project elsewhere, or use --tmp=scratch",
                             "the project would be hidden by the folder of --tmp");
}

static bool is_protected_at(const struct resolved *s, const char *source, const char *target) {
        for (size_t i = 0; i < s->n_rules; i++) {
                const struct resolved_rule *rule = &s->rules[i];

                if (rule->access != POLICY_RW && streq(rule->source, source) && streq(rule->target, target))
                        return true;
        }
        return false;
}

/* Refuses a --tmp=FOLDER around something that a rule protects: the rule protects it at its own
 * path, and at /tmp a command could write it. */
static int refuse_tmp_around(const struct resolved *s, struct nsrun_error *err) {
        for (size_t i = 0; s->tmp.source && i < s->n_rules; i++) {
                const struct resolved_rule *rule = &s->rules[i];
                const char *below = path_below(rule->source, s->tmp.source);
                _cleanup_free_ char *other = NULL;

                if (rule->access == POLICY_RW || !below || !*below || !streq(rule->target, rule->source))
                        continue;
                other = path_join("/tmp", below);
                if (!other)
                        return error_oom(err);
                if (!is_protected_at(s, rule->source, other))
                        return policy_refuse(
                                err, rule->source, "choose another folder for --tmp, or use --tmp=scratch",
                                "what %s protects could be written by way of /tmp", rule->option);
        }
        return 0;
}

static int refuse_profile(const struct nsrun_policy *p, struct nsrun_error *err) {
        if (config_refuse_profile(p, err) < 0)
                return -EINVAL;
        if (is_instance(p) && p->protects_strictly)
                return policy_refuse(
                        err, NULL, "leave one of the two out",
                        "the instance profile protects no names: --protect=strict can't be had with it");
        if (!is_instance(p)) {
                if (p->instance)
                        return policy_refuse(err, p->instance, "add --profile=instance",
                                             "--instance is of no use without its profile");
                /* A configuration may name one for those who use the profile. */
                if (strv_contains(p->given, "instance-workspace"))
                        return policy_refuse(err, p->instance_workspace, "add --profile=instance",
                                             "--instance-workspace is of no use without its profile");
                return 0;
        }
        if (policy_is_plain(p))
                return policy_refuse(err, NULL, "nsrun run would run the command with no sandbox at all",
                                     "isolation is disabled (%s)", p->isolation_label);
        return 0;
}

/* Refuses what can be judged without a look at the host. */
static int refuse_request(const struct resolved *s, const struct policy_request *request,
                          struct nsrun_error *err) {
        if (!s->is_session && !request->is_shown && (!s->argv || !s->argv[0]))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, "no command", NULL);
        if (s->policy->session)
                return policy_resolve_session(s->policy, err);
        if (s->policy->kills_leftovers)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                 "--kill-leftovers is for commands in a session",
                                 "name one with --session; without, all ends with the command");
        return s->policy->no_sandbox || request->is_plain ? 0 : refuse_profile(s->policy, err);
}

/* Refuses what can be judged only when all rules are known. */
static int refuse_all(struct resolved *s, struct nsrun_error *err) {
        int r;

        r = network_resolve(s, err);
        if (r >= 0)
                r = refuse_hidden_project(s, err);
        if (r >= 0)
                r = refuse_tmp_around(s, err);
        if (r >= 0)
                r = refuse_all_untrusted_links(s, err);
        if (r >= 0)
                r = refuse_rundirs(s, err);
        if (r >= 0)
                r = refuse_hardening(s, err);
        if (r >= 0)
                r = refuse_records(s, err);
        if (r >= 0)
                r = refuse_limits(s->policy, err);
        return r < 0 ? r : refuse_config(s, err);
}

/* Makes the instance's home the command's.  Until now s->home was the user's, whose secrets the
 * rules must not expose. */
static int move_home(struct resolved *s, struct nsrun_error *err) {
        free(s->home);
        s->home = path_join(s->instance_root, INSTANCE_HOME);
        return s->home && instance_environment(s->instance_root, &s->instance_env) >= 0 ? 0 : error_oom(err);
}

int policy_resolve(const struct policy_request *request, struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = request->policy;
        char *const *inherited = environment_inherited(p);
        int r;

        *s = (struct resolved){
                .policy = p,
                .argv = request->is_session ? NULL
                        : request->argv     ? request->argv
                                            : p->argv,
                .unset = request->unset,
                .usual = request->usual,
                .is_session = request->is_session,
                .terminal = request->terminal,
                .starts_here = request->starts_here,
                .uid = geteuid(),
                .gid = getegid(),
                .inner_uid = p->uid == POLICY_SAME_ID ? geteuid() : (uid_t)p->uid,
                .inner_gid = p->gid == POLICY_SAME_ID ? getegid() : (gid_t)p->gid,
        };
        r = refuse_request(s, request, err);
        if (r < 0)
                return r;
        s->cwd = getcwd(NULL, 0);
        if (p->session)
                return 0;
        if (p->no_sandbox || request->is_plain)
                return policy_resolve_plain(s, err);
        if (exposed_read(&s->known) < 0 ||
            policy_find_home(environment_get(inherited, "HOME"), &s->home) < 0 ||
            sockets_list(inherited, s->home, &s->sockets) < 0)
                return error_oom(err);
        resolve_proc(s);
        r = is_instance(p) ? instance_find_workspace(s, err) : 0;
        if (r >= 0)
                r = resolve_project(s, err);
        if (r >= 0)
                r = refuse_other_project(s, err);
        if (r >= 0)
                r = resolve_tmp(s, err);
        if (r >= 0)
                r = add_rules(s, err);
        if (r >= 0)
                r = resolve_conflicts(s, err);
        if (r >= 0 && !is_instance(p))
                r = protect_add_rules(s, err);
        if (r >= 0)
                r = hide_names(s, err);
        if (r >= 0 && (list_writable(s) < 0 || list_exposes(s) < 0))
                r = error_oom(err);
        if (r >= 0)
                r = toolchain_rules_distrust(s, err);
        if (r >= 0)
                resolve_backing(s);
        if (r >= 0)
                r = refuse_all(s, err);
        if (r >= 0)
                r = grants_resolve(s, err);
        if (r >= 0)
                r = is_instance(p) ? move_home(s, err) : git_find_identity(s, err);
        if (r >= 0)
                agent_choose_key(s);
        if (r >= 0)
                r = environment_resolve(s, err);
        if (r >= 0 && !is_instance(p))
                r = settings_resolve(s, err);
        return r < 0 || is_instance(p) ? r : toolchain_rules_find_unseen(s, err);
}
