/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What may be asked of seccomp and Landlock.  The filter itself is loaded when the
 * plan is made. */
#include <sys/stat.h>

#include "base/path.h"
#include "base/sys.h"
#include "refuse.h"
#include "seccomp/load.h"
#include "workspace/umbrella.h"

static int refuse_landlock(struct nsrun_error *err) {
        static const char what[] = "Landlock can't keep abstract sockets and signals inside";
        int abi = sys_landlock_abi();

        if (abi >= LANDLOCK_ABI_SCOPES)
                return 0;
        if (abi > 0)
                return error_setf(err, NSRUN_STAGE_POLICY, -EOPNOTSUPP, NULL,
                                  "it takes Linux 6.12 (ABI 6); --landlock=auto goes on without",
                                  "%s: the kernel has ABI %d", what, abi);
        return error_set(
                err, NSRUN_STAGE_POLICY, abi, NULL, what,
                abi == -EOPNOTSUPP
                        ? "the kernel has it switched off: add landlock to its lsm= parameter, or use --landlock=auto"
                        : "the kernel was built without it (CONFIG_SECURITY_LANDLOCK); --landlock=auto goes on without");
}

/* Nothing is there to be judged.  Reading it says what is wrong; where that succeeds somebody has
 * put it there meanwhile, and the plan must not read it again. */
static int refuse_missing_file(const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = seccomp_read_file(path, &text, err);

        return r < 0 ? r
                     : refuse(err, path, "keep it outside of what a command may write",
                              "the seccomp policy comes and goes while nsrun looks");
}

/* A command that can write the policy would choose what the next one may do. */
static int resolve_file(struct nsrun_policy *p, const char *cwd, struct nsrun_error *err) {
        struct policy_rule rule = {.access = POLICY_RO, .option = "--seccomp"};
        _cleanup_free_ char *canonical = NULL, *spelled = NULL;
        int r;

        r = path_canonical(p->seccomp, &canonical, NULL);
        if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
                return refuse_missing_file(p->seccomp, err);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, p->seccomp, "the seccomp policy can't be read",
                                 NULL);
        if (path_is_absolute(p->seccomp))
                spelled = strdup(p->seccomp);
        else if (asprintf(&spelled, "%s/%s", cwd ? cwd : "", p->seccomp) < 0)
                spelled = NULL;
        if (!spelled)
                return error_oom(err);
        rule.source = canonical;
        rule.spelled = spelled;
        r = refuse_changeable(p, &rule, "the seccomp policy", err);
        if (r < 0)
                return r;
        free(p->seccomp);
        p->seccomp = TAKE_PTR(canonical);
        return 0;
}

/* Whether the sandbox's own mount over nsrun's cache folder keeps the command out of it:
 * it does where the rule shows the folder right above at its own path.  Of folders
 * further up the command could move one away, with the mount, and make a new one. */
static bool is_hidden(const struct policy_rule *rule, const char *base, bool *ret_is_missing) {
        _cleanup_free_ char *parent = path_parent(base);
        struct stat st;

        if (!parent || !streq(rule->source, parent) || !streq(rule->target, parent))
                return false;
        *ret_is_missing = lstat(base, &st) < 0 || !S_ISDIR(st.st_mode);
        return !*ret_is_missing;
}

static int refuse_cache_rule(const struct policy_rule *rule, const char *base, const char *folder,
                             struct nsrun_error *err) {
        _cleanup_free_ char *visible = NULL;
        char hint[sizeof(err->hint)];
        bool is_missing = false;

        if (rule->access != POLICY_RW ||
            (!path_is_beneath(folder, rule->source) && !path_is_beneath(rule->source, folder)) ||
            (rule->target && is_hidden(rule, base, &is_missing)))
                return 0;
        visible = str_visible(is_missing ? base : folder);
        if (!visible)
                return error_oom(err);
        (void)snprintf(hint, sizeof(hint),
                       is_missing
                               ? "make the folder first, and no command will see it: mkdir -m 700 %s"
                               : "they are in %s: name other folders, or set XDG_CACHE_HOME to one that no "
                                 "command may write",
                       visible);
        return refuse(err, rule->source, hint,
                      "%s would let a command write the seccomp filters that nsrun keeps for later runs",
                      rule->option);
}

/* Who can write to a folder with a symlink on the way to the cache can put a cache of its own there. */
static int refuse_cache_link(const struct nsrun_policy *p, const char *base, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL, *home = path_parent(base);
        struct policy_rule rule = {.access = POLICY_RO, .option = "the cache folder"};

        if (!home || umbrella_find_cache_home(&spelled, NULL) < 0)
                return error_oom(err);
        rule.source = home;
        rule.spelled = spelled;
        return streq(spelled, home) ? 0 : refuse_planted(p, &rule, err);
}

/* Filters that were compiled for one run are loaded by the next: whoever can write there
 * could choose what that may do.  Also where no such folder is yet: a command could make it. */
static int refuse_cache(const struct nsrun_policy *p, struct nsrun_error *err) {
        const struct policy_rule tmp = {.source = p->tmp, .access = POLICY_RW, .option = "--tmp"};
        _cleanup_free_ char *base = NULL, *spelled = NULL, *folder = NULL;
        int r;

        if (umbrella_find_base(&base, NULL) < 0)
                return 0; /* then there is none */
        spelled = path_join(base, "seccomp");
        if (!spelled || path_canonical_to_be(spelled, &folder) < 0)
                return error_oom(err);
        r = refuse_cache_link(p, base, err);
        /* It is at /tmp too, where nothing is hidden. */
        if (r >= 0 && p->tmp)
                r = refuse_cache_rule(&tmp, base, folder, err);
        for (size_t i = 0; i < p->n_rules && r >= 0; i++)
                r = refuse_cache_rule(&p->rules[i], base, folder, err);
        return r;
}

int refuse_hardening(struct nsrun_policy *p, const char *cwd, struct nsrun_error *err) {
        int r = p->landlock == POLICY_LANDLOCK_REQUIRE ? refuse_landlock(err) : 0;

        if (r >= 0)
                r = refuse_cache(p, err);
        if (r < 0 || !p->seccomp || streq(p->seccomp, "none") || seccomp_find_shipped(p->seccomp))
                return r;
        return resolve_file(p, cwd, err);
}
