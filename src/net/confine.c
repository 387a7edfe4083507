/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See confine.h: Landlock for files, and filters of calls. */
#include "confine.h"

#include <linux/audit.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/sys.h"

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
 * proxy_filter). */
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
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ARCH AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define OWN_ARCH AUDIT_ARCH_S390X
#elif defined(__loongarch__)
#define OWN_ARCH AUDIT_ARCH_LOONGARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOAD_ARGUMENT(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i))
#else
#define LOAD_ARGUMENT(i) \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i) + 4)
#endif
#define RETURN(what)   BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSAL(error) (SECCOMP_RET_ERRNO | (error))
#define REFUSE(error)  RETURN(REFUSAL(error))
/* Goes on with the next `n` instructions for that call alone. */
#define FOR(call, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, (n))
/* For reading alone: FILE_ACCESS, O_CREAT, O_TRUNC and O_TMPFILE's own bit are all 0. */
#define WRITING (FILE_ACCESS | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define ALLOW_READING(call, argument)                                                               \
        FOR(call, 4), LOAD_ARGUMENT(argument), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, WRITING, 0, 1), \
                REFUSE(EACCES), RETURN(SECCOMP_RET_ALLOW)
#ifdef __s390x__
#define LOAD_CLONE_FLAGS LOAD_ARGUMENT(1)
#else
#define LOAD_CLONE_FLAGS LOAD_ARGUMENT(0)
#endif
/* Threads, and no process.  What clone3(2) is given can't be looked at: the C library then takes
 * clone(2). */
#define ALLOW_THREADS                                                                                  \
        FOR(SYS_clone, 4), LOAD_CLONE_FLAGS, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0), \
                REFUSE(EPERM), RETURN(SECCOMP_RET_ALLOW), FOR(SYS_clone3, 1), REFUSE(ENOSYS)

/* A filter: its beginning, then a list of calls for which the answer is one, then the rest. */
struct confine_filter {
        const int *calls;
        size_t n_calls;
        uint32_t answer;
        const struct sock_filter *rest;
        size_t n_rest;
};
#define CALLS(...) \
        { __VA_ARGS__ }
#define CALLS_MOST 96U
#define REST_MOST  40U

/* The calls of this machine's own architecture, by number. */
static const struct sock_filter filter_beginning[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
#ifdef __x86_64__
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1), /* x32 */
        RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
};

/* Calls that not every machine has: architectures from 2012 on came without the first, loongarch64 got the
 * last late. */
#ifdef SYS_open
#define OLDER_CALLS , SYS_epoll_wait, SYS_poll, SYS_stat, SYS_lstat, SYS_access, SYS_readlink
#define OLDER_POLL  , SYS_poll
#define OLDER_FORKS , SYS_fork, SYS_vfork
#else
#define OLDER_CALLS
#define OLDER_POLL
#define OLDER_FORKS
#endif
#ifdef SYS_fstat
#define LATE_CALLS , SYS_fstat, SYS_newfstatat
#else
#define LATE_CALLS
#endif

/* The loop's own, then the C library's and its name services'. */
static const int helper_calls[] = CALLS(
        SYS_recvfrom, SYS_sendto, SYS_splice, SYS_read, SYS_write, SYS_epoll_pwait, SYS_epoll_ctl,
        SYS_accept4, SYS_close, SYS_shutdown, SYS_connect, SYS_getsockname, SYS_getpeername, SYS_getsockopt,
        SYS_setsockopt, SYS_pipe2, SYS_socketpair, SYS_eventfd2, SYS_recvmsg, SYS_sendmsg, SYS_clock_gettime,
        SYS_futex, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_fcntl,
        SYS_ppoll, SYS_sendmmsg, SYS_recvmmsg, SYS_bind, SYS_readv, SYS_writev, SYS_pread64, SYS_lseek,
        SYS_statx, SYS_faccessat, SYS_readlinkat, SYS_getdents64, SYS_statfs, SYS_fstatfs, SYS_getpid,
        SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_getrandom,
        SYS_gettimeofday, SYS_clock_nanosleep, SYS_nanosleep, SYS_sched_yield, SYS_sched_getaffinity,
        SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_set_robust_list,
        SYS_rseq, SYS_exit, SYS_exit_group, SYS_restart_syscall LATE_CALLS OLDER_CALLS);
static const struct sock_filter helper_rest[] = {
        ALLOW_READING(SYS_openat, 2),
#ifdef SYS_open
        ALLOW_READING(SYS_open, 1),
#endif
        ALLOW_THREADS,
        /* Whether a process lives. */
        FOR(SYS_pidfd_send_signal, 4),
        LOAD_ARGUMENT(1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        REFUSE(EPERM),
        RETURN(SECCOMP_RET_ALLOW),
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

/* Before an SSH agent: bytes between descriptors that it has. */
static const int agent_calls[] =
        CALLS(SYS_ppoll, SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_accept4, SYS_close, SYS_brk, SYS_mmap,
              SYS_munmap, SYS_mremap, SYS_madvise, SYS_getrandom, SYS_futex, SYS_sched_yield,
              SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit_group OLDER_POLL);
static const struct sock_filter agent_rest[] = {REFUSE(EPERM)};

/* Of xdg-dbus-proxy, a program with the C library and GLib, of which nobody knows all calls: none by
 * which it starts or touches other processes, and sockets of one kind. */
static const int proxy_refused[] =
        CALLS(SYS_execveat, SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
              SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open, SYS_pidfd_getfd,
              SYS_pidfd_send_signal, SYS_unshare, SYS_setns, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
              SYS_io_uring_setup, SYS_keyctl, SYS_add_key, SYS_request_key OLDER_FORKS);
static const struct sock_filter proxy_rest[] = {
        ALLOW_THREADS,
        FOR(SYS_socket, 4),
        LOAD_ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        REFUSE(EAFNOSUPPORT),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ALLOW),
};

#define CONFINE_FILTER(listed, is, after)                                                          \
        {                                                                                          \
                .calls = (listed), .n_calls = ARRAY_SIZE(listed), .answer = (is), .rest = (after), \
                .n_rest = ARRAY_SIZE(after)                                                        \
        }
static const struct confine_filter helper_filter =
                                           CONFINE_FILTER(helper_calls, SECCOMP_RET_ALLOW, helper_rest),
                                   agent_filter = CONFINE_FILTER(agent_calls, SECCOMP_RET_ALLOW, agent_rest),
                                   proxy_filter = CONFINE_FILTER(proxy_refused, REFUSAL(EPERM), proxy_rest);
_Static_assert(ARRAY_SIZE(helper_calls) <= CALLS_MOST && ARRAY_SIZE(helper_rest) <= REST_MOST,
               "the longest filter has room");

static int install_filter(const struct confine_filter *f) {
        struct sock_filter code[ARRAY_SIZE(filter_beginning) + 2 * CALLS_MOST + REST_MOST];
        size_t n = ARRAY_SIZE(filter_beginning);

        memcpy(code, filter_beginning, sizeof(filter_beginning));
        for (size_t i = 0; i < f->n_calls; i++) {
                code[n++] = (struct sock_filter)FOR((uint32_t)f->calls[i], 1);
                code[n++] = (struct sock_filter)RETURN(f->answer);
        }
        memcpy(code + n, f->rest, f->n_rest * sizeof(*code));
        return sys_seccomp_filter(0, code, n + f->n_rest);
}

static int confine_with(bool has_files, const struct place *places, size_t n_places,
                        const struct confine_filter *f) {
        int r = sys_capset(0, 0);

        if (r >= 0)
                r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
        if (r >= 0)
                r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (r >= 0 && !has_files)
                r = confine_files(places, n_places);
        return r < 0 ? r : install_filter(f);
}

/* Fills places[] with folders. */
static size_t place_folders(struct place *places, const char *const *paths, size_t n, uint64_t access) {
        for (size_t i = 0; i < n; i++)
                places[i] = (struct place){.path = paths[i], .access = access};
        return n;
}

int confine(void) {
        struct place places[ARRAY_SIZE(readable)];

        return confine_with(false, places,
                            place_folders(places, readable, ARRAY_SIZE(readable), ACCESS_READ),
                            &helper_filter);
}

int confine_http(bool looks_at_peers) {
        return confine_with(looks_at_peers, NULL, 0, &helper_filter);
}

int confine_agent(void) {
        return confine_with(false, NULL, 0, &agent_filter);
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
        return confine_with(false, places, n, &proxy_filter);
}
