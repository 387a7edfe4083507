/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From what was asked to what it means here and now, step by step.  rules.c resolves one rule, and
 * decides which of two for one target stays. */
#include "resolve.h"

#include <fcntl.h>

#include "base/causes.h"
#include "base/path.h"
#include "base/programs.h"
#include "base/responds.h"
#include "disk/homes.h"
#include "disk/records.h"
#include "environment.h"
#include "grants/grants.h"
#include "hardening.h"
#include "host/engine_sockets.h"
#include "host/project.h"
#include "host/userns.h"
#include "instance_folders.h"
#include "network.h"
#include "no_sandbox.h"
#include "policy/agents.h"
#include "policy/config.h"
#include "policy/limits.h"
#include "policy/withheld.h"
#include "project.h"
#include "protect/hide.h"
#include "protect/learn_view.h"
#include "protect/protect.h"
#include "protect/protect_git.h"
#include "refuse_config.h"
#include "rules/home_secrets.h"
#include "rules/own_folders.h"
#include "rules/rules.h"
#include "seccomp/load.h"
#include "steps.h"

static int add_project_rule(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        const struct rule_request request = {
                .access = POLICY_RW,
                .origin = POLICY_BY_DEFAULT,
                .giver = PLAN_BY_PROJECT,
                .option = p->project              ? "--project"
                          : policy_is_instance(p) ? "the working directory"
                                                  : "the project",
                .source = s->project,
                .is_canonical = true,
                .spelled = p->project,
        };

        return s->project ? resolve_rule(s, &request, err) : 0;
}

/* Decides what is /tmp inside.  A session whose policy doesn't say gets a scratch folder: its
 * commands share more in /tmp than fits into memory. */
static int resolve_tmp(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        struct resolved_rule *rule = &s->files.tmp;
        unsigned mode = 0;
        int r;

        s->files.has_scratch =
                p->tmp_kind == POLICY_TMP_SCRATCH || (p->tmp_kind == POLICY_TMP_UNSAID && s->is_session);
        if (p->tmp_kind != POLICY_TMP_FOLDER)
                return 0;
        *rule = (struct resolved_rule){.access = POLICY_RW, .option = "--tmp"};
        r = path_canonical(p->tmp, &rule->source, &mode);
        if (r == 0 && (mode & S_IFMT) != S_IFDIR)
                r = -ENOTDIR;
        if (r < 0)
                return error_looked_at(err, NSRUN_STAGE_POLICY, r, p->tmp,
                                       "the folder of --tmp can't be opened",
                                       "create it first, or use --tmp=tmpfs");
        if (!streq(p->tmp, rule->source) && !(rule->spelled = resolve_spelling(s, p->tmp)))
                return error_oom(err);
        r = refuse_source(rule, s->sockets, err);
        return r < 0 ? r : refuse_secrets(rule, s->guarded, err);
}

/* Shows the folder of --tmp at its own path, too, so that a name in it that a program prints means
 * the same on both sides.  An explicit rule for that path wins. */
static int add_tmp_rule(struct resolved *s, struct nsrun_error *err) {
        const struct rule_request request = {
                .access = POLICY_RW,
                .origin = POLICY_BY_DEFAULT,
                .giver = PLAN_BY_WRITABLE,
                .option = s->files.tmp.option,
                .source = s->files.tmp.source,
                .spelled = s->files.tmp.spelled,
        };

        return s->files.tmp.source ? resolve_rule(s, &request, err) : 0;
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

/* HOME is a folder of the host's, which the run makes where it is missing. */
static int add_home_rule(struct resolved *s, struct nsrun_error *err) {
        const char *asked = s->policy->own_home, *name = asked ? startswith(asked, "name:") : NULL,
                   *data = environment_get(environment_inherited(s->policy), "XDG_DATA_HOME");
        struct rule_request request = {.access = POLICY_RW,
                                       .origin = POLICY_BY_OPTION,
                                       .giver = PLAN_BY_WRITABLE,
                                       .option = "--home",
                                       .source = asked,
                                       .target = s->home,
                                       .is_to_be_made = true};
        _cleanup_free_ char *own = NULL;
        int r;

        if (!asked)
                return 0;
        if (!s->home || policy_is_instance(s->policy))
                return policy_refuse(
                        err, NULL, "leave it out",
                        s->home ? "an instance has a home of its own (--home)"
                                : "the user has no home that a folder could stand for (--home)");
        if (name && !home_is_name(name))
                return policy_refuse(err, name, "choose letters and digits", "not a home's name (--home)");
        own = name     ? named_home_path(s->home, data, name)
              : s->cwd ? resolve_spelling(s, asked)
                       : strdup(asked);
        if (!own)
                return error_oom(err);
        /* Maybe the other kind was meant. */
        if (!name && !strchr(asked, '/') && home_is_name(asked) && access(own, F_OK) < 0)
                return policy_refuse(err, asked, "name:NAME is a home of nsrun's, ./NAME a new folder here",
                                     "there is no such folder (--home)");
        request.source = own;
        r = resolve_rule(s, &request, err);
        if (r < 0)
                return r;
        s->files.own_home = s->files.rules[s->files.n_rules - 1].source;
        return s->project && path_is_beneath(s->project, s->files.own_home)
                       ? policy_refuse(err, s->project, "choose another folder",
                                       "the project is in the folder of --home")
                       : 0;
}

/* Whether a policy is the one for sandboxes in sandboxes, with calls more or less or without. */
static bool is_for_nesting(const char *seccomp) {
        const struct seccomp_shipped *shipped = seccomp ? seccomp_find_shipped(seccomp, NULL) : NULL;

        return shipped && streq(shipped->name, "nested");
}

/* A sandbox of nsrun's that covers parts of its /proc lets nobody inside mount a new one.  A sandbox inside
 * can have one where nothing is covered (mount_too_revealing()), which is so for the filter that is meant
 * for such sandboxes and a user who can't write there: then what a cover would forbid is forbidden by the
 * files' modes, in every namespace that can be made inside. */
static void resolve_proc(struct resolved *s) {
        const struct nsrun_policy *p = s->policy;

        s->files.proc = p->proc != POLICY_PROC_UNSAID ? p->proc
                        : userns_is_nsruns()          ? POLICY_PROC_AUTO
                                                      : POLICY_PROC_NEW;
        s->files.has_whole_proc = is_for_nesting(agent_seccomp(p)) && s->inner_uid == s->uid &&
                                  s->inner_gid == s->gid && userns_has_ordinary_user();
}

/* Where a command may make namespaces nsrun-bwrap stands for bubblewrap.  That one ends without the cgroup
 * namespace of --unshare-all, which no command can have: where the user owns the cgroup that nsrun was
 * called in, it could freeze and kill by one what else is there.  A link leads to what is stood for; that of
 * nsrun-as-bwrap leads to nsrun-bwrap. */
static int add_nested_bwrap(struct resolved *s, struct nsrun_error *err) {
        static const char *const places[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap"};
        const char *seccomp = agent_seccomp(s->policy);
        _cleanup_free_ char *own = NULL;
        int r = 0;

        if (!is_for_nesting(seccomp) && !(seccomp && streq(seccomp, "none")))
                return 0;
        r = path_canonical(program_bwrap(), &own, NULL);
        if (r < 0)
                return r == -ENOMEM ? error_oom(err) : 0;
        for (size_t i = 0; i < ARRAY_SIZE(places) && r >= 0; i++) {
                _cleanup_free_ char *there = NULL;
                struct rule_request request = {.access = POLICY_RO,
                                               .origin = POLICY_BY_CONFIG,
                                               .giver = PLAN_BY_TABLE,
                                               .is_optional = true,
                                               .option = "--seccomp",
                                               .source = own};

                r = path_canonical(places[i], &there, NULL);
                if (r == -ENOMEM)
                        return error_oom(err);
                if (r < 0 || access(there, X_OK) < 0 || streq(there, own) || rules_find(s, there)) {
                        r = 0;
                        continue;
                }
                request.target = there;
                r = resolve_rule(s, &request, err);
        }
        return r;
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

/* Rules of the configuration may wait for a run that chooses --net=allow; that this one reaches what they
 * deny isn't left unsaid. */
static int tell_unheeded_denials(struct resolved *s, struct nsrun_error *err) {
        bool has_denials = false;

        STRV_FOREACH (line, s->policy->network_config)
                has_denials |= startswith(*line, "deny ") != NULL;
        return has_denials && s->policy->net == POLICY_NET_HOST &&
                               strv_add(&s->git.lacks, "what the configuration denies can be reached: the "
                                                       "network is the host's, and \"deny\" counts with "
                                                       "\"net\": \"allow\" alone") < 0
                       ? error_oom(err)
                       : 0;
}

static int list_writable(struct resolved *s, struct nsrun_error *err) {
        return rules_list_writable(s, &s->files.writable) < 0 ? error_oom(err) : 0;
}

/* Adds a line "LETTER PATH" to what this run exposes. */
static int add_exposed(struct resolved *s, char letter, const char *path) {
        return strv_consume(&s->files.exposes, str_format("%c %s", letter, path));
}

/* Adds what is to be remembered of the project: it is one because of its .git; or the user named one
 * around those that the working directory had before, which count no more. */
static int add_exposed_projects(struct resolved *s) {
        _cleanup_free_ char *former = NULL;
        int r;

        if (!s->project || policy_is_instance(s->policy))
                return 0;
        if (!s->policy->project)
                return exposed_was_project(&s->known, s->project) ||
                                       (!s->git.is_plain &&
                                        (s->git.has_none || !project_has_git(s->project)))
                               ? 0
                               : add_exposed(s, 'p', s->project);
        r = project_find_former(s, &former);
        if (r > 0 && !project_has_git(former))
                r = add_exposed(s, 'n', former);
        return r < 0 ? r : 0;
}

/* Fills s->files.exposes: folders that this run lets a command write, and a session's overlays that the user
 * asked for, which a commit writes. */
static int list_exposes(struct resolved *s, struct nsrun_error *err) {
        int r = add_exposed_projects(s);

        if (r >= 0 && s->files.tmp.source && !exposed_is_known(&s->known, s->files.tmp.source))
                r = add_exposed(s, 'w', s->files.tmp.source);
        for (size_t i = 0; i < s->files.n_rules && r >= 0; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];
                bool is_committed = s->is_session && rule->access == POLICY_OVERLAY &&
                                    rule->origin != POLICY_BY_TOOLCHAINS;

                if (rule->is_directory && (rule->access == POLICY_RW || is_committed) &&
                    !exposed_is_known(&s->known, rule->source))
                        r = add_exposed(s, 'w', rule->source);
        }
        return r < 0 ? error_oom(err) : 0;
}

static int refuse_link_of(nsrun_unused const struct resolved *s, const struct resolved_rule *rule,
                          const void *trust, struct nsrun_error *err) {
        return rule->spelled ? refuse_untrusted_link(trust, rule, err) : 0;
}

static int refuse_all_untrusted_links(const struct resolved *s, struct nsrun_error *err) {
        const struct trust trust = resolved_trust(s);

        return rules_judge(s, refuse_link_of, &trust, err);
}

/* Refuses --tmp=FOLDER for a project below /tmp: no mount point can be made in a folder of the
 * host, so that the project would be hidden.  An explicit rule for the project says that FOLDER has
 * that mount point. */
static int refuse_hidden_project(const struct resolved *s, struct nsrun_error *err) {
        if (!s->files.tmp.source || !s->project || !path_is_beneath(s->project, "/tmp"))
                return 0;
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (!policy_is_default(s->files.rules[i].origin) &&
                    streq(s->files.rules[i].target, s->project))
                        return 0;
        return policy_refuse(err, s->project, "choose a project elsewhere, or use --tmp=scratch",
                             "the project would be hidden by the folder of --tmp");
}

/* Refuses a --tmp=FOLDER around something that a rule protects: the rule protects it at its own
 * path, and at /tmp a command could write it. */
static int refuse_tmp_around(const struct resolved *s, struct nsrun_error *err) {
        for (size_t i = 0; s->files.tmp.source && i < s->files.n_rules; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];
                const char *below = path_below(rule->source, s->files.tmp.source);
                _cleanup_free_ char *other = NULL;

                if (rule->access == POLICY_RW || !below || !*below || !streq(rule->target, rule->source))
                        continue;
                other = path_join("/tmp", below);
                if (!other)
                        return error_oom(err);
                if (!rules_keep(s, rule->source, other))
                        return policy_refuse(
                                err, rule->source, "choose another folder for --tmp, or use --tmp=scratch",
                                "what %s protects could be written by way of /tmp", rule->option);
        }
        return 0;
}

static int refuse_profile(const struct nsrun_policy *p, struct nsrun_error *err) {
        if (config_refuse_profile(p, err) < 0)
                return -EINVAL;
        if (policy_is_instance(p) && p->protects_strictly)
                return policy_refuse(
                        err, NULL, "leave one of the two out",
                        "the instance profile protects no names: --protect=strict can't be had with it");
        if (!policy_is_instance(p)) {
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

/* Makes the instance's home the command's.  Until now s->home was the user's, whose secrets the
 * rules must not expose. */
static int move_home(struct resolved *s, struct nsrun_error *err) {
        free(s->home);
        free(TAKE_PTR(s->home_link));
        s->home = path_join(s->instance.root, INSTANCE_HOME);
        return s->home && instance_environment(s->instance.root, &s->instance.variables) >= 0
                       ? 0
                       : error_oom(err);
}

/* A step that fills one member, with a const view of the others. */
#define FILLS(member, function)                                                      \
        static int fill_by_##function(struct resolved *s, struct nsrun_error *err) { \
                return function(s, &s->member, err);                                 \
        }
FILLS(net, network_resolve)
FILLS(seccomp, hardening_resolve)
FILLS(grants, grants_resolve)
FILLS(git, git_find_identity)
FILLS(environment, environment_resolve)
FILLS(tools, settings_resolve)
FILLS(tools, toolchain_rules_find_unseen)

/* Which policies a step is for. */
enum step_for {
        FOR_ALL,
        FOR_CODE,
        FOR_INSTANCE
};

/* What is done one after the other; a step that only refuses has a const view. */
static const struct {
        int (*fill)(struct resolved *s, struct nsrun_error *err);
        int (*refuse)(const struct resolved *s, struct nsrun_error *err);
        enum step_for is_for;
} steps[] = {
        {.fill = instance_find_workspace, .is_for = FOR_INSTANCE},
        {.fill = resolve_project},
        {.refuse = project_refuse_other},
        {.fill = agent_homes_judge, .is_for = FOR_CODE},
        {.fill = resolve_tmp},

        {.fill = add_asked_rules},
        {.fill = add_home_rule},
        /* Before the project's, which may be the same: just this rule knows how the workspace was spelled.
         */
        {.fill = instance_add_rules, .is_for = FOR_INSTANCE},
        {.fill = add_project_rule},
        {.fill = agent_add_rules},
        {.fill = add_tmp_rule},
        {.fill = git_add_rules, .is_for = FOR_CODE},
        {.fill = toolchain_rules_add},
        {.fill = add_nested_bwrap, .is_for = FOR_CODE},
        {.fill = wide_add_rules},
        {.fill = instance_add_command, .is_for = FOR_INSTANCE},
        {.fill = add_links},
        {.fill = resolve_conflicts},

        /* All rules that were asked for are known. */
        {.fill = fill_by_git_find_identity, .is_for = FOR_CODE},
        {.fill = git_add_hooks, .is_for = FOR_CODE},
        {.fill = protect_add_rules, .is_for = FOR_CODE},
        {.fill = hide_names},
        {.fill = git_find_worktrees, .is_for = FOR_CODE},
        {.fill = protect_list_links, .is_for = FOR_CODE},
        {.fill = list_writable},
        {.fill = list_exposes},
        {.fill = toolchain_rules_distrust},
        {.fill = resolve_backing},
        {.fill = fill_by_network_resolve},
        {.fill = tell_unheeded_denials},
        {.refuse = refuse_hidden_project},
        {.refuse = refuse_tmp_around},
        {.refuse = refuse_all_untrusted_links},
        {.refuse = refuse_rundirs},
        {.fill = fill_by_hardening_resolve},
        {.refuse = refuse_records},
        {.refuse = refuse_config},

        {.fill = fill_by_grants_resolve},
        {.fill = move_home, .is_for = FOR_INSTANCE},
        {.fill = fill_by_environment_resolve},
        {.fill = fill_by_settings_resolve, .is_for = FOR_CODE},
        {.fill = fill_by_toolchain_rules_find_unseen, .is_for = FOR_CODE},
};

/* Refuses to look where nobody answers: nearly everything lies in these.  Toolchains, and what PATH names,
 * are left out where nobody answers. */
static int refuse_silent_folders(const struct resolved *s, struct nsrun_error *err) {
        const char *const folders[] = {s->cwd, s->policy->project};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(folders) && r >= 0; i++)
                r = folders[i] ? responds_in_time(AT_FDCWD, folders[i], NULL, err) : 0;
        return r;
}

/* The same of those that the environment names.  A home that is known has answered. */
static int refuse_silent_variables(const struct resolved *s, char *const *inherited,
                                   struct nsrun_error *err) {
        static const char *const variables[] = {"HOME",          "XDG_CACHE_HOME",  "XDG_STATE_HOME",
                                                "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GIT_CONFIG_GLOBAL",
                                                "DOCKER_CONFIG"};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(variables) && r >= 0; i++) {
                const char *folder = environment_get(inherited, variables[i]);

                if (folder && !(s->home && streq(folder, s->home)))
                        r = responds_in_time(AT_FDCWD, folder, NULL, err);
        }
        return r;
}

static int find_home(struct resolved *s, const char *named, struct nsrun_error *err) {
        int r = policy_find_home(named, &s->home, &s->home_link);

        if (r >= 0)
                r = home_guard(s);
        return r < 0 ? responds_fail(r, named, err) : 0;
}

int policy_resolve(const struct policy_request *request, struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = request->policy;
        char *const *inherited = environment_inherited(p);
        bool is_plain = p->no_sandbox || request->is_plain;
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
        };
        s->inner_uid = p->uid == POLICY_SAME_ID ? s->uid : (uid_t)p->uid;
        s->inner_gid = p->gid == POLICY_SAME_ID ? s->gid : (gid_t)p->gid;
        r = refuse_request(s, request, err);
        if (r < 0)
                return r;
        s->cwd = getcwd(NULL, 0);
        r = refuse_silent_folders(s, err);
        if (r >= 0 && !p->session && !is_plain)
                r = find_home(s, environment_get(inherited, "HOME"), err);
        if (r >= 0)
                r = refuse_silent_variables(s, inherited, err);
        if (r < 0)
                return r;
        if (p->session)
                return 0;
        if (is_plain)
                return policy_resolve_plain(s, err);
        if (records_find_folders(&s->own[OWN_RUNDIRS], &s->own[OWN_EXPOSED], &s->own[OWN_SESSIONS]) < 0)
                return error_oom(err);
        for (size_t i = 0; i < OWN_FOLDERS && r >= 0; i++)
                r = s->own[i] ? responds_in_time(AT_FDCWD, s->own[i], NULL, err) : 0;
        if (r < 0)
                return r;
        if (exposed_read_in(s->own[OWN_EXPOSED], &s->known) < 0 ||
            (s->home && name_list_read(s->home, NAME_LIST_USUAL, &s->home_names) < 0) ||
            sockets_list(inherited, s->home, &s->home_names, &s->sockets) < 0)
                return error_oom(err);
        resolve_proc(s);
        r = refuse_limits(p, err);
        for (size_t i = 0; i < ARRAY_SIZE(steps) && r >= 0; i++)
                if (steps[i].is_for == FOR_ALL || policy_is_instance(p) == (steps[i].is_for == FOR_INSTANCE))
                        r = steps[i].fill ? steps[i].fill(s, err) : steps[i].refuse(s, err);
        return r;
}
