/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The handful of macros that every file uses: cleanup attributes, ownership
 * passing, array sizes.  Nothing that allocates or makes a system call, but for
 * the close and the free of a cleanup. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define nsrun_unused       __attribute__((__unused__))
#define nsrun_printf(a, b) __attribute__((__format__(printf, a, b)))
/* Of a failure alone: the compiler puts what leads there beside the way that a start goes. */
#define nsrun_cold __attribute__((__cold__))
/* For functions that run in a child between clone and _exit(): the sanitizers don't know the child's
 * stack and would report it on standard error. */
#define nsrun_no_asan __attribute__((__no_sanitize__("address", "thread")))
/* 1 in a build with AddressSanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define NSRUN_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NSRUN_HAS_ASAN 1
#endif
#endif
#ifndef NSRUN_HAS_ASAN
#define NSRUN_HAS_ASAN 0
#endif
/* To be said of memory that was a child's stack before it is unmapped.  A child that shares its parent's
 * memory leaves by execve(2) or _exit(2) with frames open, and what AddressSanitizer has noted of these
 * would be held against whatever is mapped there next. */
#if NSRUN_HAS_ASAN
#include <stddef.h>
void __asan_unpoison_memory_region(const volatile void *memory, size_t size);
#define nsrun_forget_frames(memory, size) __asan_unpoison_memory_region(memory, size)
#else
#define nsrun_forget_frames(memory, size) ((void)0)
#endif
/* 1 in a build with ThreadSanitizer. */
#if defined(__SANITIZE_THREAD__)
#define NSRUN_HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NSRUN_HAS_TSAN 1
#endif
#endif
#ifndef NSRUN_HAS_TSAN
#define NSRUN_HAS_TSAN 0
#endif
#define nsrun_public __attribute__((__visibility__("default")))

/* Closes *fd if it is one, keeps errno, leaves -EBADF behind. */
static inline void close_fdp(int *fd) {
        if (*fd >= 0) {
                int saved = errno;
                (void)close(*fd);
                errno = saved;
        }
        *fd = -EBADF;
}

static inline void free_voidp(void *p) {
        void *memory;

        memcpy(&memory, p, sizeof(memory));
        free(memory);
}

static inline void fclosep(FILE **f) {
        if (*f)
                (void)fclose(*f);
}

#define _cleanup_(f)     __attribute__((__cleanup__(f)))
#define _cleanup_close_  _cleanup_(close_fdp)
#define _cleanup_free_   _cleanup_(free_voidp)
#define _cleanup_fclose_ _cleanup_(fclosep)

/* Hands an owned value over and forgets it here. */
#define TAKE_GENERIC(var, type, nothing)        \
        __extension__({                         \
                type *take_from_ = &(var);      \
                type take_value_ = *take_from_; \
                *take_from_ = (nothing);        \
                take_value_;                    \
        })
#define TAKE_FD(fd) TAKE_GENERIC(fd, int, -EBADF)
#define TAKE_PTR(p) TAKE_GENERIC(p, __typeof__(p), NULL)

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

/* What follows prefix in s, or NULL. */
static inline const char *startswith(const char *s, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}
