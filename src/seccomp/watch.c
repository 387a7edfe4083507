/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "watch.h"

#include <fcntl.h>

/* For kernel headers older than 5.0. */
#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000U
#endif
/* A GNU name. */
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

const struct watched_call watched_calls[] = {
        {"open", WATCHED_READ, -1, 0, 1},        {"openat", WATCHED_READ, 0, 1, 2},
        {"openat2", WATCHED_READ, 0, 1, -1},     {"creat", WATCHED_MAKE, -1, 0, -1},
        {"execve", WATCHED_EXEC, -1, 0, -1},     {"execveat", WATCHED_EXEC, 0, 1, -1},
        {"truncate", WATCHED_WRITE, -1, 0, -1},  {"chmod", WATCHED_WRITE, -1, 0, -1},
        {"fchmodat", WATCHED_WRITE, 0, 1, -1},   {"fchmodat2", WATCHED_WRITE, 0, 1, -1},
        {"chown", WATCHED_WRITE, -1, 0, -1},     {"lchown", WATCHED_WRITE, -1, 0, -1},
        {"fchownat", WATCHED_WRITE, 0, 1, -1},   {"utimensat", WATCHED_WRITE, 0, 1, -1},
        {"mkdir", WATCHED_MAKE, -1, 0, -1},      {"mkdirat", WATCHED_MAKE, 0, 1, -1},
        {"mknod", WATCHED_MAKE, -1, 0, -1},      {"mknodat", WATCHED_MAKE, 0, 1, -1},
        {"symlink", WATCHED_MAKE, -1, 1, -1},    {"symlinkat", WATCHED_MAKE, 1, 2, -1},
        {"link", WATCHED_READ, -1, 0, -1},       {"link", WATCHED_MAKE, -1, 1, -1},
        {"linkat", WATCHED_READ, 0, 1, -1},      {"linkat", WATCHED_MAKE, 2, 3, -1},
        {"rename", WATCHED_REMOVE, -1, 0, -1},   {"rename", WATCHED_MAKE, -1, 1, -1},
        {"renameat", WATCHED_REMOVE, 0, 1, -1},  {"renameat", WATCHED_MAKE, 2, 3, -1},
        {"renameat2", WATCHED_REMOVE, 0, 1, -1}, {"renameat2", WATCHED_MAKE, 2, 3, -1},
        {"unlink", WATCHED_REMOVE, -1, 0, -1},   {"unlinkat", WATCHED_REMOVE, 0, 1, -1},
        {"rmdir", WATCHED_REMOVE, -1, 0, -1},    {"connect", WATCHED_CONNECT, -1, 1, 2},
        {"bind", WATCHED_BIND, -1, 1, 2},        {"stat", WATCHED_LOOK, -1, 0, -1},
        {"lstat", WATCHED_LOOK, -1, 0, -1},      {"newfstatat", WATCHED_LOOK, 0, 1, 3},
        {"statx", WATCHED_LOOK, 0, 1, 2},        {"access", WATCHED_LOOK, -1, 0, -1},
        {"faccessat", WATCHED_LOOK, 0, 1, -1},   {"faccessat2", WATCHED_LOOK, 0, 1, -1},
        {"chdir", WATCHED_LOOK, -1, 0, -1},      {"write", WATCHED_PRINT, -1, -1, -1},
        {"writev", WATCHED_PRINT, -1, -1, -1},
};
const size_t n_watched_calls = ARRAY_SIZE(watched_calls);

/* Instructions of what follows the filter, at most: two for the architecture, one for the number, six for
 * each call, two answers. */
#define TAIL_MOST (5 + 6 * ARRAY_SIZE(watched_calls))

static void watch_emit(struct seccomp_filter *f, unsigned code, uint32_t k, unsigned jt, unsigned jf) {
        f->code[f->n++] =
                (struct sock_filter){.code = (uint16_t)code, .k = k, .jt = (uint8_t)jt, .jf = (uint8_t)jf};
}

/* Where the less significant half of an argument is. */
static uint32_t argument_at(int i) {
        uint32_t at = (uint32_t)(offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t));

        return syscall_arch_is_big_endian(SYSCALL_ARCH_NATIVE) ? at + 4 : at;
}

/* Asks about the call `number`; what doesn't match goes on behind these instructions with the number in the
 * accumulator. */
static void watch_emit_call(struct seccomp_filter *f, const struct watched_call *call, uint32_t number) {
        if (call->how != WATCHED_LOOK || call->flags < 0) {
                watch_emit(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
                watch_emit(f, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
                return;
        }
        watch_emit(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
        watch_emit(f, BPF_LD | BPF_W | BPF_ABS, argument_at(call->flags), 0, 0);
        watch_emit(f, BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 1, 0);
        watch_emit(f, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
        watch_emit(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* The same of writes, by the descriptor: of standard output, standard error, or both. */
static void watch_emit_write(struct seccomp_filter *f, unsigned printed, uint32_t number) {
        unsigned n = (printed >> 1 & 1) + (printed >> 2 & 1);

        watch_emit(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3 + n);
        watch_emit(f, BPF_LD | BPF_W | BPF_ABS, argument_at(0), 0, 0);
        for (unsigned fd = 1; fd <= 2; fd++)
                if (printed & 1U << fd)
                        watch_emit(f, BPF_JMP | BPF_JEQ | BPF_K, fd, n--, 0);
        watch_emit(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        watch_emit(f, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
}

static void watch_emit_tail(struct seccomp_filter *f, unsigned printed) {
        watch_emit(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
        watch_emit(f, BPF_JMP | BPF_JEQ | BPF_K, syscall_arch_audit(SYSCALL_ARCH_NATIVE), 1, 0);
        watch_emit(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        watch_emit(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        for (size_t i = 0; i < n_watched_calls; i++) {
                const struct watched_call *call = &watched_calls[i];
                int number = syscall_number(SYSCALL_ARCH_NATIVE, call->name);
                bool is_second = i > 0 && streq(call->name, watched_calls[i - 1].name);

                if (number < 0 || is_second)
                        continue;
                if (call->how != WATCHED_PRINT)
                        watch_emit_call(f, call, (uint32_t)number);
                else if (printed)
                        watch_emit_write(f, printed, (uint32_t)number);
        }
        watch_emit(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

int seccomp_watch(const struct sock_filter *code, size_t n, unsigned printed, struct seccomp_filter *ret) {
        struct seccomp_filter f = {.code = calloc(n + TAIL_MOST, sizeof(struct sock_filter)), .n = n};

        if (!f.code)
                return -ENOMEM;
        if (n > 0)
                memcpy(f.code, code, n * sizeof(*code));
        watch_emit_tail(&f, printed);
        if (f.n > BPF_MAXINSNS) {
                free(f.code);
                return -E2BIG;
        }
        /* What allows a call goes on behind the filter, whose tail loads all that it needs. */
        for (size_t i = 0; i < n; i++)
                if (f.code[i].code == (BPF_RET | BPF_K) && f.code[i].k == SECCOMP_RET_ALLOW)
                        f.code[i] =
                                (struct sock_filter){.code = BPF_JMP | BPF_JA, .k = (uint32_t)(n - i - 1)};
        *ret = f;
        return 0;
}
