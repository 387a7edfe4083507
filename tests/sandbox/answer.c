/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who answers a system call: a seccomp filter that was there before, or the kernel?
 *
 *     answer CALL
 *
 * makes one call of the table below behind a filter of its own, which hands just
 * this call to a listener.  Of two filters the stricter decides: where the older one
 * answers with an error, that is printed ("EPERM"), and the listener hears nothing;
 * where it lets the call pass, the listener answers, and "kernel" is printed.  So a
 * privilege, a missing argument or the kernel's configuration never looks like a
 * filter, and no call, however harmful, is ever carried out. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "error-word.h"

/* The listener's answer, which no call of the table gives by itself. */
#define MARK EOWNERDEAD

/* What older headers lack: since 5.2 one number for all architectures. */
#define NR_OPEN_TREE      428
#define NR_MOVE_MOUNT     429
#define NR_FSOPEN         430
#define NR_FSCONFIG       431
#define NR_FSMOUNT        432
#define NR_FSPICK         433
#define NR_CLONE3         435
#define NR_MOUNT_SETATTR  442
#define NR_QUOTACTL_FD    443
#define NR_OPEN_TREE_ATTR 467
#define NR_NOBODYS        999
#define NOWHERE           (-1L)      /* a descriptor that is none: the kernel says EBADF */
#define HIGH              (1L << 32) /* beyond what the kernel reads of an int */
#define NEW_TIME          0x80
#define FAMILY_VSOCK      40
#define FAMILY_XDP        44
#define THREAD_FLAGS      (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

enum gate {
        GATE_NATIVE,
        GATE_INT80, /* i386's numbers */
        GATE_X32,
};

struct call {
        const char *name;
        enum gate gate;
        long number;
        long arguments[4]; /* those that a filter may look at */
};

static const struct call calls[] = {
        {"mount", GATE_NATIVE, SYS_mount, {0}},
        {"umount2", GATE_NATIVE, SYS_umount2, {0}},
        {"pivot_root", GATE_NATIVE, SYS_pivot_root, {0}},
        {"chroot", GATE_NATIVE, SYS_chroot, {0}},
        {"open_tree", GATE_NATIVE, NR_OPEN_TREE, {0}},
        {"open_tree_attr", GATE_NATIVE, NR_OPEN_TREE_ATTR, {0}},
        {"move_mount", GATE_NATIVE, NR_MOVE_MOUNT, {0}},
        {"fsopen", GATE_NATIVE, NR_FSOPEN, {0}},
        {"fsconfig", GATE_NATIVE, NR_FSCONFIG, {0}},
        {"fsmount", GATE_NATIVE, NR_FSMOUNT, {0}},
        {"fspick", GATE_NATIVE, NR_FSPICK, {0}},
        {"mount_setattr", GATE_NATIVE, NR_MOUNT_SETATTR, {0}},

        {"unshare-user", GATE_NATIVE, SYS_unshare, {CLONE_NEWUSER}},
        {"unshare-mount", GATE_NATIVE, SYS_unshare, {CLONE_NEWNS}},
        {"unshare-pid", GATE_NATIVE, SYS_unshare, {CLONE_NEWPID}},
        {"unshare-net", GATE_NATIVE, SYS_unshare, {CLONE_NEWNET}},
        {"unshare-ipc", GATE_NATIVE, SYS_unshare, {CLONE_NEWIPC}},
        {"unshare-uts", GATE_NATIVE, SYS_unshare, {CLONE_NEWUTS}},
        {"unshare-cgroup", GATE_NATIVE, SYS_unshare, {CLONE_NEWCGROUP}},
        {"unshare-time", GATE_NATIVE, SYS_unshare, {NEW_TIME}},
        {"clone-user", GATE_NATIVE, SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
        {"clone-mount", GATE_NATIVE, SYS_clone, {CLONE_NEWNS | SIGCHLD}},
        {"clone-pid", GATE_NATIVE, SYS_clone, {CLONE_NEWPID | SIGCHLD}},
        {"clone-net", GATE_NATIVE, SYS_clone, {CLONE_NEWNET | SIGCHLD}},
        {"clone-ipc", GATE_NATIVE, SYS_clone, {CLONE_NEWIPC | SIGCHLD}},
        {"clone-uts", GATE_NATIVE, SYS_clone, {CLONE_NEWUTS | SIGCHLD}},
        {"clone-cgroup", GATE_NATIVE, SYS_clone, {CLONE_NEWCGROUP | SIGCHLD}},
        {"clone-user-high", GATE_NATIVE, SYS_clone, {CLONE_NEWUSER | SIGCHLD | HIGH}},
        {"clone-user-in-a-crowd",
         GATE_NATIVE,
         SYS_clone,
         {CLONE_NEWUSER | CLONE_VM | CLONE_VFORK | SIGCHLD}},
        {"clone3", GATE_NATIVE, NR_CLONE3, {0}},
        {"setns", GATE_NATIVE, SYS_setns, {0, 0}},
        {"setns-user", GATE_NATIVE, SYS_setns, {0, CLONE_NEWUSER}},
        {"setns-mount", GATE_NATIVE, SYS_setns, {0, CLONE_NEWNS}},
        {"setns-pid", GATE_NATIVE, SYS_setns, {0, CLONE_NEWPID}},
        {"setns-net", GATE_NATIVE, SYS_setns, {0, CLONE_NEWNET}},
        {"setns-ipc", GATE_NATIVE, SYS_setns, {0, CLONE_NEWIPC}},
        {"setns-uts", GATE_NATIVE, SYS_setns, {0, CLONE_NEWUTS}},
        {"setns-cgroup", GATE_NATIVE, SYS_setns, {0, CLONE_NEWCGROUP}},
        {"setns-time", GATE_NATIVE, SYS_setns, {0, NEW_TIME}},

        {"keyctl", GATE_NATIVE, SYS_keyctl, {1}},
        {"add_key", GATE_NATIVE, SYS_add_key, {0}},
        {"request_key", GATE_NATIVE, SYS_request_key, {0}},
        {"bpf", GATE_NATIVE, SYS_bpf, {0}},
        {"perf_event_open", GATE_NATIVE, SYS_perf_event_open, {0}},
        {"io_uring_setup", GATE_NATIVE, SYS_io_uring_setup, {0}},
        {"io_uring_enter", GATE_NATIVE, SYS_io_uring_enter, {0}},
        {"io_uring_register", GATE_NATIVE, SYS_io_uring_register, {0}},
        {"userfaultfd", GATE_NATIVE, SYS_userfaultfd, {0}},
        {"open_by_handle_at", GATE_NATIVE, SYS_open_by_handle_at, {0}},
        {"init_module", GATE_NATIVE, SYS_init_module, {0}},
        {"finit_module", GATE_NATIVE, SYS_finit_module, {0}},
        {"delete_module", GATE_NATIVE, SYS_delete_module, {0}},
        {"kexec_load", GATE_NATIVE, SYS_kexec_load, {0}},
#ifdef SYS_kexec_file_load
        {"kexec_file_load", GATE_NATIVE, SYS_kexec_file_load, {0}},
#endif
        {"reboot", GATE_NATIVE, SYS_reboot, {0}},
        {"swapon", GATE_NATIVE, SYS_swapon, {0}},
        {"swapoff", GATE_NATIVE, SYS_swapoff, {0}},
        {"acct", GATE_NATIVE, SYS_acct, {0}},
        {"quotactl", GATE_NATIVE, SYS_quotactl, {0}},
        {"quotactl_fd", GATE_NATIVE, NR_QUOTACTL_FD, {0}},
        {"settimeofday", GATE_NATIVE, SYS_settimeofday, {0}},
        {"clock_settime", GATE_NATIVE, SYS_clock_settime, {0}},

        {"ioctl-TIOCSTI", GATE_NATIVE, SYS_ioctl, {0, TIOCSTI}},
        {"ioctl-TIOCSTI-high", GATE_NATIVE, SYS_ioctl, {0, TIOCSTI | HIGH}},
        {"ioctl-TIOCLINUX", GATE_NATIVE, SYS_ioctl, {0, TIOCLINUX}},
        {"ioctl-TIOCLINUX-high", GATE_NATIVE, SYS_ioctl, {0, TIOCLINUX | HIGH}},
        {"ioctl-TIOCSETD", GATE_NATIVE, SYS_ioctl, {0, TIOCSETD}},
        {"ioctl-TIOCEXCL", GATE_NATIVE, SYS_ioctl, {0, TIOCEXCL}},
        {"ioctl-TIOCGWINSZ", GATE_NATIVE, SYS_ioctl, {0, TIOCGWINSZ}},

        {"fchmodat-plain", GATE_NATIVE, SYS_fchmodat, {NOWHERE, 0, 0755}},
        {"fchmodat-setuid", GATE_NATIVE, SYS_fchmodat, {NOWHERE, 0, 04755}},
        {"fchmod-setgid", GATE_NATIVE, SYS_fchmod, {NOWHERE, 02755}},
        {"openat-plain", GATE_NATIVE, SYS_openat, {NOWHERE, 0, O_CREAT | O_WRONLY, 0755}},
        {"openat-setuid", GATE_NATIVE, SYS_openat, {NOWHERE, 0, O_CREAT | O_WRONLY, 04755}},
        {"openat-tmpfile-setgid", GATE_NATIVE, SYS_openat, {NOWHERE, 0, O_TMPFILE | O_WRONLY, 02755}},
        {"mknodat-setuid", GATE_NATIVE, SYS_mknodat, {NOWHERE, 0, S_IFREG | 04755}},
        {"openat2", GATE_NATIVE, SYS_openat2, {NOWHERE}},

        {"socket-sctp", GATE_NATIVE, SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}},
        {"socket-sctp-by-type", GATE_NATIVE, SYS_socket, {AF_INET, SOCK_SEQPACKET}},
        {"socket-dccp", GATE_NATIVE, SYS_socket, {AF_INET6, SOCK_DCCP, 33}},
        {"socket-l2tp", GATE_NATIVE, SYS_socket, {AF_INET, SOCK_DGRAM, 115}},
        {"socket-tcp", GATE_NATIVE, SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_TCP}},
        {"socket-unix", GATE_NATIVE, SYS_socket, {AF_UNIX, SOCK_STREAM}},
        {"socket-inet", GATE_NATIVE, SYS_socket, {AF_INET, SOCK_DGRAM}},
        {"socket-inet6", GATE_NATIVE, SYS_socket, {AF_INET6, SOCK_STREAM}},
        {"socket-route", GATE_NATIVE, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}},
        {"socket-vsock", GATE_NATIVE, SYS_socket, {FAMILY_VSOCK, SOCK_STREAM}},
        {"socket-vsock-high", GATE_NATIVE, SYS_socket, {FAMILY_VSOCK | HIGH, SOCK_STREAM}},
        {"socket-alg", GATE_NATIVE, SYS_socket, {AF_ALG, SOCK_SEQPACKET}},
        {"socket-packet", GATE_NATIVE, SYS_socket, {AF_PACKET, SOCK_RAW}},
        {"socket-packet-high", GATE_NATIVE, SYS_socket, {AF_PACKET | HIGH, SOCK_RAW}},
        {"socket-key", GATE_NATIVE, SYS_socket, {AF_KEY, SOCK_RAW, 2}},
        {"socket-bluetooth", GATE_NATIVE, SYS_socket, {AF_BLUETOOTH, SOCK_RAW}},
        {"socket-can", GATE_NATIVE, SYS_socket, {AF_CAN, SOCK_RAW}},
        {"socket-tipc", GATE_NATIVE, SYS_socket, {AF_TIPC, SOCK_STREAM}},
        {"socket-rds", GATE_NATIVE, SYS_socket, {AF_RDS, SOCK_SEQPACKET}},
        {"socket-xdp", GATE_NATIVE, SYS_socket, {FAMILY_XDP, SOCK_RAW}},
        {"netlink-audit", GATE_NATIVE, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT}},
        {"netlink-netfilter", GATE_NATIVE, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}},
        {"netlink-netfilter-high",
         GATE_NATIVE,
         SYS_socket,
         {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER | HIGH}},
        {"netlink-xfrm", GATE_NATIVE, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_XFRM}},
        {"netlink-uevent", GATE_NATIVE, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT}},
        {"netlink-generic", GATE_NATIVE, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_GENERIC}},

        {"nobodys", GATE_NATIVE, NR_NOBODYS, {0}},
        {"ptrace", GATE_NATIVE, SYS_ptrace, {0}},
        {"process_vm_readv", GATE_NATIVE, SYS_process_vm_readv, {0}},
        {"process_vm_writev", GATE_NATIVE, SYS_process_vm_writev, {0}},
        {"personality", GATE_NATIVE, SYS_personality, {0x0040000}}, /* ADDR_NO_RANDOMIZE: gdb's */
        {"clone-process", GATE_NATIVE, SYS_clone, {SIGCHLD}},
        {"clone-thread", GATE_NATIVE, SYS_clone, {THREAD_FLAGS}},

#ifdef __x86_64__
        {"iopl", GATE_NATIVE, SYS_iopl, {3}},
        {"ioperm", GATE_NATIVE, SYS_ioperm, {0, 1, 1}},

        {"int80-getpid", GATE_INT80, 20, {0}},
        {"int80-mount", GATE_INT80, 21, {0}},
        {"int80-ptrace", GATE_INT80, 26, {0}},
        {"int80-umount2", GATE_INT80, 52, {0}},
        {"int80-ioctl-TIOCSTI", GATE_INT80, 54, {0, TIOCSTI}},
        {"int80-chroot", GATE_INT80, 61, {0}},
        {"int80-socketcall", GATE_INT80, 102, {1}},
        {"int80-socketcall-high", GATE_INT80, 102, {(long)0x700000001}},
        {"int80-socketcall-pair", GATE_INT80, 102, {8}},
        {"int80-socketcall-send", GATE_INT80, 102, {9}},
        {"int80-umount", GATE_INT80, 22, {0}},
        {"int80-stime", GATE_INT80, 25, {0}},
        {"int80-vm86", GATE_INT80, 166, {0}},
        {"int80-modify_ldt", GATE_INT80, 123, {0}},
        {"int80-open-setuid", GATE_INT80, 5, {0, O_CREAT, 04755}},
        {"int80-prlimit64-other", GATE_INT80, 340, {1, 0, 8}},
        {"int80-socket-raw", GATE_INT80, 359, {AF_INET, SOCK_RAW, 0}},
        {"int80-clock_settime64", GATE_INT80, 404, {0}},
        {"int80-openat2", GATE_INT80, 437, {0}},
        {"int80-clone-user", GATE_INT80, 120, {CLONE_NEWUSER | SIGCHLD}},
        {"int80-pivot_root", GATE_INT80, 217, {0}},
        {"int80-keyctl", GATE_INT80, 288, {1}},
        {"int80-unshare-user", GATE_INT80, 310, {CLONE_NEWUSER}},
        {"int80-setns", GATE_INT80, 346, {0}},
        {"int80-bpf", GATE_INT80, 357, {0}},
        {"int80-socket-vsock", GATE_INT80, 359, {FAMILY_VSOCK, SOCK_STREAM}},
        {"int80-io_uring_setup", GATE_INT80, 425, {0}},
        {"int80-clone3", GATE_INT80, NR_CLONE3, {0}},

        {"x32-getpid", GATE_X32, SYS_getpid, {0}},
        {"x32-mount", GATE_X32, SYS_mount, {0}},
        {"x32-chroot", GATE_X32, SYS_chroot, {0}},
        {"x32-unshare-user", GATE_X32, SYS_unshare, {CLONE_NEWUSER}},
        {"x32-clone-user", GATE_X32, SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
        {"x32-keyctl", GATE_X32, SYS_keyctl, {1}},
        {"x32-bpf", GATE_X32, SYS_bpf, {0}},
        {"x32-ioctl-TIOCSTI", GATE_X32, 514, {0, TIOCSTI}}, /* x32's own number of ioctl */
        {"x32-ptrace", GATE_X32, 521, {0}},
#endif
};

static _Noreturn void give_up(const char *what) {
        (void)fprintf(stderr, "answer: %s: %s\n", what, strerror(errno));
        _exit(124);
}

/* ----------------------------------------------------------------- the filter */

static unsigned audit_arch(enum gate gate) {
#if defined(__x86_64__)
        return gate == GATE_INT80 ? AUDIT_ARCH_I386 : AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
        return AUDIT_ARCH_AARCH64;
#else
#error "which architecture does the kernel call this?"
#endif
}

static unsigned wire_number(const struct call *call) {
        return (unsigned)call->number | (call->gate == GATE_X32 ? 0x40000000U : 0);
}

/* The listener's descriptor, or a negative errno. */
static int listen_for(const struct call *call) {
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, audit_arch(call->gate), 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire_number(call), 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};
        long fd;

        /* What lets an ordinary user install one. */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
        return fd < 0 ? -errno : (int)fd;
}

/* ------------------------------------------------------------------- the call */

/* The negative errno, or what the call returned. */
static long make_call(const struct call *call) {
        const long *a = call->arguments;
        long r;

#ifdef __x86_64__
        if (call->gate == GATE_INT80) {
                __asm__ volatile("int $0x80"
                                 : "=a"(r)
                                 : "a"(call->number), "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(0L), "D"(0L)
                                 : "memory", "r8", "r9", "r10", "r11");
                return (int)r;
        }
#endif
        r = syscall((long)wire_number(call), a[0], a[1], a[2], a[3], 0L, 0L);
        return r < 0 ? -errno : r;
}

struct shared {
        int listener;
        long result;
};

static _Noreturn void caller(const struct call *call, int to) {
        struct shared message = {.listener = listen_for(call)};

        if (write(to, &message, sizeof(message)) != sizeof(message))
                _exit(123);
        if (message.listener < 0)
                _exit(0);
        message.result = make_call(call);
        if (write(to, &message, sizeof(message)) != sizeof(message))
                _exit(123);
        _exit(0);
}

/* Answers with the mark where the call gets here, and comes back when the caller has its answer from
 * somebody: that stands in the pipe `from` then.  That nobody is left behind the filter no kernel
 * before 6.11 tells while a zombie is. */
static void listen_once(int listener, int from) {
        struct seccomp_notif request = {0};
        struct seccomp_notif_resp answer = {.error = -MARK};
        struct pollfd wait[] = {{.fd = listener, .events = POLLIN}, {.fd = from, .events = POLLIN}};

        while (poll(wait, ARRAY_SIZE(wait), -1) < 0)
                if (errno != EINTR)
                        give_up("poll");
        if (!(wait[0].revents & POLLIN))
                return;
        if (syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
                give_up("the call's notification");
        answer.id = request.id;
        if (syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0)
                give_up("the answer");
}

static void print_result(long result) {
        if (result == -MARK)
                (void)puts("kernel");
        else
                (void)puts(result > 0 ? "done" : error_word((int)-result));
}

static int ask(const struct call *call) {
        struct shared message = {0};
        int fds[2], status;
        long pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                give_up("pipe");
        /* One table of descriptors for both, so that the listener's is ours too. */
        pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
        if (pid < 0)
                give_up("clone");
        if (pid == 0)
                caller(call, fds[1]);
        if (read(fds[0], &message, sizeof(message)) != sizeof(message))
                give_up("the caller");
        errno = -message.listener;
        if (message.listener < 0)
                give_up("a filter with a listener");
        listen_once(message.listener, fds[0]);
        if (waitpid((pid_t)pid, &status, 0) != pid)
                give_up("waitpid");
        if (WIFSIGNALED(status)) {
                (void)printf("signal %d\n", WTERMSIG(status));
                return 0;
        }
        if (read(fds[0], &message, sizeof(message)) != sizeof(message))
                give_up("the result");
        print_result(message.result);
        return 0;
}

int main(int argc, char **argv) {
        for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(calls); i++)
                if (streq(argv[1], calls[i].name))
                        return ask(&calls[i]);
        (void)fprintf(stderr, "answer: usage: answer CALL\n");
        return 2;
}
