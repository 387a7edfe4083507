/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks up architectures, and names and numbers of calls. */
#include "syscalls.h"

#include "table.h"

static const struct {
        const char *name, *oci, *docker;
        uint32_t audit;
        enum syscall_arch machine;
} archs[N_SYSCALL_ARCHS] = {
#define ARCH(id, name, docker, audit, machine) \
        {name, "SCMP_ARCH_" #id, docker, audit, SYSCALL_ARCH_##machine},
        SYSCALL_ARCHS(ARCH)
#undef ARCH
};

uint32_t syscall_arch_audit(enum syscall_arch arch) {
        return archs[arch].audit;
}

const char *syscall_arch_name(enum syscall_arch arch) {
        return archs[arch].name;
}

const char *syscall_arch_docker_name(enum syscall_arch arch) {
        return archs[arch].docker;
}

enum syscall_arch syscall_arch_by_name(const char *name) {
        size_t i;

        for (i = 0; i < N_SYSCALL_ARCHS; i++)
                if (streq(name, archs[i].name) || streq(name, archs[i].oci))
                        break;
        return (enum syscall_arch)i;
}

bool syscall_arch_runs_on(enum syscall_arch arch, enum syscall_arch native) {
        return arch == native || archs[arch].machine == native;
}

bool syscall_arch_is_big_endian(enum syscall_arch arch) {
        return (archs[arch].audit & __AUDIT_ARCH_LE) == 0;
}

bool syscall_arch_is_known(enum syscall_arch arch) {
        return syscall_number(arch, "execve") >= 0;
}

static int compare_name(const void *name, const void *row) {
        return strcmp(name, ((const struct syscall_row *)row)->name);
}

/* The bit that all numbers of an architecture's calls have.  Only x32's have one; an x86_64 number
 * with that bit is no call. */
static uint32_t mark_of(enum syscall_arch arch) {
        return arch == SYSCALL_ARCH_X32 ? SYSCALL_X32_BIT : 0;
}

int syscall_number(enum syscall_arch arch, const char *name) {
        const struct syscall_row *row =
                bsearch(name, syscall_table, n_syscall_table, sizeof(*row), compare_name);

        if (!row)
                return -ENOENT;
        if (row->numbers[arch] < 0)
                return -ENOSYS;
        return (int)((uint32_t)row->numbers[arch] | mark_of(arch));
}

const char *syscall_name_at(size_t i) {
        return i < n_syscall_table ? syscall_table[i].name : NULL;
}

const char *syscall_name(enum syscall_arch arch, uint32_t number) {
        uint32_t plain = number ^ mark_of(arch);

        for (size_t i = 0; i < n_syscall_table; i++)
                if (syscall_table[i].numbers[arch] >= 0 && (uint32_t)syscall_table[i].numbers[arch] == plain)
                        return syscall_table[i].name;
        return NULL;
}
