/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system calls of sys.h.  No policy, no retries but for EINTR where a
 * half-done call would be a riddle. */
#include "sys.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int result(long r) {
        return r < 0 ? -errno : (int)r;
}

/* A call that is no more than that; and its name where it is made to fail. */
#define SYS(name, fault, parameters, call) \
        int sys_##name parameters {        \
                SYS_FAULT(fault);          \
                return result(call);       \
        }

SYS(execve, "execve", (const char *path, char *const *argv, char *const *envp), execve(path, argv, envp))
SYS(execveat, "execveat", (int dir, const char *path, char *const *argv, char *const *envp, int flags),
    syscall(SYS_execveat, dir, path, argv, envp, flags))

int sys_waitid(int idtype, id_t id, siginfo_t *info, int options) {
        int r;

        SYS_FAULT("waitid");
        do
                r = result(waitid((idtype_t)idtype, id, info, options));
        while (r == -EINTR);
        return r;
}

SYS(kill, "kill", (pid_t pid, int signal), kill(pid, signal))
SYS(pidfd_open, "pidfd_open", (pid_t pid), syscall(SYS_pidfd_open, pid, 0))
SYS(pidfd_send_signal, "pidfd_send_signal", (int pidfd, int signal),
    syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0))

void sys_end_process(int *pidfd) {
        siginfo_t info;

        if (*pidfd >= 0) {
                (void)sys_pidfd_send_signal(*pidfd, SIGKILL);
                (void)sys_waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED);
        }
        close_fdp(pidfd);
}

SYS(setsid, "setsid", (void), setsid())
SYS(setpgid, "setpgid", (pid_t pid, pid_t group), setpgid(pid, group))

/* prlimit64(2) directly: the C library's prlimit() takes rlim_t, which may have 32 bits and another
 * infinity. */
SYS(prlimit, "prlimit", (int resource, const struct sys_rlimit *set, struct sys_rlimit *ret_old),
    syscall(SYS_prlimit64, 0, resource, set, ret_old))
SYS(open, "open", (int dir, const char *path, int flags, mode_t mode),
    openat(dir, path, flags | O_CLOEXEC, mode))

int sys_openat2(int dir, const char *path, int flags, mode_t mode, uint64_t resolve) {
        struct open_how how = {
                .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                .mode = mode,
                .resolve = resolve,
        };

        SYS_FAULT("openat2");
        return result(syscall(SYS_openat2, dir, path, &how, sizeof(how)));
}

int sys_close(int fd) {
        return result(close(fd));
}

SYS(close_range, "close_range", (unsigned first, unsigned last), syscall(SYS_close_range, first, last, 0))
SYS(pipe, "pipe2", (int ret[2]), pipe2(ret, O_CLOEXEC))

int sys_dup_to(int from, int to) {
        SYS_FAULT("dup");
        if (from == to)
                return result(fcntl(to, F_SETFD, 0));
        return result(dup2(from, to));
}

uint64_t sys_now_ms(void) {
        struct timespec now = {0};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

SYS(poll, "poll", (struct pollfd * fds, nfds_t n, int timeout_ms), poll(fds, n, timeout_ms))

ssize_t sys_read(int fd, void *to, size_t n) {
        ssize_t r;

        SYS_FAULT("read");
        do
                r = read(fd, to, n);
        while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : r;
}

ssize_t sys_write(int fd, const void *from, size_t n) {
        ssize_t r;

        SYS_FAULT("write");
        do
                r = write(fd, from, n);
        while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : r;
}

SYS(fstat, "fstat", (int fd, struct stat *ret), fstat(fd, ret))
SYS(fstatfs, "fstatfs", (int fd, struct statfs *ret), fstatfs(fd, ret))
SYS(stat, "stat", (const char *path, struct stat *ret), stat(path, ret))

/* The kernel's struct statx: musl has none before 1.2.4, and <linux/stat.h> and
 * <sys/stat.h> don't go together there. */
struct kernel_time {
        int64_t seconds;
        uint32_t nanoseconds;
        int32_t unused;
};
struct kernel_statx {
        uint32_t mask, block_size;
        uint64_t attributes;
        uint32_t links, uid, gid;
        uint16_t mode, unused;
        uint64_t inode, size, blocks, attributes_mask;
        struct kernel_time accessed, born, changed, modified;
        uint32_t rdev_major, rdev_minor, device_major, device_minor;
        uint64_t mount, spare[13];
};
_Static_assert(sizeof(struct kernel_statx) == 256, "struct statx is ABI");
#define KERNEL_STATX_TYPE      0x0001U
#define KERNEL_STATX_MODE      0x0002U
#define KERNEL_STATX_INO       0x0100U
#define KERNEL_STATX_BTIME     0x0800U
#define KERNEL_STATX_MNT_ID    0x1000U
#define KERNEL_STATX_UNIQUE_ID 0x4000U /* 6.8; before, an id may be used again */
#define KERNEL_ATTR_MOUNT_ROOT 0x2000U
#define KERNEL_ATTR_IMMUTABLE  0x0010U
#define KERNEL_DONT_SYNC       0x4000

int sys_statx(int dir, const char *path, struct sys_file *ret) {
        struct kernel_statx st = {0};
        int r;

        SYS_FAULT("statx");
        r = result(syscall(SYS_statx, dir, path, 0, KERNEL_STATX_INO | KERNEL_STATX_MNT_ID, &st));
        if (r >= 0)
                *ret = (struct sys_file){st.mount, st.inode, st.device_major, st.device_minor,
                                         (st.attributes_mask & ~st.attributes & KERNEL_ATTR_MOUNT_ROOT) !=
                                                 0};
        return r;
}

int sys_mount_of(int fd, struct sys_mount *ret) {
        struct kernel_statx st = {0};
        int r = result(
                syscall(SYS_statx, fd, "", AT_EMPTY_PATH | KERNEL_DONT_SYNC, KERNEL_STATX_UNIQUE_ID, &st));

        *ret = (struct sys_mount){.id = st.mount,
                                  .is_local = st.attributes_mask & KERNEL_ATTR_IMMUTABLE,
                                  .is_root = st.attributes & KERNEL_ATTR_MOUNT_ROOT};
        return r;
}

int sys_look(const char *path, unsigned *ret_mode, bool *ret_is_mount) {
        struct kernel_statx st = {0};
        int r = result(syscall(SYS_statx, AT_FDCWD, path,
                               AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | KERNEL_DONT_SYNC,
                               KERNEL_STATX_TYPE | KERNEL_STATX_MODE, &st));

        *ret_mode = st.mode;
        *ret_is_mount = st.attributes & KERNEL_ATTR_MOUNT_ROOT;
        return r;
}

int sys_birth(int dir, const char *path, uint64_t *ret_inode, uint64_t *ret_born) {
        struct kernel_statx st = {0};
        int r;

        SYS_FAULT("statx");
        r = result(syscall(SYS_statx, dir, path, AT_SYMLINK_NOFOLLOW, KERNEL_STATX_INO | KERNEL_STATX_BTIME,
                           &st));
        if (r < 0)
                return r;
        *ret_inode = st.inode;
        *ret_born = (uint64_t)st.born.seconds * 1000000000U + st.born.nanoseconds;
        return 0;
}

int sys_mount_flags(int fd, const char *path, unsigned long *ret) {
        const unsigned long same = ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC | ST_NOATIME | ST_NODIRATIME;
        struct statfs st;

        SYS_FAULT("fstatfs");
        if ((path ? statfs(path, &st) : fstatfs(fd, &st)) < 0)
                return -errno;
        *ret = ((unsigned long)st.f_flags & same) | (st.f_flags & ST_RELATIME ? MS_RELATIME : 0UL);
        return 0;
}

int sys_is_executable(const char *path) {
        struct stat st;
        int r;

        SYS_FAULT("faccessat");
        r = result(faccessat(AT_FDCWD, path, X_OK, AT_EACCESS));
        /* From a container's filter, which knows no faccessat2(2): the older call goes by the real ids,
         * which in a sandbox are the effective ones, too. */
        if (r == -EPERM)
                r = result((int)syscall(SYS_faccessat, AT_FDCWD, path, X_OK));
        if (r < 0)
                return r;
        r = result(stat(path, &st));
        return r < 0 ? r : S_ISREG(st.st_mode) ? 0 : -EACCES;
}

SYS(access, "access", (const char *path, int mode), access(path, mode))
SYS(chmod, "chmod", (const char *path, mode_t mode), chmod(path, mode))

ssize_t sys_readlinkat(int dir, const char *path, char *to, size_t size) {
        ssize_t n;

        SYS_FAULT("readlinkat");
        n = readlinkat(dir, path, to, size);
        return n < 0 ? -errno : n;
}

SYS(unlinkat, "unlinkat", (int dir, const char *path), unlinkat(dir, path, 0))
SYS(rmdirat, "rmdirat", (int dir, const char *path), unlinkat(dir, path, AT_REMOVEDIR))

int sys_lock_shared(int fd) {
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

        SYS_FAULT("fcntl");
        return result(fcntl(fd, F_SETLK, &lock));
}

SYS(unshare, "unshare", (uint64_t flags), syscall(SYS_unshare, flags))
SYS(setns, "setns", (int fd, uint64_t kind), syscall(SYS_setns, fd, kind))
SYS(fchmod, "fchmod", (int fd, mode_t mode), fchmod(fd, mode))
SYS(fchown, "fchown", (int fd, uid_t uid, gid_t gid), fchown(fd, uid, gid))
SYS(mkdirat, "mkdirat", (int dir, const char *path, mode_t mode), mkdirat(dir, path, mode))
/* An empty plain file. */
SYS(mknodat, "mknodat", (int dir, const char *path, mode_t mode),
    syscall(SYS_mknodat, dir, path, S_IFREG | mode, 0))
SYS(symlinkat, "symlinkat", (const char *text, int dir, const char *path), symlinkat(text, dir, path))
SYS(chdir, "chdir", (const char *path), chdir(path))
SYS(fchdir, "fchdir", (int fd), fchdir(fd))
SYS(mount, "mount",
    (const char *source, const char *target, const char *type, unsigned long flags, const char *data),
    mount(source, target, type, flags, data))
SYS(umount, "umount2", (const char *path, int flags), umount2(path, flags))
SYS(pivot_root, "pivot_root", (const char *new_root, const char *put_old),
    syscall(SYS_pivot_root, new_root, put_old))
SYS(open_tree, "open_tree", (int dir, const char *path, unsigned flags),
    syscall(SYS_open_tree, dir, path, flags))
SYS(move_mount, "move_mount", (int from, int to, const char *path),
    syscall(SYS_move_mount, from, "", to, path,
            MOVE_MOUNT_F_EMPTY_PATH | (*path ? 0U : MOVE_MOUNT_T_EMPTY_PATH)))

int sys_open_tree_attr(int dir, const char *path, unsigned flags, uint64_t set) {
        struct mount_attr attributes = {.attr_set = set};

        SYS_FAULT("open_tree_attr");
        return result(syscall(SYS_open_tree_attr, dir, path, flags, &attributes, sizeof(attributes)));
}

static int change_attributes(int fd, unsigned flags, uint64_t set, uint64_t clear) {
        struct mount_attr attributes = {.attr_set = set, .attr_clr = clear};

        SYS_FAULT("mount_setattr");
        return result(
                syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, &attributes, sizeof(attributes)));
}

int sys_mount_setattr(int fd, unsigned flags, uint64_t set) {
        return change_attributes(fd, flags, set, 0);
}

int sys_mount_let_write(int fd) {
        return change_attributes(fd, 0, 0, MOUNT_ATTR_RDONLY);
}

int sys_remount_same(int fd) {
        int picked, r;

        SYS_FAULT("fspick");
        picked = result(syscall(SYS_fspick, fd, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC));
        if (picked < 0)
                return picked;
        r = result(syscall(SYS_fsconfig, picked, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0));
        (void)sys_close(picked);
        return r;
}

int sys_find_mount_calls(void) {
        int open = result(syscall(SYS_open_tree, -1, "", AT_EMPTY_PATH)),
            move = result(syscall(SYS_move_mount, -1, "", -1, "", ~0U)),
            set = result(syscall(SYS_mount_setattr, -1, "", AT_EMPTY_PATH, NULL, 0));

        return open != -EBADF ? open : move == -ENOSYS ? move : set != -EINVAL ? set : 0;
}

SYS(prctl, "prctl", (int option, unsigned long a, unsigned long b), prctl(option, a, b, 0, 0))
SYS(set_uid, "setresuid", (uid_t id), syscall(SYS_setresuid, id, id, id))
SYS(set_gid, "setresgid", (gid_t id), syscall(SYS_setresgid, id, id, id))
SYS(set_groups, "setgroups", (const gid_t *ids, size_t n), syscall(SYS_setgroups, n, ids))

int sys_capset(uint64_t permitted, uint64_t inheritable) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

        for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
                uint32_t bits = (uint32_t)(permitted >> (32 * i));

                sets[i] = (struct __user_cap_data_struct){bits, bits, (uint32_t)(inheritable >> (32 * i))};
        }

        SYS_FAULT("capset");
        return result(syscall(SYS_capset, &header, sets));
}

int sys_capget(uint64_t *ret) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
        int r;

        SYS_FAULT("capget");
        r = result(syscall(SYS_capget, &header, sets));
        if (r >= 0)
                *ret = sets[0].permitted | (uint64_t)sets[1].permitted << 32;
        return r;
}

SYS(sethostname, "sethostname", (const char *name, size_t n), sethostname(name, n))

int sys_sigmask(int how, const sigset_t *set, sigset_t *ret_old) {
        int r;

        SYS_FAULT("sigprocmask");
        r = pthread_sigmask(how, set, ret_old);
        return -r;
}

SYS(signalfd, "signalfd", (const sigset_t *set), signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK))

/* struct sock_fprog has no const, though the kernel only reads the filter. */
static struct sock_fprog filter_program(const struct sock_filter *code, size_t n) {
        struct sock_fprog program = {.len = (unsigned short)n};

        memcpy(&program.filter, &code, sizeof(program.filter));
        return program;
}

int sys_seccomp_filter(unsigned flags, const struct sock_filter *code, size_t n) {
        struct sock_fprog program = filter_program(code, n);

        SYS_FAULT("seccomp");
        return result(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

int sys_prctl_filter(const struct sock_filter *code, size_t n) {
        struct sock_fprog program = filter_program(code, n);

        SYS_FAULT("prctl");
        return result(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* The running kernel's seccomp_notif may be longer than the one of the headers: it needs room for what it
 * writes. */
union notification {
        struct seccomp_notif request;
        struct seccomp_notif_resp response;
        char room[512];
};

int sys_seccomp_receive(int listener, struct seccomp_notif *ret) {
        union notification n = {.room = {0}};
        int r;

        SYS_FAULT("seccomp_receive");
        r = result(syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &n));
        if (r >= 0)
                *ret = n.request;
        return r;
}

int sys_seccomp_answer(int listener, const struct seccomp_notif *to, int error) {
        union notification n = {.response = {.id = to->id, .error = error}};

        SYS_FAULT("seccomp_answer");
        return result(syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &n));
}

/* Kernels before 5.8 know the request by another number. */
bool sys_seccomp_waits(int listener, const struct seccomp_notif *call) {
        int r = result(syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id));

        return r >= 0 || r == -EINVAL;
}

int sys_seccomp_continue(int listener, const struct seccomp_notif *to) {
        union notification n = {.response = {.id = to->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE}};

        SYS_FAULT("seccomp_answer");
        return result(syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &n));
}

int sys_seccomp_take_turns(int listener) {
        return result(syscall(SYS_ioctl, listener, _IOW('!', 4, uint64_t), 1UL));
}

/* <linux/landlock.h> of the build may be older than scopes. */
struct landlock_attributes {
        uint64_t handled_access_fs, handled_access_net, scoped;
};

SYS(landlock_abi, "landlock_create_ruleset", (void), syscall(SYS_landlock_create_ruleset, NULL, 0, 1U))

int sys_landlock_scope(uint64_t scoped) {
        struct landlock_attributes attributes = {.scoped = scoped};

        SYS_FAULT("landlock_create_ruleset");
        return result(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0U));
}

SYS(landlock_restrict, "landlock_restrict_self", (int ruleset),
    syscall(SYS_landlock_restrict_self, ruleset, 0U))
SYS(socketpair, "socketpair", (int ret[2]), socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret))

union descriptors_message {
        struct cmsghdr header;
        char room[CMSG_SPACE(SYS_FDS_MOST * sizeof(int))];
};

int sys_send_fds(int socket, const void *data, size_t n, const int *fds, size_t n_fds) {
        union descriptors_message control = {.room = {0}};
        struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = n};
        struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

        SYS_FAULT("sendmsg");
        if (n_fds > 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len =
                        (__typeof__(control.header.cmsg_len))CMSG_LEN(n_fds * sizeof(*fds));
                memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(*fds));
                message.msg_control = &control;
                message.msg_controllen =
                        (__typeof__(message.msg_controllen))CMSG_SPACE(n_fds * sizeof(*fds));
        }
        return result(sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 ? -errno : 0;
}

ssize_t sys_receive_fds(int socket, void *to, size_t size, int *ret_fds, size_t most, size_t *ret_n_fds) {
        union descriptors_message control = {.room = {0}};
        struct iovec iov = {.iov_base = to, .iov_len = size};
        struct msghdr message = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        const struct cmsghdr *header;
        ssize_t n;

        SYS_FAULT("recvmsg");
        *ret_n_fds = 0;
        do
                n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        header = CMSG_FIRSTHDR(&message);
        if (header && header->cmsg_type == SCM_RIGHTS) {
                size_t n_fds = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                *ret_n_fds = n_fds < most ? n_fds : most;
                memcpy(ret_fds, CMSG_DATA(header), *ret_n_fds * sizeof(int));
                for (size_t i = most; i < n_fds; i++) {
                        int surplus;

                        memcpy(&surplus, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
                        (void)sys_close(surplus);
                        n = -EBADMSG;
                }
        }
        if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
                n = -EBADMSG;
        while (n < 0 && *ret_n_fds > 0)
                close_fdp(&ret_fds[--*ret_n_fds]);
        return n;
}

int sys_send_fd(int socket, int fd) {
        return sys_send_fds(socket, "", 1, &fd, 1);
}

int sys_receive_fd(int socket) {
        size_t n_fds = 0;
        int fd = -EBADF;
        char byte;
        ssize_t n = sys_receive_fds(socket, &byte, 1, &fd, 1, &n_fds);

        if (n > 0 && n_fds == 1)
                return fd;
        close_fdp(&fd);
        return n < 0 ? (int)n : -EPIPE;
}

SYS(bind, "bind", (int fd, const struct sockaddr *address, unsigned length), bind(fd, address, length))
SYS(listen, "listen", (int fd, int backlog), listen(fd, backlog))
SYS(setsockopt, "setsockopt", (int fd, int level, int option, int value),
    setsockopt(fd, level, option, &value, sizeof(value)))
SYS(eventfd, "eventfd", (void), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
SYS(memfd, "memfd_create", (const char *name), syscall(SYS_memfd_create, name, 1U /* MFD_CLOEXEC */))
SYS(socket, "socket", (int domain, int type, int protocol), socket(domain, type | SOCK_CLOEXEC, protocol))

/* musl's request is an int, glibc's an unsigned long. */
SYS(ioctl, "ioctl", (int fd, unsigned long request, void *argument),
    syscall(SYS_ioctl, fd, request, argument))
