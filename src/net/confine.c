/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-net without what it doesn't need: no capability, no file but those that the C library looks names up
 * with and these for reading, no program, no process but its threads, no other kind of socket. */
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/sys.h"
#include "helper.h"

/* Of <linux/landlock.h>, which the build may not have. */
struct landlock_files {
        uint64_t handled_access_fs;
};
struct landlock_beneath {
        uint64_t allowed_access;
        int32_t parent_fd;
} __attribute__((__packed__));
#define LANDLOCK_RULE_BENEATH 1
#define ACCESS_READ           (UINT64_C(1) << 2 | UINT64_C(1) << 3) /* READ_FILE, READ_DIR */
#define ACCESS_EXECUTE        (UINT64_C(1) << 0)
#define ACCESS_READ_FILE      (UINT64_C(1) << 2)
#define ACCESS_REMOVE_FILE    (UINT64_C(1) << 5)
#define ACCESS_MAKE_SOCKET    (UINT64_C(1) << 9)
#define ACCESS_ALL_ABI1       ((UINT64_C(1) << 13) - 1)
#define ACCESS_REFER          (UINT64_C(1) << 13) /* ABI 2 */
#define ACCESS_TRUNCATE       (UINT64_C(1) << 14) /* ABI 3 */
#define ACCESS_IOCTL          (UINT64_C(1) << 15) /* ABI 5 */

/* What name services read: their configuration and the libraries that they are.  Folders and no files,
 * since a resolv.conf is replaced when the host moves to another network. */
static const char *const readable[] = {
        "/etc",
        "/usr",
        "/lib",
        "/lib64",
        "/nix/store",
        "/gnu/store",
        "/run/systemd/resolve",
        "/run/resolvconf",
        "/run/NetworkManager",
        "/run/nscd",
        "/var/run/nscd",
        "/run/connman",
        "/mnt/wsl",
};

/* xdg-dbus-proxy's: the loader, and the libraries. */
static const char *const executable[] = {
        "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/nix/store", "/gnu/store",
};

/* What may be done with a file, or beneath a folder. */
struct place {
        const char *path; /* of a folder; or NULL */
        int fd;
        uint64_t access;
};

static void landlock_add_place(int ruleset, const struct place *place) {
        struct landlock_beneath rule = {.allowed_access = place->access};
        _cleanup_close_ int fd = place->path ? open(place->path, O_PATH | O_CLOEXEC | O_DIRECTORY) : -EBADF;

        rule.parent_fd = place->path ? fd : place->fd;
        if (rule.parent_fd >= 0)
                (void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_BENEATH, &rule, 0U);
}

/* A kernel without Landlock leaves it at the filter, which lets no file be written (but
 * filter_of_proxy[]). */
static int confine_files(const struct place *places, size_t n) {
        struct landlock_files files = {.handled_access_fs = ACCESS_ALL_ABI1};
        _cleanup_close_ int ruleset = -EBADF;
        int abi = sys_landlock_abi();

        if (abi <= 0)
                return 0;
        if (abi >= 2)
                files.handled_access_fs |= ACCESS_REFER;
        if (abi >= 3)
                files.handled_access_fs |= ACCESS_TRUNCATE;
        if (abi >= 5)
                files.handled_access_fs |= ACCESS_IOCTL;
        ruleset = (int)syscall(SYS_landlock_create_ruleset, &files, sizeof(files), 0U);
        if (ruleset < 0)
                return -errno;
        for (size_t i = 0; i < n; i++)
                landlock_add_place(ruleset, &places[i]);
        return sys_landlock_restrict(ruleset);
}

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_ARCH AUDIT_ARCH_RISCV64
#elif defined(__i386__)
#define OWN_ARCH AUDIT_ARCH_I386
#elif defined(__arm__)
#define OWN_ARCH AUDIT_ARCH_ARM
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ARCH AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define OWN_ARCH AUDIT_ARCH_S390X
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOAD_ARGUMENT(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i))
#else
#define LOAD_ARGUMENT(i) \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i) + 4)
#endif
#define RETURN(what)  BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define DENY(call)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), REFUSE(EPERM)
#define ALLOW(call)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* Goes on with the next `n` instructions for that call alone. */
#define FOR(call, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, (n))
/* For reading alone: FILE_ACCESS, O_CREAT, O_TRUNC and O_TMPFILE's own bit are all 0. */
#define WRITING (FILE_ACCESS | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define ALLOW_READING(call, argument)                                                               \
        FOR(call, 4), LOAD_ARGUMENT(argument), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, WRITING, 0, 1), \
                REFUSE(EACCES), RETURN(SECCOMP_RET_ALLOW)

static const struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
#ifdef __x86_64__
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1), /* x32 */
        RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
        /* The loop's own. */
        ALLOW(SYS_recvfrom),
        ALLOW(SYS_sendto),
        ALLOW(SYS_splice),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
#ifdef SYS_epoll_wait
        ALLOW(SYS_epoll_wait),
#endif
        ALLOW(SYS_epoll_pwait),
        ALLOW(SYS_epoll_ctl),
        ALLOW(SYS_accept4),
        ALLOW(SYS_close),
        ALLOW(SYS_shutdown),
        ALLOW(SYS_connect),
        ALLOW(SYS_getsockname),
        ALLOW(SYS_getpeername),
        ALLOW(SYS_getsockopt),
        ALLOW(SYS_setsockopt),
        ALLOW(SYS_pipe2),
        ALLOW(SYS_eventfd2),
        ALLOW(SYS_recvmsg),
        ALLOW(SYS_sendmsg),
#ifdef SYS_clock_gettime
        ALLOW(SYS_clock_gettime),
#endif
#ifdef SYS_clock_gettime64
        ALLOW(SYS_clock_gettime64),
#endif
        /* The C library's, and its name services'. */
        ALLOW(SYS_futex),
#ifdef SYS_futex_time64
        ALLOW(SYS_futex_time64),
#endif
#ifdef SYS_mmap
        ALLOW(SYS_mmap),
#endif
#ifdef SYS_mmap2
        ALLOW(SYS_mmap2),
#endif
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_madvise),
        ALLOW(SYS_brk),
        ALLOW(SYS_fcntl),
#ifdef SYS_fcntl64
        ALLOW(SYS_fcntl64),
#endif
#ifdef SYS_poll
        ALLOW(SYS_poll),
#endif
        ALLOW(SYS_ppoll),
#ifdef SYS_ppoll_time64
        ALLOW(SYS_ppoll_time64),
#endif
        ALLOW(SYS_sendmmsg),
#ifdef SYS_recvmmsg
        ALLOW(SYS_recvmmsg),
#endif
        ALLOW(SYS_bind),
        ALLOW(SYS_readv),
        ALLOW(SYS_writev),
        ALLOW(SYS_pread64),
        ALLOW(SYS_lseek),
#ifdef SYS__llseek
        ALLOW(SYS__llseek),
#endif
        ALLOW(SYS_fstat),
#ifdef SYS_fstat64
        ALLOW(SYS_fstat64),
#endif
#ifdef SYS_newfstatat
        ALLOW(SYS_newfstatat),
#endif
#ifdef SYS_fstatat64
        ALLOW(SYS_fstatat64),
#endif
#ifdef SYS_stat
        ALLOW(SYS_stat),
        ALLOW(SYS_lstat),
        ALLOW(SYS_access),
        ALLOW(SYS_readlink),
#endif
        ALLOW(SYS_statx),
        ALLOW(SYS_faccessat),
        ALLOW(SYS_readlinkat),
        ALLOW(SYS_getdents64),
        ALLOW(SYS_statfs),
        ALLOW(SYS_fstatfs),
        ALLOW(SYS_getpid),
        ALLOW(SYS_gettid),
        ALLOW(SYS_getuid),
        ALLOW(SYS_geteuid),
        ALLOW(SYS_getgid),
        ALLOW(SYS_getegid),
        ALLOW(SYS_uname),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_gettimeofday),
        ALLOW(SYS_clock_nanosleep),
        ALLOW(SYS_nanosleep),
        ALLOW(SYS_sched_yield),
        ALLOW(SYS_sched_getaffinity),
        ALLOW(SYS_rt_sigaction),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_sigaltstack),
        ALLOW(SYS_set_robust_list),
#ifdef SYS_rseq
        ALLOW(SYS_rseq),
#endif
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_restart_syscall),
        ALLOW_READING(SYS_openat, 2),
#ifdef SYS_open
        ALLOW_READING(SYS_open, 1),
#endif
        /* Threads, and no process.  What clone3(2) is given can't be looked at: the C library then takes
         * clone(2). */
        FOR(SYS_clone, 4),
#ifdef __s390x__
        LOAD_ARGUMENT(1),
#else
        LOAD_ARGUMENT(0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        REFUSE(EPERM),
        RETURN(SECCOMP_RET_ALLOW),
        FOR(SYS_clone3, 1),
        REFUSE(ENOSYS),
        FOR(SYS_ioctl, 5),
        LOAD_ARGUMENT(1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIONREAD, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIOCATMARK, 1, 0),
        REFUSE(ENOTTY),
        RETURN(SECCOMP_RET_ALLOW),
        FOR(SYS_socket, 7),
        LOAD_ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0),
        REFUSE(EAFNOSUPPORT),
        RETURN(SECCOMP_RET_ALLOW),
        REFUSE(EPERM),
};

/* Of the filter before an SSH agent: bytes between descriptors that it has. */
static const struct sock_filter filter_of_agent[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
#ifdef __x86_64__
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1), /* x32 */
        RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
#ifdef SYS_poll
        ALLOW(SYS_poll),
#endif
        ALLOW(SYS_ppoll),
#ifdef SYS_ppoll_time64
        ALLOW(SYS_ppoll_time64),
#endif
        ALLOW(SYS_recvfrom),
        ALLOW(SYS_sendto),
        ALLOW(SYS_recvmsg),
        ALLOW(SYS_accept4),
        ALLOW(SYS_close),
        ALLOW(SYS_brk),
#ifdef SYS_mmap
        ALLOW(SYS_mmap),
#endif
#ifdef SYS_mmap2
        ALLOW(SYS_mmap2),
#endif
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_futex),
        ALLOW(SYS_sched_yield),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_restart_syscall),
        ALLOW(SYS_exit_group),
        REFUSE(EPERM),
};

/* Of xdg-dbus-proxy, a program with the C library and GLib, of which nobody knows all calls: none by which
 * it starts or touches other processes, and sockets of one kind. */
static const struct sock_filter filter_of_proxy[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
#ifdef __x86_64__
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1), /* x32 */
        RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
        FOR(SYS_clone, 4),
#ifdef __s390x__
        LOAD_ARGUMENT(1),
#else
        LOAD_ARGUMENT(0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        REFUSE(EPERM),
        RETURN(SECCOMP_RET_ALLOW),
        FOR(SYS_clone3, 1),
        REFUSE(ENOSYS),
        FOR(SYS_socket, 4),
        LOAD_ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        REFUSE(EAFNOSUPPORT),
        RETURN(SECCOMP_RET_ALLOW),
#ifdef SYS_fork
        DENY(SYS_fork),
        DENY(SYS_vfork),
#endif
        DENY(SYS_execveat),
        DENY(SYS_kill),
        DENY(SYS_tkill),
        DENY(SYS_tgkill),
        DENY(SYS_rt_sigqueueinfo),
        DENY(SYS_rt_tgsigqueueinfo),
        DENY(SYS_ptrace),
        DENY(SYS_process_vm_readv),
        DENY(SYS_process_vm_writev),
        DENY(SYS_pidfd_open),
        DENY(SYS_pidfd_getfd),
        DENY(SYS_pidfd_send_signal),
        DENY(SYS_unshare),
        DENY(SYS_setns),
        DENY(SYS_bpf),
        DENY(SYS_perf_event_open),
        DENY(SYS_userfaultfd),
        DENY(SYS_io_uring_setup),
        DENY(SYS_keyctl),
        DENY(SYS_add_key),
        DENY(SYS_request_key),
        RETURN(SECCOMP_RET_ALLOW),
};

static int confine_with(const struct place *places, size_t n_places, const struct sock_filter *calls,
                        size_t n_calls) {
        int r;

        r = sys_capset_empty();
        if (r >= 0)
                r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
        if (r >= 0)
                r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (r >= 0)
                r = confine_files(places, n_places);
        return r < 0 ? r : sys_seccomp_filter(0, calls, n_calls);
}

/* Fills places[] with folders. */
static size_t place_folders(struct place *places, const char *const *paths, size_t n, uint64_t access) {
        for (size_t i = 0; i < n; i++)
                places[i] = (struct place){.path = paths[i], .access = access};
        return n;
}

int confine(void) {
        struct place places[ARRAY_SIZE(readable)];

        return confine_with(places, place_folders(places, readable, ARRAY_SIZE(readable), ACCESS_READ),
                            filter, ARRAY_SIZE(filter));
}

int confine_agent(void) {
        return confine_with(NULL, 0, filter_of_agent, ARRAY_SIZE(filter_of_agent));
}

int confine_proxy(const char *program, int folder) {
        struct place places[ARRAY_SIZE(readable) + ARRAY_SIZE(executable) + 2];
        _cleanup_close_ int fd = open(program, O_PATH | O_CLOEXEC);
        size_t n;

        if (fd < 0)
                return -errno;
        n = place_folders(places, readable, ARRAY_SIZE(readable), ACCESS_READ);
        n += place_folders(places + n, executable, ARRAY_SIZE(executable), ACCESS_READ | ACCESS_EXECUTE);
        places[n++] = (struct place){.fd = fd, .access = ACCESS_READ_FILE | ACCESS_EXECUTE};
        places[n++] = (struct place){.fd = folder, .access = ACCESS_MAKE_SOCKET | ACCESS_REMOVE_FILE};
        return confine_with(places, n, filter_of_proxy, ARRAY_SIZE(filter_of_proxy));
}
