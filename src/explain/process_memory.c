/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process_memory.h"

#include <sys/uio.h>

size_t peek(uint32_t pid, uint64_t address, void *to, size_t size) {
        size_t first = 4096 - address % 4096;
        struct iovec own = {.iov_base = to, .iov_len = size}, its[2];
        ssize_t n;

        first = first < size ? first : size;
        its[0] = (struct iovec){.iov_base = (void *)(uintptr_t)address, .iov_len = first};
        its[1] = (struct iovec){.iov_base = (void *)(uintptr_t)(address + first), .iov_len = size - first};
        n = process_vm_readv((pid_t)pid, &own, 1, its, size > first ? 2 : 1, 0);
        return n > 0 ? (size_t)n : 0;
}
