/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals about seccomp and Landlock.  The seccomp filter itself is loaded when the plan is made. */
#include "hardening.h"

#include <fcntl.h>

#include "base/causes.h"
#include "base/degraded.h"
#include "base/path.h"
#include "base/sys.h"
#include "policy/agents.h"
#include "rules/refuse.h"
#include "rules/rules.h"
#include "seccomp/load.h"

static enum nsrun_error_id landlock_cause(int abi) {
        return abi == -EPERM        ? NSRUN_ERROR_FILTER_LANDLOCK
               : abi == -EOPNOTSUPP ? NSRUN_ERROR_LANDLOCK_OFF
                                    : NSRUN_ERROR_NO_LANDLOCK;
}

int refuse_landlock(struct nsrun_error *err) {
        int abi = sys_landlock_abi();

        if (abi >= LANDLOCK_ABI_SCOPES)
                return 0;
        if (abi > 0)
                return error_identify(
                        err, NSRUN_ERROR_NO_LANDLOCK,
                        error_setf(err, NSRUN_STAGE_POLICY, -EOPNOTSUPP, NULL,
                                   "it takes Linux 6.12 (ABI 6); --landlock=auto goes on without",
                                   "the kernel's Landlock has ABI %d: %s", abi,
                                   causes[NSRUN_ERROR_NO_LANDLOCK].what));
        return error_cause(err, landlock_cause(abi), abi, NULL);
}

const char *landlock_fix(int abi) {
        return abi == -EPERM        ? FILTER_HINT("landlock_create_ruleset")
               : abi == -EOPNOTSUPP ? "add landlock to the parameter lsm= of the kernel"
               : abi > 0            ? "boot Linux 6.12 or later"
               : error_is_behind_filter()
                       ? "boot a kernel with CONFIG_SECURITY_LANDLOCK=y; if it has that, the seccomp filter around "
                         "nsrun must allow landlock_create_ruleset"
                       : "boot a kernel with CONFIG_SECURITY_LANDLOCK=y and landlock in its parameter lsm=";
}

/* Refuses a policy file that has no canonical path.  Reading it tells what is wrong with it.  If
 * that succeeds somebody has put the file there meanwhile, where nobody has judged it: refused,
 * too. */
static int refuse_missing_file(const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = seccomp_read_file(path, &text, err);

        return r < 0 ? r
                     : policy_refuse(err, path, "keep it outside of what a command may write",
                                     "the seccomp policy comes and goes while nsrun looks");
}

static int refuse_others_file(const char *path, struct nsrun_error *err) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, path, O_PATH, 0);
        struct stat st;
        int r = fd < 0 ? fd : sys_fstat(fd, &st);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, path, "the seccomp policy can't be read", NULL);
        /* What is no file is refused where it is read. */
        return S_ISREG(st.st_mode) ? policy_refuse_writers(fd, &st, path, "the seccomp policy", err) : 0;
}

/* Makes the policy file's path canonical.  The file must not be one that a command can write: that
 * command would choose what the next one may do. */
static int resolve_file(const struct resolved *s, char **ret, struct nsrun_error *err) {
        const struct trust trust = resolved_trust(s);
        struct resolved_rule rule = {.access = POLICY_RO, .option = "--seccomp"};
        const char *named = s->policy->seccomp;
        _cleanup_free_ char *canonical = NULL, *spelled = NULL;
        int r = path_canonical(named, &canonical, NULL);

        if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
                return refuse_missing_file(named, err);
        if (r < 0)
                return error_looked_at(err, NSRUN_STAGE_POLICY, r, named, "the seccomp policy can't be read",
                                       NULL);
        spelled = resolve_spelling(s, named);
        if (!spelled)
                return error_oom(err);
        rule.source = canonical;
        rule.spelled = spelled;
        r = refuse_changeable(&trust, &rule, "the seccomp policy", err);
        if (r >= 0)
                r = refuse_others_file(canonical, err);
        if (r >= 0)
                *ret = TAKE_PTR(canonical);
        return r;
}

int hardening_resolve(const struct resolved *s, char **ret, struct nsrun_error *err) {
        const char *seccomp = agent_seccomp(s->policy), *name = seccomp ? seccomp : "default";
        enum policy_landlock landlock = s->policy->landlock;
        int r = landlock == POLICY_LANDLOCK_REQUIRE ? refuse_landlock(err) : 0;

        if (s->policy->refuses_degraded && landlock == POLICY_LANDLOCK_AUTO &&
            sys_landlock_abi() < LANDLOCK_ABI_SCOPES)
                return degraded_refuse(err, DEGRADED_LANDLOCK, NULL, landlock_fix(sys_landlock_abi()));
        if (r < 0)
                return r;
        if (!streq(name, "none") && !seccomp_find_shipped(name, NULL))
                return resolve_file(s, ret, err);
        *ret = strdup(name);
        return *ret ? 0 : error_oom(err);
}
