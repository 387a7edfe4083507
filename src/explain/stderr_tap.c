/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stderr_tap.h"

#include <sys/uio.h>

#include "base/sys.h"
#include "process_memory.h"

/* Of one write, so much of its end is read, and so many parts of a writev(2). */
#define WRITE_MOST 4096
#define PARTS_MOST 16

unsigned printed_begin(struct printed *p, const int *stdio) {
        /* A shell's own echo >&2 makes standard output the same for as long as it writes. */
        return sys_fstat(stdio && stdio[2] >= 0 ? stdio[2] : 2, &p->stream) < 0 ? 0 : 1U << 1 | 1U << 2;
}

/* A program sends elsewhere what nobody is to see, a script's probes for example. */
static bool is_stream(const struct printed *p, uint32_t pid, unsigned fd) {
        struct stat st;
        char path[48];

        (void)snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
        return sys_stat(path, &st) >= 0 && st.st_dev == p->stream.st_dev && st.st_ino == p->stream.st_ino;
}

static void printed_add(struct printed *p, uint32_t pid, uint64_t address, uint64_t size) {
        size_t n = size < WRITE_MOST ? (size_t)size : WRITE_MOST;

        p->n += peek(pid, address + (size - n), p->bytes + p->n, n);
}

/* As a 64-bit process has it: the calls of others aren't asked about. */
struct part {
        uint64_t address, size;
};

/* For the largest write.  The kernel gives the pages of what is never used to nobody. */
static bool make_room(struct printed *p) {
        _Static_assert(PARTS_MOST * WRITE_MOST <= PRINTED_MOST, "a write has room behind what is kept");
        if (!p->bytes && !(p->bytes = malloc(2 * PRINTED_MOST)))
                return false;
        if (p->n > PRINTED_MOST) {
                memmove(p->bytes, p->bytes + p->n - PRINTED_MOST, PRINTED_MOST);
                p->n = PRINTED_MOST;
        }
        return true;
}

size_t printed_take(struct printed *p, const struct seccomp_notif *question, bool is_vector) {
        const uint64_t *arguments = (const uint64_t *)question->data.args;
        struct part parts[PARTS_MOST] = {{.address = arguments[1], .size = arguments[2]}};
        size_t n = 1, before;

        if (!is_stream(p, question->pid, (unsigned)arguments[0]) || !make_room(p))
                return 0;
        before = p->n;
        if (is_vector) {
                n = arguments[2] < PARTS_MOST ? (size_t)arguments[2] : PARTS_MOST;
                n = peek(question->pid, arguments[1], parts, n * sizeof(*parts)) / sizeof(*parts);
        }
        for (size_t i = 0; i < n; i++)
                printed_add(p, question->pid, parts[i].address, parts[i].size);
        return p->n - before;
}

void printed_clear(struct printed *p) {
        free(p->bytes);
        *p = (struct printed){.bytes = NULL};
}
