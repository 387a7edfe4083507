/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names and numbers of system calls, for the architectures that a machine of
 * ours may run.  The table is our own (syscalls.inc), so that a call is known by its
 * name whatever kernel headers or libraries the build finds. */
#pragma once

#include "base/macro.h"

enum syscall_arch {
        SYSCALL_ARCH_X86_64,
        SYSCALL_ARCH_X86,
        SYSCALL_ARCH_X32, /* x86_64's AUDIT_ARCH with numbers from SYSCALL_X32_BIT on */
        SYSCALL_ARCH_AARCH64,
        SYSCALL_ARCH_ARM,
        N_SYSCALL_ARCHS,
};

/* What marks x32's numbers (__X32_SYSCALL_BIT). */
#define SYSCALL_X32_BIT 0x40000000U

#if defined(__x86_64__)
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_X86_64
#elif defined(__aarch64__)
#define SYSCALL_ARCH_NATIVE SYSCALL_ARCH_AARCH64
#else
#error "no table of system calls for this architecture"
#endif

/* AUDIT_ARCH_*, as struct seccomp_data has it. */
uint32_t syscall_arch_audit(enum syscall_arch arch);
/* "x86_64", "x86", "x32", "aarch64", "arm": OCI's SCMP_ARCH_* in lower case. */
const char *syscall_arch_name(enum syscall_arch arch);
/* By that name or OCI's.  N_SYSCALL_ARCHS: none of ours. */
enum syscall_arch syscall_arch_by_name(const char *name);
/* Whether a process of a machine of `native` may make calls of `arch`. */
bool syscall_arch_runs_on(enum syscall_arch arch, enum syscall_arch native);

/* The number of a call, x32's with its bit.  -ENOSYS: another architecture's call;
 * -ENOENT: nobody's. */
int syscall_number(enum syscall_arch arch, const char *name);
/* The table's names, sorted; NULL at its end. */
const char *syscall_name_at(size_t i);
/* NULL: no call that the table knows. */
const char *syscall_name(enum syscall_arch arch, uint32_t number);
