/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose command may have namespaces of its own. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "../test.h"
#include "seccomp/syscalls.h"
#include "widen/widen_place.h"

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define NO           (SECCOMP_RET_ERRNO | 1)

static bool may(struct sock_filter *code, size_t n) {
        const struct nsrun_plan plan = {.seccomp = {.code = code, .n = n}};

        return widen_has_namespaces(&plan);
}

TEST(each_architectures_calls_count) {
        struct sock_filter none[] = {RETURN(NO)}, all[] = {RETURN(SECCOMP_RET_ALLOW)};
        /* What isn't the machine's own is let through; what has x32's bit. */
        struct sock_filter others[] = {
                LOAD(arch),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, syscall_arch_audit(SYSCALL_ARCH_NATIVE), 0, 1),
                RETURN(NO), RETURN(SECCOMP_RET_ALLOW)};
        struct sock_filter x32[] = {LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
                                    RETURN(SECCOMP_RET_LOG), RETURN(NO)};
        bool has_others = false;

        for (unsigned arch = 0; arch < N_SYSCALL_ARCHS; arch++)
                has_others |= syscall_arch_runs_on((enum syscall_arch)arch, SYSCALL_ARCH_NATIVE) &&
                              syscall_arch_audit((enum syscall_arch)arch) !=
                                      syscall_arch_audit(SYSCALL_ARCH_NATIVE);

        assert_false(may(none, ARRAY_SIZE(none)));
        assert_true(may(all, ARRAY_SIZE(all)));
        assert_true(may(NULL, 0));
        assert_int_equal(may(others, ARRAY_SIZE(others)), has_others);
        assert_int_equal(may(x32, ARRAY_SIZE(x32)), SYSCALL_ARCH_NATIVE == SYSCALL_ARCH_X86_64);
}

int main(void) {
        return run_all_tests();
}
