/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calls of sys.h that make processes. */
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include "sys.h"

static int clone_result(long r) {
        return r < 0 ? -errno : (int)r;
}

/* ThreadSanitizer is told of a raw fork: else its locks may be another thread's in the child for ever.  A
 * child that shares the memory it is not told of: it takes each clone(2) that it sees for a fork, and
 * forgets the other threads.  Such a child runs as its parent's thread, whose descriptors aren't the
 * child's: what happens to these is no race. */
#if NSRUN_HAS_TSAN
void __sanitizer_syscall_pre_impl_fork(void);
void __sanitizer_syscall_post_impl_fork(long pid);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
int __clone(int (*child)(void *data), void *stack_top, int flags, void *data, ...);

#define AS_FORK(call)                                     \
        __extension__({                                   \
                long pid_;                                \
                int errno_;                               \
                                                          \
                __sanitizer_syscall_pre_impl_fork();      \
                pid_ = (call);                            \
                errno_ = errno;                           \
                __sanitizer_syscall_post_impl_fork(pid_); \
                errno = errno_;                           \
                pid_;                                     \
        })

static int clone_sharing(int (*child)(void *data), void *stack_top, int flags, void *data,
                         volatile pid_t *busy) {
        int r;

        __tsan_ignore_thread_begin();
        r = clone_result(__clone(child, stack_top, flags, data, NULL, NULL, busy));
        __tsan_ignore_thread_end();
        return r;
}
#else
#define AS_FORK(call) (call)

static int clone_sharing(int (*child)(void *data), void *stack_top, int flags, void *data,
                         volatile pid_t *busy) {
        return clone_result(clone(child, stack_top, flags, data, NULL, NULL, busy));
}
#endif

static int clone_plain(uint64_t flags, int *pidfd) {
        /* glibc's clone() wants a stack; the raw call with none is a fork.  s390
         * has the first two arguments the other way round. */
#ifdef __s390__
        return clone_result(
                AS_FORK(syscall(SYS_clone, NULL, (unsigned long)flags | SIGCHLD, pidfd, NULL, NULL)));
#else
        return clone_result(
                AS_FORK(syscall(SYS_clone, (unsigned long)flags | SIGCHLD, NULL, pidfd, NULL, NULL)));
#endif
}

static int clone_fork(uint64_t flags, bool is_told, int *ret_pidfd) {
        int pidfd = -EBADF, r;
        struct clone_args args = {
                .flags = flags | CLONE_PIDFD,
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                /* With CLONE_PARENT the child sends its parent the caller's own exit signal, and clone3(2)
                 * refuses another one. */
                .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD,
        };

        SYS_FAULT("clone");
        r = is_told ? clone_result(AS_FORK(syscall(SYS_clone3, &args, sizeof(args))))
                    : clone_result(syscall(SYS_clone3, &args, sizeof(args)));
        /* ENOSYS before 5.3 and from filters that can't read clone3's flags; EPERM
         * from filters older than that convention.  clone(2) then tells the truth. */
        if (r == -ENOSYS || r == -EPERM)
                r = clone_plain(flags | CLONE_PIDFD, &pidfd);
        if (r > 0)
                *ret_pidfd = pidfd;
        return r;
}

int sys_clone_namespaces(uint64_t flags, int *ret_pidfd) {
        return clone_fork(flags, true, ret_pidfd);
}

int sys_fork_to_enter(uint64_t flags, int *ret_pidfd) {
        return clone_fork(flags, false, ret_pidfd);
}

int sys_try_clone3(void) {
        SYS_FAULT("clone3");
        return clone_result(syscall(SYS_clone3, NULL, 0));
}

int sys_clone_into_cgroup(uint64_t flags, int cgroup, int *ret_pidfd) {
        int pidfd = -EBADF, r;
        struct clone_args args = {
                .flags = flags | CLONE_PIDFD | CLONE_INTO_CGROUP,
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
                .cgroup = (uint64_t)(unsigned)cgroup,
        };

        SYS_FAULT("clone");
        r = clone_result(AS_FORK(syscall(SYS_clone3, &args, sizeof(args))));
        /* E2BIG: 5.3 to 5.6.  ENOSYS and EPERM: as in sys_clone_namespaces(), which then tells. */
        if (r == -ENOSYS || r == -EPERM || r == -E2BIG)
                return -EOPNOTSUPP;
        if (r > 0)
                *ret_pidfd = pidfd;
        return r;
}

int sys_vfork(int (*child)(void *data), void *data, void *stack_top, bool shares_files) {
        SYS_FAULT("vfork");
        return clone_sharing(child, stack_top,
                             CLONE_VM | CLONE_VFORK | SIGCHLD | (shares_files ? CLONE_FILES : 0), data,
                             NULL);
}

int sys_clone_beside(int (*child)(void *data), void *data, void *stack_top, bool shares_files,
                     volatile pid_t *ret_busy) {
        int r;

        SYS_FAULT("clone");
        *ret_busy = 1;
        /* The kernel clears it when the child leaves this memory, by execve(2) or by its end
         * (set_tid_address(2)). */
        r = clone_sharing(child, stack_top,
                          CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD | (shares_files ? CLONE_FILES : 0), data,
                          ret_busy);
        if (r < 0)
                *ret_busy = 0;
        return r;
}

int sys_await_gone(const volatile pid_t *busy, struct pollfd *fds, nfds_t n, int ms) {
        const struct { long seconds, nanoseconds; } at_first = {0, 10000000};
        int waited = 0, tick = 2;

        SYS_FAULT("futex");
        /* In nearly all cases this is all: woken at once, as by vfork(2).  Only where it takes longer errno
         * is written, once. */
        if (*busy != 0)
                (void)syscall(SYS_futex, busy, FUTEX_WAIT, 1, &at_first, NULL, 0);
        while (*busy != 0 && (ms < 0 || waited < ms)) {
                if (poll(fds, n, tick) > 0)
                        return *busy;
                waited += tick;
                tick = tick < 16 ? tick * 2 : tick;
        }
        return *busy;
}

void sys_set_gone(volatile pid_t *busy) {
        *busy = 0;
        (void)syscall(SYS_futex, busy, FUTEX_WAKE, 1, NULL, NULL, 0);
}
