/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose command may have namespaces of its own. */
#include <linux/seccomp.h>
#include <sched.h>

#include "../test.h"
#include "seccomp/load.h"
#include "seccomp/simulate.h"
#include "seccomp/syscalls.h"
#include "widen/widen_plan.h"

static bool may(const char *name) {
        const struct nsrun_plan plan = {.seccomp_name = (char *)(uintptr_t)name};

        return widen_has_namespaces(&plan);
}

TEST(only_two_filters_as_they_are_let_make_none) {
        assert_false(may("default"));
        assert_false(may("strict"));
        assert_true(may("nested"));
        assert_true(may("none"));
        assert_true(may("default+unshare"));
        assert_true(may("strict-kcmp"));
        assert_true(may("/home/u/policy.json"));
}

/* Whether the filter denies a call with each of the arguments, on every architecture whose programs run
 * here.
 */
static unsigned expect_denied(const struct seccomp_shipped *shipped, const char *call, uint64_t argument) {
        unsigned n = 0;

        for (unsigned arch = 0; arch < N_SYSCALL_ARCHS; arch++) {
                int number = syscall_number((enum syscall_arch)arch, call);
                /* The flags of clone(2) are its second argument on some machines. */
                const struct seccomp_data data = {.nr = number,
                                                  .arch = syscall_arch_audit((enum syscall_arch)arch),
                                                  .args = {argument, argument}};

                if (!syscall_arch_runs_on((enum syscall_arch)arch, SYSCALL_ARCH_NATIVE) || number < 0)
                        continue;
                assert_int_equal(seccomp_simulate(shipped->code, shipped->n, &data) &
                                         SECCOMP_RET_ACTION_FULL,
                                 SECCOMP_RET_ERRNO);
                n++;
        }
        return n;
}

TEST(those_two_deny_each_call_that_makes_namespaces) {
        static const char *const names[] = {"default", "strict"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const struct seccomp_shipped *shipped = seccomp_find_shipped(names[i], NULL);

                assert_non_null(shipped);
                assert_true(expect_denied(shipped, "clone", CLONE_NEWUSER) > 0);
                assert_true(expect_denied(shipped, "clone", CLONE_NEWNS) > 0);
                assert_true(expect_denied(shipped, "clone3", 0) > 0);
                assert_true(expect_denied(shipped, "unshare", CLONE_NEWUSER) > 0);
                assert_true(expect_denied(shipped, "unshare", CLONE_NEWNS) > 0);
                assert_true(expect_denied(shipped, "setns", 0) > 0);
        }
}

int main(void) {
        return run_all_tests();
}
