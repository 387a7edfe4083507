/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A resolved policy becomes a plan; and the plan's part of the public interface. */
#include "plan.h"

#include "base/closed_streams.h"
#include "base/degraded.h"
#include "base/path.h"
#include "base/sys.h"
#include "build.h"
#include "disk/reach.h"
#include "disk/rundir.h"

/* Bytes of the root tmpfs, which holds folders, links and three small files. */
#define ROOT_SIZE (UINT64_C(1) << 20)

static void raw_free(struct plan_raw *raw) {
        if (!raw)
                return;
        strv_free(raw->directories);
        strv_free(raw->pwd);
        strv_free(raw->lock_files);
        for (size_t i = 0; i < raw->n_filters; i++)
                free(raw->filters[i].filter);
        free(raw->filters);
        free(raw->held_fds);
        free(raw->file);
        free(raw->exec_label);
        free(raw->file_label);
        free(raw);
}

#define FREE_NOTHING(member)
#define FREE_NUMBER(member)
#define FREE_BOOL(member)
#define FREE_LIMITS(member)
#define FREE_TEXT(member)           free(plan->member);
#define FREE_TEXTS(member)          strv_free(plan->member);
#define FREE_UNSTORED_TEXT(member)  FREE_TEXT(member)
#define FREE_UNSTORED_TEXTS(member) FREE_TEXTS(member)
#define FREE_SECRET(member)         secret_forget(&plan->member);
#define FREE_FILTER(member)         seccomp_loaded_clear(&plan->member);
#define FREE(kind, member)          FREE_##kind(member)

bool plan_needs_rundir(const struct nsrun_plan *plan) {
        if (plan->has_stubs || (plan->has_overlays && plan->backing == POLICY_BACKING_DISK))
                return true;
        STRV_FOREACH (entry, plan->join ? NULL : plan->present)
                if (strstr(strstr(*entry, "//") + 2, "//"))
                        return true;
        return false;
}

void plan_free(struct nsrun_plan *plan) {
        if (!plan)
                return;
        for (size_t i = 0; i < plan->n_ops; i++)
                plan_op_clear(&plan->ops[i]);
        free(plan->ops);
        PLAN_MEMBERS(FREE)
        if (plan->join) {
                records_close(&plan->join->folder);
                free(plan->join->cgroup);
                free(plan->join->rundir);
                free(plan->join->stored);
        }
        free(plan->join);
        raw_free(plan->raw);
        free(plan);
}

/* What `below` a symlink leads to. */
static char *through(const struct plan_op *link, const char *below) {
        _cleanup_free_ char *joined = str_format("%s/%s", link->text, below),
                            *parent = path_parent(link->target);

        return joined && parent ? path_join(parent, joined) : NULL;
}

/* The path with the first of the sandbox's own symlinks on its way resolved; *ret_found: there was one. */
static char *through_one_link(const char *target, const struct entries *e, bool *ret_found) {
        for (size_t i = 0; i < e->n; i++) {
                const struct plan_op *op = &e->items[i].op;
                const char *below = NULL;

                if (op->kind == PLAN_SYMLINK && e->items[i].origin == ENTRY_OWN && op->target && op->text)
                        below = path_below(target, op->target);
                *ret_found = below && *below;
                if (*ret_found)
                        return through(op, below);
        }
        *ret_found = false;
        return strdup(target);
}

/* A rule's target with the sandbox's own symlinks resolved (/lib/x becomes /usr/lib/x where /lib is
 * one), so that no target has a symlink of the plan's in it. */
static char *through_system_roots(const char *target, const struct entries *e) {
        bool has_link = true;
        char *path = strdup(target);

        /* They come from the host, where they end somewhere; a rule's may go in a circle. */
        for (int i = 0; path && has_link && i < 40; i++) {
                char *next = through_one_link(path, e, &has_link);

                free(path);
                path = next;
        }
        return path;
}

/* The name of an overlay's layer in the run directory.  The prefix keeps it apart from the other
 * names there ("lock", the scratch folder). */
static char *layer_name(const char *target) {
        _cleanup_free_ char *slug = path_slug(target);

        return slug ? str_format("overlay-%s", slug) : NULL;
}

static enum plan_origin origin_of(const struct resolved_rule *rule) {
        if (rule->origin == POLICY_BY_DEFAULT || rule->giver != PLAN_BY_NOBODY)
                return rule->giver;
        if (rule->origin == POLICY_BY_TOOLCHAINS)
                return PLAN_BY_TABLE;
        return rule->access == POLICY_RW ? PLAN_BY_WRITABLE : PLAN_BY_READABLE;
}

/* What earlier runs of an agent in this project wrote to its folder is there again. */
static int add_kept_layer(const struct resolved *s, struct plan_op *op) {
        const char *base = s->own[OWN_RUNDIRS];
        char *path = base && s->project ? rundir_rest(base, s->project, op->text) : NULL;

        if (!path)
                return base && s->project ? -ENOMEM : 0;
        if (access(path, F_OK) == 0)
                return strv_consume(&op->layers, path);
        free(path);
        return 0;
}

static int collect_rule(struct entries *e, const struct resolved *s, const struct resolved_rule *rule) {
        enum entry_origin origin = policy_is_default(rule->origin) ? ENTRY_DEFAULT : ENTRY_EXPLICIT;
        _cleanup_free_ char *target = NULL;
        struct plan_op *op;

        target = through_system_roots(rule->target, e);
        if (!target)
                return -ENOMEM;
        op = entries_add(e, origin, rule->access == POLICY_OVERLAY ? PLAN_OVERLAY : PLAN_BIND, target);
        op->origin = origin_of(rule);
        op->is_read_only = rule->access == POLICY_RO;
        op->was_asked_for = origin == ENTRY_EXPLICIT;
        op->is_directory = rule->is_directory;
        op->is_link = rule->is_link;
        op->is_git_dir = rule->is_git_dir;
        op->source = strdup(rule->source);
        if (rule->access == POLICY_OVERLAY) {
                op->size = s->files.overlay_size;
                op->text = layer_name(target);
        }
        if (!op->source || (rule->access == POLICY_OVERLAY && !op->text) ||
            strv_copy(rule->stubs, &op->stubs) < 0 ||
            (op->text && op->origin == PLAN_BY_AGENT && add_kept_layer(s, op) < 0))
                return -ENOMEM;
        STRV_FOREACH (alias, rule->aliases)
                entries_add_symlink(e, ENTRY_ALIAS, target, *alias);
        return 0;
}

static int collect_tmpfs(struct entries *e, const struct policy_tmpfs *tmpfs) {
        _cleanup_free_ char *target = through_system_roots(tmpfs->path, e);

        if (!target)
                return -ENOMEM;
        entries_add_tmpfs(e, ENTRY_EXPLICIT, target, 0755, tmpfs->size);
        return 0;
}

/* A linked worktree that isn't shown must not look deleted: git worktree prune and git gc would remove what
 * the repository keeps of it. */
static void collect_worktrees(struct entries *e, const struct resolved *s) {
        STRV_FOREACH (folder, s->git.trees) {
                if (streq(*folder, s->project))
                        continue;
                entries_add_tmpfs(e, ENTRY_HIDDEN, *folder, 0755, 4096);
                e->has_failed |= !(e->items[e->n - 1].op.source = strdup(*folder));
        }
        STRV_FOREACH (path, s->git.worktrees) {
                _cleanup_free_ char *target = through_system_roots(*path, e);

                if (target)
                        entries_add_file(e, target, "");
                e->has_failed |= !target;
        }
}

static bool has_layer(const struct entries *e, size_t n, const char *source) {
        for (size_t i = 0; i < n; i++)
                if (e->items[i].op.text && e->items[i].op.kind == PLAN_BIND && e->items[i].op.source &&
                    streq(e->items[i].op.source, source))
                        return true;
        return false;
}

/* The command's versions of what it may not change: a folder of the run directory's, and in place of each
 * file a symlink to there, of each folder an overlay. */
static int collect_private(struct entries *e, const struct resolved *s) {
        size_t n = e->n;
        struct plan_op *op;

        if (!s->protection.private)
                return 0;
        for (size_t i = 0; i < n; i++) {
                struct plan_op *cover = &e->items[i].op;
                size_t k = 0;

                if (cover->origin != PLAN_BY_PROTECTED || cover->is_link)
                        continue;
                while (s->protection.private[k] && !streq(s->protection.private[k], cover -> source))
                        k++;
                /* A layer is one overlay's. */
                if (!s->protection.private[k] || (cover->is_directory && has_layer(e, i, cover->source)))
                        continue;
                cover->text = cover->is_directory
                                      ? str_format(PLAN_PRIVATE_LAYER "%zu", k)
                                      : str_format(PLAN_PRIVATE "/%zu-%s", k, path_basename(cover->source));
                cover->size = s->files.overlay_size;
                cover->can_be_empty =
                        cover->is_directory && strv_contains(s->protection.kept, cover->source);
                if (!cover->text)
                        return -ENOMEM;
        }
        op = entries_add(e, ENTRY_OWN, PLAN_BIND, PLAN_PRIVATE);
        op->origin = PLAN_BY_RUNDIR;
        op->is_directory = true;
        op->is_in_rundir = true;
        op->size = s->files.overlay_size;
        op->source = path_join(s->own[OWN_RUNDIRS], RUNDIR_NAME "/" PLAN_PRIVATE_FOLDER);
        return op->source ? 0 : -ENOMEM;
}

static int plan_collect(struct entries *e, const struct resolved *s, struct nsrun_error *err) {
        int r = collect_base(e, s, err);

        if (r < 0)
                return r == -ENOMEM ? error_oom(err) : r;
        r = collect_etc(e, s, err);
        for (size_t i = 0; i < s->files.n_rules && r >= 0; i++) {
                r = collect_rule(e, s, &s->files.rules[i]);
                if (r < 0)
                        return error_oom(err);
        }
        for (size_t i = 0; i < s->files.n_links && r >= 0; i++) {
                _cleanup_free_ char *path = through_system_roots(s->files.links[i].path, e);

                if (!path)
                        return error_oom(err);
                entries_add_symlink(e, ENTRY_EXPLICIT, s->files.links[i].text, path);
        }
        for (size_t i = 0; i < strv_length(s->files.folders) && r >= 0; i++)
                entries_add(e, ENTRY_ALIAS, PLAN_DIR, s->files.folders[i])->mode = 0755;
        for (size_t i = 0; i < s->files.n_tmpfs && r >= 0; i++)
                if (collect_tmpfs(e, &s->files.tmpfs[i]) < 0)
                        return error_oom(err);
        if (r >= 0 && collect_private(e, s) < 0)
                return error_oom(err);
        if (r >= 0) {
                collect_granted(e, s);
                collect_beside(e, s);
                collect_links(e);
                collect_worktrees(e, s);
        }
        if (r >= 0 && (e->has_failed || collect_hidden(e, s) < 0 || e->has_failed))
                r = error_oom(err);
        return r;
}

static int plan_fill_environment(struct nsrun_plan *plan, const struct resolved *s) {
        char *pwd = NULL;
        size_t n = 0;

        plan->env = calloc(s->environment.variables.n + 2, sizeof(*plan->env));
        if (!plan->env)
                return -ENOMEM;
        /* PWD names the working directory inside, whatever the caller's says. */
        STRV_FOREACH (variable, s->environment.variables.entries)
                if (!startswith(*variable, "PWD=")) {
                        plan->env[n] = strdup(*variable);
                        if (!plan->env[n++])
                                return -ENOMEM;
                }
        pwd = str_format("PWD=%s", plan->cwd);
        if (!pwd)
                return -ENOMEM;
        plan->env[n] = pwd;
        return 0;
}

/* Whether an operation makes something at its target. */
static bool makes_file(const struct plan_op *op) {
        return op->kind == PLAN_DIR || op->kind == PLAN_FILE || op->kind == PLAN_SYMLINK || op->makes_target;
}

/* Counts what is made on the home's tmpfs itself.  Operations come parents first. */
static int summarise_home(struct nsrun_plan *plan, const char *home) {
        const char *covered = NULL; /* the last mount in it */

        plan->home = home ? strdup(home) : NULL;
        if (home && !plan->home)
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_ops && home; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (op->kind == PLAN_TMPFS && streq(op->target, home)) {
                        plan->home_files = 1;
                } else if (plan->home_files > 0 && path_is_beneath(op->target, home) &&
                           !(covered && path_is_beneath(op->target, covered))) {
                        plan->home_files += makes_file(op);
                        if (op->kind != PLAN_DIR && op->kind != PLAN_FILE && op->kind != PLAN_SYMLINK)
                                covered = op->target;
                }
        }
        return 0;
}

/* Whether nothing else of the plan lies on the mount point of a default cache's overlay, which is on a tmpfs
 * of the plan's own. */
static bool can_be_empty(const struct nsrun_plan *plan, const struct plan_op *op) {
        for (size_t i = 0; i < plan->n_ops; i++)
                if (&plan->ops[i] != op && path_is_beneath(plan->ops[i].target, op->target))
                        return false;
        return op->makes_target && !op->was_asked_for;
}

/* Fills the fields of the plan that follow from its operations, and theirs: has_overlays, has_stubs, rundir.
 */
static int summarise(struct nsrun_plan *plan) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                struct plan_op *op = &plan->ops[i];

                op->can_be_empty |= op->kind == PLAN_OVERLAY && can_be_empty(plan, op);
                plan->has_overlays |= op->kind == PLAN_OVERLAY;
                plan->has_stubs |= op->stubs != NULL;
                if (op->is_in_rundir && !plan->rundir && !(plan->rundir = path_parent(op->source)))
                        return -ENOMEM;
        }
        return 0;
}

int plan_find_start(const struct resolved *s, const char *project, const char *otherwise, char **ret) {
        const char *start = project ? project : otherwise;
        const char *folder = s->policy->chdir ? s->policy->chdir : start;

        if (!s->policy->chdir && s->starts_here && s->cwd && project && path_is_beneath(s->cwd, project))
                folder = s->cwd;
        *ret = path_join(start, folder);
        return *ret ? 0 : -ENOMEM;
}

static int plan_fill(struct nsrun_plan *plan, const struct resolved *s) {
        const struct nsrun_policy *p = s->policy;
        const char *otherwise = !s->plain ? POLICY_NO_PROJECT_DIR : s->cwd ? s->cwd : "/";
        const struct {
                const char *from;
                char **to;
        } texts[] = {{p->hostname, &plan->hostname},
                     {s->project, &plan->project},
                     {s->git.dir, &plan->git_dir},
                     {s->git.common_dir, &plan->git_common_dir},
                     {s->net.via, &plan->via},
                     {s->net.key_values, &plan->key_values},
                     {s->grants.wayland, &plan->wayland},
                     {s->grants.browser, &plan->browser},
                     {s->grants.ssh_agent, &plan->ssh_agent}};
        const struct {
                char *const *from;
                char ***to;
        } lists[] = {{s->argv, &plan->argv},
                     {s->net.rules, &plan->network},
                     {s->net.keys, &plan->keys},
                     {s->net.key_uses, &plan->key_uses},
                     {s->protection.private, &plan->private},
                     {s->protection.names, &plan->protected},
                     {s->protection.present, &plan->present},
                     {s->files.carried, &plan->carried},
                     {p->hide, &plan->hide},
                     {p->protect, &plan->protect},
                     {p->no_protect, &plan->no_protect},
                     {s->files.exposes, &plan->exposes},
                     {s->protection.git_dirs, &plan->git_dirs},
                     {s->protection.git_links, &plan->git_links},
                     {s->git.trees, &plan->git_trees},
                     {s->environment.left_out, &plan->left_out},
                     {s->tools.unseen, &plan->unseen},
                     {s->git.lacks, &plan->lacks},
                     {s->environment.secrets, &plan->secrets},
                     {s->grants.gives, &plan->gives},
                     {s->grants.dbus, &plan->dbus},
                     {s->grants.ssh_agent ? p->ssh_agent : NULL, &plan->ssh_keys}};
        int r;

        plan->root_size = ROOT_SIZE;
        plan->net = p->net;
        plan->backing = s->files.backing;
        plan->is_strict = p->protects_strictly && !s->plain;
        plan->refuses_degraded = p->refuses_degraded;
        plan->is_logged = p->is_logged;
        plan->new_session = p->new_session;
        plan->is_session = s->is_session;
        plan->isolates_commands = s->policy->isolates_commands;
        plan->limits = p->limits;
        plan->links_are_cut = s->protection.links_are_cut;
        plan->uid = s->plain ? s->uid : s->inner_uid;
        plan->gid = s->plain ? s->gid : s->inner_gid;
        plan->host_uid = s->uid;
        plan->host_gid = s->gid;
        if (plan_find_start(s, s->project, otherwise, &plan->cwd) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (texts[i].from && !(*texts[i].to = strdup(texts[i].from)))
                        return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                if (strv_copy(lists[i].from, lists[i].to) < 0)
                        return -ENOMEM;
        STRV_FOREACH (line, s->net.lacks)
                if (strv_add(&plan->lacks, *line) < 0)
                        return -ENOMEM;
        r = plan_identify_hidden(plan, s);
        if (r >= 0)
                r = plan_fill_environment(plan, s);
        if (r >= 0)
                r = summarise_home(plan, s->home);
        return r < 0 ? r : summarise(plan);
}

/* Of a file that others may execute the bit would lend them the user's group: seccomp/README. */
static bool may_set_setgid(const struct resolved *s) {
        STRV_FOREACH (folder, s->files.writable)
                if (reach_has_others(*folder, s->files.writable))
                        return false;
        return seccomp_find_shipped(s->seccomp, NULL) != NULL;
}

/* Fills the seccomp filter and what Landlock is to do.  --landlock=require on a kernel that has no
 * Landlock scopes was refused by resolve/hardening.c. */
static int harden(struct nsrun_plan *plan, const struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int abi = p->landlock == POLICY_LANDLOCK_OFF ? 0 : sys_landlock_abi(), r;

        plan->landlock = p->landlock;
        plan->landlock_abi = abi > 0 ? abi : 0;
        plan->is_scoped = abi >= LANDLOCK_ABI_SCOPES;
        plan->has_own_limits = true;
        if (!plan->is_scoped && p->landlock == POLICY_LANDLOCK_AUTO &&
            degraded_add(&plan->degraded, &degraded[DEGRADED_LANDLOCK], NULL) < 0)
                return error_oom(err);
        plan->seccomp_log = p->seccomp_log;
        plan->seccomp_name = strdup(s->seccomp);
        if (!plan->seccomp_name)
                return error_oom(err);
        r = seccomp_load(s->seccomp, p->strict_policy, &plan->seccomp, err);
        return r >= 0 && may_set_setgid(s) ? seccomp_allow_setgid(&plan->seccomp, err) : r;
}

/* The plan of a sandbox of its own. */
static int plan_build(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_entries_ struct entries e = {0};
        int r;

        plan = calloc(1, sizeof(*plan));
        if (!plan)
                return error_oom(err);
        if ((s->instance.root && !(plan->instance = strdup(s->instance.root))) ||
            (s->instance.workspace && !(plan->workspace = strdup(s->instance.workspace))) ||
            (s->files.own_home && !(plan->own_home = strdup(s->files.own_home))))
                return error_oom(err);
        r = plan_collect(&e, s, err);
        if (r >= 0)
                r = order_entries(&e, plan, err);
        if (r < 0)
                return r;
        r = plan_fill(plan, s);
        if (r < 0)
                return error_oom(err);
        r = harden(plan, s, err);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(plan);
        return 0;
}

static int plan_build_plain(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = calloc(1, sizeof(*plan));

        if (!plan)
                return error_oom(err);
        plan->landlock = POLICY_LANDLOCK_OFF;
        plan->plain = strdup(s->plain);
        plan->seccomp_name = strdup("none");
        if (!plan->plain || !plan->seccomp_name || plan_fill(plan, s) < 0)
                return error_oom(err);
        *ret = TAKE_PTR(plan);
        return 0;
}

int plan_from(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err) {
        int r;

        if (s->policy->session)
                return plan_build_join(s, ret, err);
        r = s->plain ? plan_build_plain(s, ret, err) : plan_build(s, ret, err);
        if (r >= 0) {
                (*ret)->asked_net = s->policy->net;
                (*ret)->asked_proc = s->policy->proc;
        }
        return r;
}

int plan_make(const struct policy_request *request, struct nsrun_plan **ret, struct nsrun_error *err) {
        _cleanup_streams_ int held = closed_streams_hold(err);
        _cleanup_resolved_ struct resolved resolved = {0};
        int r = held < 0 ? held : policy_resolve(request, &resolved, err);

        return r < 0 ? r : plan_from(&resolved, ret, err);
}

nsrun_public int nsrun_plan_new(const struct nsrun_policy *policy, struct nsrun_plan **ret,
                                struct nsrun_error *error) {
        const struct policy_request request = {.policy = policy};

        return plan_make(&request, ret, error);
}

nsrun_public struct nsrun_plan *nsrun_plan_free(struct nsrun_plan *plan) {
        plan_free(plan);
        return NULL;
}

nsrun_public int nsrun_plan_format(const struct nsrun_plan *plan, enum nsrun_format format, char **ret,
                                   struct nsrun_error *error) {
        /* A joining plan reads its operations from the record when they are first printed.  That
         * doesn't change what the plan says, so that the const is cast away. */
        int r = plan_load_operations((struct nsrun_plan *)(uintptr_t)plan, error);

        if (r < 0)
                return r;
        switch (format) {
        case NSRUN_FORMAT_TEXT:
                return plan_print_text(plan, ret, error);
        case NSRUN_FORMAT_JSON:
                return plan_print_json(plan, ret, error);
        case NSRUN_FORMAT_BWRAP:
                return plan_print_bwrap(plan, ret, error);
        }
        return error_set(error, NSRUN_STAGE_USAGE, -EINVAL, NULL, "no such format", NULL);
}
