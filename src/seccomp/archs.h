/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The architectures whose system calls nsrun knows by number: the machines that it is built for,
 * and those whose programs such a machine also runs. */
#pragma once

#include <linux/audit.h>

#ifndef AUDIT_ARCH_LOONGARCH64 /* <linux/audit.h> has it since Linux 5.19 */
#define AUDIT_ARCH_LOONGARCH64 (258 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif

/* One X() for each architecture: the part of OCI's SCMP_ARCH_* after that prefix; libseccomp's
 * name; the name in "arches" of Docker's profiles; the value of struct seccomp_data's arch (x32 has
 * x86_64's: SYSCALL_X32_BIT tells its calls apart); the machine whose kernel runs such programs. */
#define SYSCALL_ARCHS(X)                                              \
        X(X86_64, "x86_64", "amd64", AUDIT_ARCH_X86_64, X86_64)       \
        X(X86, "x86", "x86", AUDIT_ARCH_I386, X86_64)                 \
        X(X32, "x32", "x32", AUDIT_ARCH_X86_64, X86_64)               \
        X(AARCH64, "aarch64", "arm64", AUDIT_ARCH_AARCH64, AARCH64)   \
        X(ARM, "arm", "arm", AUDIT_ARCH_ARM, AARCH64)                 \
        X(RISCV64, "riscv64", "riscv64", AUDIT_ARCH_RISCV64, RISCV64) \
        X(PPC64LE, "ppc64le", "ppc64le", AUDIT_ARCH_PPC64LE, PPC64LE) \
        X(S390X, "s390x", "s390x", AUDIT_ARCH_S390X, S390X)           \
        X(S390, "s390", "s390", AUDIT_ARCH_S390, S390X)               \
        X(LOONGARCH64, "loongarch64", "loong64", AUDIT_ARCH_LOONGARCH64, LOONGARCH64)

enum syscall_arch {
#define SYSCALL_ARCH(id, ...) SYSCALL_ARCH_##id,
        SYSCALL_ARCHS(SYSCALL_ARCH)
#undef SYSCALL_ARCH
        N_SYSCALL_ARCHS,
};

/* The bit that is set in the number of each call of an x32 program (the kernel's
 * __X32_SYSCALL_BIT). */
#define SYSCALL_X32_BIT 0x40000000U
