/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What may be asked of seccomp and Landlock.  The filter itself is loaded when the
 * plan is made. */
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

/* A command that can write the policy would choose what the next one may do. */
static int resolve_file(struct nsrun_policy *p, const char *cwd, struct nsrun_error *err) {
        struct policy_rule rule = {.access = POLICY_RO, .option = "--seccomp"};
        _cleanup_free_ char *canonical = NULL, *spelled = NULL;
        int r;

        r = path_canonical(p->seccomp, &canonical, NULL);
        /* Reading it says what is wrong. */
        if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
                return 0;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, p->seccomp, "the seccomp policy can't be read",
                                 NULL);
        if (refuse_writable_root(p, canonical))
                return refuse(
                        err, canonical, "keep it outside of what a command may write",
                        "the seccomp policy lies in a writable folder, where a command could change it");
        if (path_is_absolute(p->seccomp))
                spelled = strdup(p->seccomp);
        else if (asprintf(&spelled, "%s/%s", cwd ? cwd : "", p->seccomp) < 0)
                spelled = NULL;
        if (!spelled)
                return error_oom(err);
        rule.source = canonical;
        rule.spelled = spelled;
        r = streq(spelled, canonical) ? 0 : refuse_planted(p, &rule, err);
        if (r < 0)
                return r;
        free(p->seccomp);
        p->seccomp = TAKE_PTR(canonical);
        return 0;
}

/* What of `path` is there becomes canonical; the rest stays as it is. */
static char *canonical_prefix(const char *path) {
        _cleanup_free_ char *at = strdup(path), *canonical = NULL;

        while (at && path_canonical(at, &canonical, NULL) < 0) {
                char *parent = streq(at, "/") ? NULL : path_parent(at);

                free(at);
                at = parent;
        }
        return canonical ? path_join(canonical, path_below(path, at)) : NULL;
}

#define CACHE_WORDS "%s would let a command write the seccomp filters that nsrun keeps for later runs"

/* Filters that were compiled for one run are loaded by the next: whoever can write there
 * could choose what that may do.  Also where no such folder is yet: a command could make it. */
static int refuse_cache(const struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_free_ char *base = NULL, *spelled = NULL, *folder = NULL, *visible = NULL;
        char hint[sizeof(err->hint)];

        if (umbrella_find_base(&base, NULL) < 0)
                return 0; /* then there is none */
        spelled = path_join(base, "seccomp");
        folder = spelled ? canonical_prefix(spelled) : NULL;
        visible = folder ? str_visible(folder) : NULL;
        if (!visible)
                return error_oom(err);
        (void)snprintf(
                hint, sizeof(hint),
                "they are in %s: name other folders, or set XDG_CACHE_HOME to one that no command may "
                "write",
                visible);
        for (size_t i = 0; i < p->n_rules; i++) {
                const struct policy_rule *rule = &p->rules[i];

                if (rule->access == POLICY_RW &&
                    (path_is_beneath(folder, rule->source) || path_is_beneath(rule->source, folder)))
                        return refuse(err, rule->source, hint, CACHE_WORDS, rule->option);
        }
        if (p->tmp && (path_is_beneath(folder, p->tmp) || path_is_beneath(p->tmp, folder)))
                return refuse(err, p->tmp, hint, CACHE_WORDS, "--tmp");
        return 0;
}

int refuse_hardening(struct nsrun_policy *p, const char *cwd, struct nsrun_error *err) {
        int r = p->landlock == POLICY_LANDLOCK_REQUIRE ? refuse_landlock(err) : 0;

        if (r >= 0)
                r = refuse_cache(p, err);
        if (r < 0 || !p->seccomp || streq(p->seccomp, "none") || seccomp_find_shipped(p->seccomp))
                return r;
        return resolve_file(p, cwd, err);
}
