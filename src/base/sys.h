/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every system call that makes a sandbox, one thin function each: a negative
 * errno on failure, no state, safe between clone and exec.  The only place where
 * a test build (-DNSRUN_FAULTS, tests/sandbox/fault.c) makes the Nth call fail. */
#pragma once

#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include "macro.h"

struct sockaddr;

/* Kernel headers older than the feature: numbers and structures are ABI. */
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef OPEN_TREE_CLOEXEC
#define OPEN_TREE_CLOEXEC 02000000
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 0x00000004
#endif
#ifndef MOVE_MOUNT_T_EMPTY_PATH
#define MOVE_MOUNT_T_EMPTY_PATH 0x00000040
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

#ifdef NSRUN_FAULTS
/* tests/sandbox/fault.c: counts the call; -errno where this one is to fail, else 0. */
int fault_next(const char *call);
#define SYS_FAULT(call)                        \
        do {                                   \
                int fault_ = fault_next(call); \
                if (fault_ < 0)                \
                        return fault_;         \
        } while (0)
#else
#define SYS_FAULT(call) ((void)0)
#endif

/* clone3(2) without a new stack or shared memory: like fork.  Falls back to
 * clone(2) where clone3 is missing or refused by a filter.  *ret_pidfd. */
int sys_clone_namespaces(uint64_t flags, int *ret_pidfd);
/* A fork of a program without threads, whose child enters a user namespace: told of it, ThreadSanitizer
 * would start a thread in the child, and the kernel lets no process with threads in. */
int sys_fork_to_enter(uint64_t flags, int *ret_pidfd);
/* The same, born in the cgroup (v2) whose folder is `cgroup` (CLONE_INTO_CGROUP, 5.7).  -EOPNOTSUPP: there
 * is no clone3(2) that can. */
int sys_clone_into_cgroup(uint64_t flags, int cgroup, int *ret_pidfd);
/* Why clone3(2) can't be had; -EINVAL: it can. */
int sys_try_clone3(void);
/* A child that shares memory and holds the caller until it execs or exits; with
 * `shares_files` the descriptors too, until then. */
int sys_vfork(int (*child)(void *data), void *data, void *stack_top, bool shares_files);
/* The same without holding the caller, who uses another stack: *ret_busy is set, and cleared when the child
 * has a memory of its own or has ended. */
int sys_clone_beside(int (*child)(void *data), void *data, void *stack_top, bool shares_files,
                     volatile pid_t *ret_busy);
/* Waits for that, as long as none of fds[n] is readable and for `ms` milliseconds at most (-1: for ever).
 * After the first ten milliseconds it leaves errno alone, which is the child's, too.  0: the child has gone
 * on. */
int sys_await_gone(const volatile pid_t *busy, struct pollfd *fds, nfds_t n, int ms);
/* Clears it, and wakes who waits for that. */
void sys_set_gone(volatile pid_t *busy);
int sys_execve(const char *path, char *const *argv, char *const *envp);
int sys_execveat(int dir, const char *path, char *const *argv, char *const *envp, int flags);
int sys_waitid(int idtype, id_t id, siginfo_t *info, int options);
int sys_kill(pid_t pid, int signal);
int sys_pidfd_open(pid_t pid);
int sys_pidfd_send_signal(int pidfd, int signal);
/* Kills a child, waits for its end and closes *pidfd, if it is one. */
void sys_end_process(int *pidfd);
int sys_setsid(void);
int sys_setpgid(pid_t pid, pid_t group);

/* A resource limit (RLIMIT_*) of the calling process; either may be NULL.  The kernel's infinity is
 * UINT64_MAX. */
struct sys_rlimit {
        uint64_t soft, hard;
};
/* CLOCK_MONOTONIC, in milliseconds. */
uint64_t sys_now_ms(void);
int sys_prlimit(int resource, const struct sys_rlimit *set, struct sys_rlimit *ret_old);

int sys_open(int dir, const char *path, int flags, mode_t mode);
int sys_openat2(int dir, const char *path, int flags, mode_t mode, uint64_t resolve);
int sys_close(int fd);
int sys_close_range(unsigned first, unsigned last);
int sys_pipe(int ret[2]);
/* `to` is open across an exec then, also where it is `from`. */
int sys_dup_to(int from, int to);
int sys_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
ssize_t sys_read(int fd, void *to, size_t n);
ssize_t sys_write(int fd, const void *from, size_t n);
int sys_fstat(int fd, struct stat *ret);
int sys_fstatfs(int fd, struct statfs *ret);
int sys_stat(const char *path, struct stat *ret);
/* Which file `path` leads to, and by which mount (0 before 5.8). */
struct sys_file {
        uint64_t mount, inode;
        uint32_t device_major, device_minor;
        bool is_below_mount; /* not what is mounted there, but a part of it; false before 5.8, which doesn't
                                tell */
};
int sys_statx(int dir, const char *path, struct sys_file *ret);
/* The mount that an open file was found by (of another one never the id again, since 6.8), which isn't
 * asked; and whether its file system keeps attributes like that of being immutable, which those do that
 * nobody but the kernel serves. */
struct sys_mount {
        uint64_t id;
        bool is_local;
        bool is_root; /* what was opened is where it is mounted */
};
int sys_mount_of(int fd, struct sys_mount *ret);
/* Of what kind a path is, with as much of its mode as the kernel knows, and whether it is a mount point;
 * what would be mounted by a look isn't, and a symlink isn't followed. */
int sys_look(const char *path, unsigned *ret_mode, bool *ret_is_mount);
/* A file's inode, and when it was made, in nanoseconds (0 where the file system doesn't know).  A symlink
 * isn't followed. */
int sys_birth(int dir, const char *path, uint64_t *ret_inode, uint64_t *ret_born);
/* The MS_* flags of the mount that `fd`, or `path` if that isn't NULL, lies on, as a remount wants them. */
int sys_mount_flags(int fd, const char *path, unsigned long *ret);
/* Whether it is a plain file that the caller may execute: 0, -EACCES, or why it can't be told. */
int sys_is_executable(const char *path);
int sys_fchmod(int fd, mode_t mode);
int sys_chmod(const char *path, mode_t mode);
int sys_fchown(int fd, uid_t uid, gid_t gid); /* -1: it stays */
int sys_access(const char *path, int mode);
/* With an empty path that of the O_PATH descriptor `dir` itself.  The length; no NUL is put behind it. */
ssize_t sys_readlinkat(int dir, const char *path, char *to, size_t size);
int sys_unlinkat(int dir, const char *path);
int sys_rmdirat(int dir, const char *path);
/* A read lock on a whole file, held until the process ends (fcntl(2), F_SETLK). */
int sys_lock_shared(int fd);
int sys_unshare(uint64_t flags);
int sys_setns(int fd, uint64_t kind); /* with a pidfd (5.8): several kinds at once */
int sys_mkdirat(int dir, const char *path, mode_t mode);
int sys_mknodat(int dir, const char *path, mode_t mode);
int sys_symlinkat(const char *text, int dir, const char *path);
int sys_chdir(const char *path);
int sys_fchdir(int fd);

int sys_mount(const char *source, const char *target, const char *type, unsigned long flags,
              const char *data);
int sys_umount(const char *path, int flags);
int sys_pivot_root(const char *new_root, const char *put_old);
int sys_open_tree(int dir, const char *path, unsigned flags);
/* open_tree(2) of an open file and mount_setattr(2) of the copy in one (6.15). */
int sys_open_tree_attr(int dir, const char *path, unsigned flags, uint64_t set);
/* To `path` beneath the folder `to`, of which the last name isn't followed; or with "" to what `to` is. */
int sys_move_mount(int from, int to, const char *path);
int sys_mount_setattr(int fd, unsigned flags, uint64_t set);
int sys_mount_let_write(int fd);
/* A remount that changes nothing (fspick(2), 5.2) of the file system whose folder `fd` is: the kernel
 * forgets which names it has looked up there, as far as nobody uses them. */
int sys_remount_same(int fd);
/* 0 if open_tree(2), move_mount(2) and mount_setattr(2) exist and no filter refuses them, or that one's
 * -errno: called with arguments that a kernel which has them refuses first of all. */
int sys_find_mount_calls(void);

int sys_prctl(int option, unsigned long a, unsigned long b);
/* Sets the permitted and effective sets, and the inheritable one. */
int sys_capset(uint64_t permitted, uint64_t inheritable);
/* The permitted set. */
int sys_capget(uint64_t *ret);
/* The real, effective and saved id. */
int sys_set_uid(uid_t id);
int sys_set_gid(gid_t id);
int sys_set_groups(const gid_t *ids, size_t n);
int sys_sethostname(const char *name, size_t n);
int sys_sigmask(int how, const sigset_t *set, sigset_t *ret_old);
int sys_signalfd(const sigset_t *set);
/* For kernel headers older than 5.0. */
#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1U << 3)
#endif
/* Since 5.19: once a call was asked about, a signal's handler waits for the answer and doesn't interrupt it,
 * which opens of files never are. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1U << 5)
#endif
/* Installs a filter for the calling thread; `flags`: SECCOMP_FILTER_FLAG_*.  With
 * NEW_LISTENER the result is the listener, close-on-exec. */
int sys_seccomp_filter(unsigned flags, const struct sock_filter *code, size_t n);
/* The same by prctl(2), without a flag: a filter that is installed already may allow that call alone. */
int sys_prctl_filter(const struct sock_filter *code, size_t n);
/* Takes one notification from a listener, and answers one.  -ENOENT: whoever asked is gone. */
int sys_seccomp_receive(int listener, struct seccomp_notif *ret);
int sys_seccomp_answer(int listener, const struct seccomp_notif *to, int error);
/* Whether the call still waits for its answer. */
bool sys_seccomp_waits(int listener, const struct seccomp_notif *call);
/* Lets the call go on as if nobody had been asked. */
int sys_seccomp_continue(int listener, const struct seccomp_notif *to);
/* Has who asks and who answers take turns on one processor (6.6). */
int sys_seccomp_take_turns(int listener);
/* Scopes came with ABI 6 (Linux 6.12). */
#define LANDLOCK_ABI_SCOPES 6
/* Landlock's version, from 1 on; -EOPNOTSUPP or -ENOSYS where there is none. */
int sys_landlock_abi(void);
/* Enters a Landlock domain that has these scopes and restricts no file; it can't be left again. */
int sys_landlock_scope(uint64_t scoped);
int sys_landlock_restrict(int ruleset);
/* socketpair(2) of SOCK_SEQPACKET sockets; sys_send_fd() passes a descriptor over one of them (SCM_RIGHTS).
 */
int sys_socketpair(int ret[2]);
int sys_send_fd(int socket, int fd);
/* The descriptor that sys_send_fd() passed. -EPIPE: the other end was closed without sending one. */
int sys_receive_fd(int socket);
/* A message with up to SYS_FDS_MOST descriptors, and what came of one: its length, 0 where the other end was
 * closed.  -EBADMSG: it was longer. */
#define SYS_FDS_MOST 64
int sys_send_fds(int socket, const void *data, size_t n, const int *fds, size_t n_fds);
ssize_t sys_receive_fds(int socket, void *to, size_t size, int *ret_fds, size_t most, size_t *ret_n_fds);
int sys_bind(int fd, const struct sockaddr *address, unsigned length);
int sys_listen(int fd, int backlog);
int sys_setsockopt(int fd, int level, int option, int value);
/* A counter (eventfd(2)), non-blocking. */
int sys_eventfd(void);
/* A file in memory. */
int sys_memfd(const char *name);
/* Sets an interface's flags: a datagram socket's SIOCSIFFLAGS. */
int sys_socket(int domain, int type, int protocol);
int sys_ioctl(int fd, unsigned long request, void *argument);
