/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looking names and numbers up in the table. */
#include "syscalls.h"

#include <linux/audit.h>

#define NAME_SIZE 32

/* Names, not pointers to them: those would have to be relocated at the start of every run of
 * a position-independent program, and a run seldom needs the table. */
struct syscall_row {
        char name[NAME_SIZE];
        int32_t numbers[N_SYSCALL_ARCHS]; /* -1: the architecture has no such call */
};

/* Sorted by name. */
#define SYSCALL(name, x86_64, x86, x32, aarch64, arm) {#name, {x86_64, x86, x32, aarch64, arm}},
static const struct syscall_row rows[] = {
#include "syscalls.inc"
};
#undef SYSCALL
#define SYSCALL(name, ...) _Static_assert(sizeof(#name) <= NAME_SIZE, "NAME_SIZE is too small");
#include "syscalls.inc"
#undef SYSCALL

static const struct {
        const char *name, *oci;
        uint32_t audit;
} archs[N_SYSCALL_ARCHS] = {
        [SYSCALL_ARCH_X86_64] = {"x86_64", "SCMP_ARCH_X86_64", AUDIT_ARCH_X86_64},
        [SYSCALL_ARCH_X86] = {"x86", "SCMP_ARCH_X86", AUDIT_ARCH_I386},
        [SYSCALL_ARCH_X32] = {"x32", "SCMP_ARCH_X32", AUDIT_ARCH_X86_64},
        [SYSCALL_ARCH_AARCH64] = {"aarch64", "SCMP_ARCH_AARCH64", AUDIT_ARCH_AARCH64},
        [SYSCALL_ARCH_ARM] = {"arm", "SCMP_ARCH_ARM", AUDIT_ARCH_ARM},
};

uint32_t syscall_arch_audit(enum syscall_arch arch) {
        return archs[arch].audit;
}

const char *syscall_arch_name(enum syscall_arch arch) {
        return archs[arch].name;
}

enum syscall_arch syscall_arch_by_name(const char *name) {
        size_t i;

        for (i = 0; i < N_SYSCALL_ARCHS; i++)
                if (streq(name, archs[i].name) || streq(name, archs[i].oci))
                        break;
        return (enum syscall_arch)i;
}

bool syscall_arch_runs_on(enum syscall_arch arch, enum syscall_arch native) {
        if (native == SYSCALL_ARCH_X86_64)
                return arch == SYSCALL_ARCH_X86_64 || arch == SYSCALL_ARCH_X86 || arch == SYSCALL_ARCH_X32;
        if (native == SYSCALL_ARCH_AARCH64)
                return arch == SYSCALL_ARCH_AARCH64 || arch == SYSCALL_ARCH_ARM;
        return arch == native;
}

static int compare_name(const void *name, const void *row) {
        return strcmp(name, ((const struct syscall_row *)row)->name);
}

/* x32's own numbers carry a mark; x86_64's may not look like them. */
static uint32_t mark_of(enum syscall_arch arch) {
        return arch == SYSCALL_ARCH_X32 ? SYSCALL_X32_BIT : 0;
}

int syscall_number(enum syscall_arch arch, const char *name) {
        const struct syscall_row *row = bsearch(name, rows, ARRAY_SIZE(rows), sizeof(rows[0]), compare_name);

        if (!row)
                return -ENOENT;
        if (row->numbers[arch] < 0)
                return -ENOSYS;
        return (int)((uint32_t)row->numbers[arch] | mark_of(arch));
}

const char *syscall_name_at(size_t i) {
        return i < ARRAY_SIZE(rows) ? rows[i].name : NULL;
}

const char *syscall_name(enum syscall_arch arch, uint32_t number) {
        uint32_t plain = number ^ mark_of(arch);

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rows[i].numbers[arch] >= 0 && (uint32_t)rows[i].numbers[arch] == plain)
                        return rows[i].name;
        return NULL;
}
