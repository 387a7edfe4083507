/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names and numbers of system calls.  The table is made when nsrun is built, from libseccomp
 * and a supplement to it, so a policy means the same wherever that nsrun runs. */
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

/* AUDIT_ARCH_*, as struct seccomp_data has it. */
uint32_t syscall_arch_audit(enum syscall_arch arch);
/* libseccomp's name, which is OCI's SCMP_ARCH_* in lower case. */
const char *syscall_arch_name(enum syscall_arch arch);
/* The name by which Docker's and Podman's profiles include and exclude rules: "amd64", "arm64", … */
const char *syscall_arch_docker_name(enum syscall_arch arch);
/* By libseccomp's name or OCI's.  N_SYSCALL_ARCHS: no architecture of the table's. */
enum syscall_arch syscall_arch_by_name(const char *name);
/* Whether a process of a machine of `native` may make calls of `arch`. */
bool syscall_arch_runs_on(enum syscall_arch arch, enum syscall_arch native);
/* Whether the more significant word of an argument comes first in struct seccomp_data. */
bool syscall_arch_is_big_endian(enum syscall_arch arch);
/* Whether the table has the architecture's numbers: a libseccomp that is older than the architecture
 * gives none but the supplement's. */
bool syscall_arch_is_known(enum syscall_arch arch);

/* The number of a call, x32's with its bit.  -ENOSYS: another architecture's call;
 * -ENOENT: nobody's. */
int syscall_number(enum syscall_arch arch, const char *name);
/* The table's names, sorted; NULL at its end. */
const char *syscall_name_at(size_t i);
/* NULL: no call that the table knows. */
const char *syscall_name(enum syscall_arch arch, uint32_t number);
