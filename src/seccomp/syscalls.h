/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names and numbers of system calls.  The table of them is made when nsrun is built, from libseccomp
 * and seccomp/syscalls.txt, so that a policy means the same on every host that this nsrun runs on. */
#pragma once

#include "archs.h"
#include "base/macro.h"

#if defined(__x86_64__)
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_X86_64
#elif defined(__aarch64__)
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_PPC64LE
#elif defined(__s390x__)
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_S390X
#elif defined(__loongarch64) || (defined(__loongarch_grlen) && __loongarch_grlen == 64)
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_LOONGARCH64
#else
#error "nsrun's seccomp policies are for x86_64, aarch64, riscv64, ppc64le, s390x and loongarch64"
#endif

/* The architecture's AUDIT_ARCH_*, which struct seccomp_data has in its `arch`. */
uint32_t syscall_arch_audit(enum syscall_arch arch);
/* The architecture's name in libseccomp, which is OCI's SCMP_ARCH_* in lower case. */
const char *syscall_arch_name(enum syscall_arch arch);
/* The architecture's name in the "arches" of Docker's and Podman's profiles: "amd64", "arm64", … */
const char *syscall_arch_docker_name(enum syscall_arch arch);
/* The architecture that libseccomp or OCI gives that name; N_SYSCALL_ARCHS if none of the table's. */
enum syscall_arch syscall_arch_by_name(const char *name);
/* Whether a process of a machine of `native` may make calls of `arch`. */
bool syscall_arch_runs_on(enum syscall_arch arch, enum syscall_arch native);
/* Whether the more significant word of an argument comes first in an architecture's struct
 * seccomp_data. */
bool syscall_arch_is_big_endian(enum syscall_arch arch);
/* Whether the table has the numbers of an architecture's calls.  If nsrun is built with a libseccomp
 * that is older than the architecture, the table has only those of seccomp/syscalls.txt. */
bool syscall_arch_is_known(enum syscall_arch arch);

/* The number of a call, for x32 with its bit. -ENOSYS: only other architectures have the call;
 * -ENOENT: the table has no call of that name. */
int syscall_number(enum syscall_arch arch, const char *name);
/* The i-th of the table's names, which are sorted; NULL after the last. */
const char *syscall_name_at(size_t i);
/* The name of a call's number; NULL if the table has no such call. */
const char *syscall_name(enum syscall_arch arch, uint32_t number);
