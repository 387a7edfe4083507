/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One attempt to get out of a sandbox, or at what it should not reach:
 *
 *     attempt NAME [ARGUMENT [ARGUMENT]]
 *
 * prints "ok" or the name of the error, then a line of what was found, where there is
 * any.  It says what happened and judges nothing: test-breakouts.c does. */
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "error-word.h"

#define NR_PIDFD_GETFD 438

/* linux/keyctl.h */
#define GET_KEYRING_ID  0
#define JOIN_SESSION    1
#define SEARCH_KEY      10
#define READ_KEY        11
#define OF_THIS_USER    (-4)
#define OF_THIS_SESSION (-3)

static int say(long r) {
        (void)puts(r < 0 ? error_word(errno) : "ok");
        return 0;
}

static _Noreturn void give_up(const char *what) {
        (void)fprintf(stderr, "attempt: %s: %s\n", what, strerror(errno));
        exit(124);
}

static void print_text(const char *what, const char *bytes, ssize_t n) {
        (void)printf("%s: ", what);
        for (ssize_t i = 0; i < n; i++)
                (void)putchar(bytes[i] >= ' ' && bytes[i] < 127 ? bytes[i] : ' ');
        (void)putchar('\n');
}

/* ---------------------------------------------------------- another's memory */

static volatile int target_value = 7;

/* The process with that number, or for "child" one of our own with the same memory,
 * which ends with us. */
static pid_t process_of(const char *argument) {
        int ready[2];
        char byte;
        pid_t pid;

        if (!streq(argument, "child"))
                return atoi(argument);
        if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
                give_up("a child");
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                (void)!write(ready[1], "", 1);
                for (;;)
                        (void)pause();
        }
        if (read(ready[0], &byte, 1) != 1)
                give_up("a child");
        return pid;
}

static int try_ptrace(char **a) {
        return say(ptrace(PTRACE_ATTACH, process_of(a[0]), NULL, NULL));
}

static int try_seize(char **a) {
        return say(ptrace(PTRACE_SEIZE, process_of(a[0]), NULL, NULL));
}

static int try_vm_write(char **a) {
        int value = 8;
        struct iovec here = {&value, sizeof(value)},
                     there = {(void *)(uintptr_t)&target_value, sizeof(value)};

        return say(process_vm_writev(process_of(a[0]), &here, 1, &there, 1, 0));
}

static int try_vm_read(char **a) {
        int value = 0;
        struct iovec here = {&value, sizeof(value)},
                     there = {(void *)(uintptr_t)&target_value, sizeof(value)};

        return say(process_vm_readv(process_of(a[0]), &here, 1, &there, 1, 0));
}

/* Opens what a file of /proc/PID/ names. */
static int try_process_file(char **a) {
        char path[128];

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)process_of(a[0]), a[1]);
        return say(open(path, (streq(a[1], "mem") ? O_RDWR : O_RDONLY) | O_CLOEXEC));
}

static int try_descriptor_of(char **a) {
        int fd = (int)syscall(SYS_pidfd_open, process_of(a[0]), 0);

        return say(fd < 0 ? fd : syscall(NR_PIDFD_GETFD, fd, 0, 0));
}

static int try_kill(char **a) {
        return say(kill(process_of(a[0]), SIGKILL));
}

static int try_queue(char **a) {
        return say(sigqueue(process_of(a[0]), SIGKILL, (union sigval){0}));
}

/* A SIGUSR1 that says that it comes from outside of the pid namespace, by each code that a process may say.
 */
static int try_forged_sender(char **a) {
        int r = 0;

        for (int code = -1; code >= -60 && r == 0; code--) {
                siginfo_t info = {.si_signo = SIGUSR1, .si_code = code, .si_pid = 0};

                /* SI_TKILL is refused. */
                r = (int)syscall(SYS_rt_sigqueueinfo, process_of(a[0]), SIGUSR1, &info);
                r = r < 0 && errno == EPERM && code == SI_TKILL ? 0 : r;
        }
        return say(r);
}

/* Everybody whom we may, but for ourselves. */
static int try_kill_all(char **a) {
        pid_t pid = process_of(a[0]);
        int r = kill(-1, SIGKILL), status = 0;

        if (r == 0 && (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status)))
                give_up("the child lives");
        return say(r);
}

/* --------------------------------------------------------------------- files */

static int try_read(char **a) {
        char bytes[256];
        int fd = open(a[0], O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

        (void)say(n);
        if (n > 0)
                print_text(a[0], bytes, n);
        return 0;
}

static int try_write(char **a) {
        return say(open(a[0], O_WRONLY | O_CLOEXEC));
}

static int try_link(char **a) {
        char text[4096];
        ssize_t n = readlink(a[0], text, sizeof(text));

        (void)say(n);
        if (n > 0)
                print_text(a[0], text, n);
        return 0;
}

/* In two steps, as CVE-2019-5736 did: a descriptor of the running program, opened
 * again for writing when it no longer runs. */
static int try_overwrite_self(nsrun_unused char **a) {
        int fd = open("/proc/self/exe", O_PATH);
        char script[128];

        if (fd < 0)
                return say(fd);
        (void)snprintf(script, sizeof(script), "(: >>/proc/self/fd/%d) && echo ok", fd);
        (void)say(open("/proc/self/exe", O_WRONLY | O_CLOEXEC));
        (void)fflush(stdout);
        return execlp("sh", "sh", "-c", script, (char *)NULL);
}

/* Up and up, from a descriptor if there is one. */
static int try_climb(char **a) {
        char path[512] = "";

        for (int i = 0; i < 40; i++)
                (void)strcat(path, "../");
        if (strlen(path) + strlen(a[0]) >= sizeof(path))
                return 2;
        (void)strcat(path, a[0] + 1);
        return say(open(path, O_RDONLY | O_CLOEXEC));
}

/* The classic way out of a chroot. */
static int try_chroot(char **a) {
        char path[] = "/tmp/attempt-XXXXXX";

        if (!mkdtemp(path))
                give_up(path);
        if (chroot(path) < 0) {
                int error = errno;

                (void)rmdir(path);
                errno = error;
                return say(-1);
        }
        for (int i = 0; i < 40; i++)
                (void)!chdir("..");
        (void)!chroot(".");
        (void)rmdir(path);
        return say(open(a[0], O_RDONLY | O_CLOEXEC));
}

/* A folder that was open in whoever started us. */
static int try_from_descriptor(char **a) {
        return say(openat(atoi(a[0]), a[1], O_RDONLY | O_CLOEXEC));
}

/* The handle is the test's: TYPE:HEX, of a file that no folder here leads to. */
static int try_handle(char **a) {
        struct {
                struct file_handle handle;
                unsigned char bytes[MAX_HANDLE_SZ];
        } wanted = {.handle = {0}};
        unsigned n = 0, byte;
        int used, at = open(a[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *text = a[0];

        if (at < 0 || sscanf(text, "%d:%n", &wanted.handle.handle_type, &used) != 1)
                give_up("the handle");
        for (text += used; n < MAX_HANDLE_SZ && sscanf(text, "%2x", &byte) == 1; text += 2)
                wanted.bytes[n++] = (unsigned char)byte;
        wanted.handle.handle_bytes = n;
        return say(open_by_handle_at(at, &wanted.handle, O_RDONLY | O_CLOEXEC));
}

static int try_disk(nsrun_unused char **a) {
        return say(mknod("disk", S_IFBLK | 0600, makedev(254, 0)));
}

static int try_hard_link(char **a) {
        return say(link(a[0], a[1]));
}

/* ---------------------------------------------------------------- privileges */

static int try_ids(nsrun_unused char **a) {
        (void)printf("%u %u %d\n", geteuid(), getegid(), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
        return 0;
}

static int try_exec(char **a) {
        (void)execl(a[0], a[0], a[1], (char *)NULL);
        return say(-1);
}

static int try_namespace_root(nsrun_unused char **a) {
        return say(unshare(CLONE_NEWUSER | CLONE_NEWNS));
}

static int try_tmpfs(nsrun_unused char **a) {
        return say(mount("none", "/tmp", "tmpfs", 0, NULL));
}

/* ------------------------------------------------------------------- threads */

static void *live_on(void *data) {
        for (;;)
                (void)pause();
        return data;
}

/* Its first thread ends, and another one doesn't. */
static int try_first_thread(nsrun_unused char **a) {
        pthread_t thread;
        int r = pthread_create(&thread, NULL, live_on, NULL);

        if (r == 0)
                (void)syscall(SYS_exit, 0);
        return say(-r);
}

/* ------------------------------------------------------------------ terminal */

static int try_tiocsti(nsrun_unused char **a) {
        char byte = 'x';

        return say(ioctl(0, TIOCSTI, &byte));
}

static int try_tiocsti_high(nsrun_unused char **a) {
        char byte = 'x';

        return say(syscall(SYS_ioctl, 0L, TIOCSTI | (1L << 32), &byte));
}

/* Pastes a virtual console's selection. */
static int try_tioclinux(nsrun_unused char **a) {
        char paste = 3;

        return say(ioctl(0, TIOCLINUX, &paste));
}

/* ---------------------------------------------------------------------- keys */

static int try_user_keyring(nsrun_unused char **a) {
        return say(syscall(SYS_keyctl, GET_KEYRING_ID, OF_THIS_USER, 1));
}

static int try_join(nsrun_unused char **a) {
        return say(syscall(SYS_keyctl, JOIN_SESSION, NULL));
}

/* A key of the session that the caller was in. */
static int try_key(char **a) {
        char bytes[64];
        long id = syscall(SYS_keyctl, SEARCH_KEY, OF_THIS_SESSION, "user", a[0], 0),
             n = id < 0 ? id : syscall(SYS_keyctl, READ_KEY, id, bytes, sizeof(bytes));

        (void)say(n);
        if (n > 0)
                print_text(a[0], bytes, n);
        return 0;
}

/* ------------------------------------------------------------------- sockets */

static socklen_t abstract(struct sockaddr_un *ret, const char *name) {
        *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
        (void)strncpy(ret->sun_path + 1, name, sizeof(ret->sun_path) - 2);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int connect_to(const char *name, int type) {
        struct sockaddr_un to;
        socklen_t n = abstract(&to, name);
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        return fd < 0 ? fd : connect(fd, (const struct sockaddr *)&to, n);
}

static int try_abstract_stream(char **a) {
        return say(connect_to(a[0], SOCK_STREAM));
}

static int try_abstract_packets(char **a) {
        return say(connect_to(a[0], SOCK_SEQPACKET));
}

static int try_abstract_datagram(char **a) {
        struct sockaddr_un to;
        socklen_t n = abstract(&to, a[0]);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        return say(fd < 0 ? fd : sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, n));
}

/* A process that listens and one that connects. */
static int try_abstract_pair(char **a) {
        struct sockaddr_un at;
        socklen_t n = abstract(&at, a[0]);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
        pid_t pid;

        if (fd < 0 || bind(fd, (const struct sockaddr *)&at, n) < 0 || listen(fd, 1) < 0)
                return say(-1);
        pid = fork();
        if (pid == 0)
                _exit(connect_to(a[0], SOCK_STREAM) < 0 ? errno : 0);
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
                give_up("the other process");
        errno = WEXITSTATUS(status);
        return say(errno ? -1 : 0);
}

static int try_raw(nsrun_unused char **a) {
        return say(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
}

static int try_raw6(nsrun_unused char **a) {
        return say(socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
}

static int try_packet(nsrun_unused char **a) {
        return say(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int try_queue_open(char **a) {
        return say(mq_open(a[0], O_RDONLY | O_CLOEXEC));
}

/* --------------------------------------------------------------------- which */

static const struct {
        const char *name;
        int n_arguments;
        int (*run)(char **arguments);
} attempts[] = {
        {"abstract-datagram", 1, try_abstract_datagram},
        {"abstract-packets", 1, try_abstract_packets},
        {"abstract-pair", 1, try_abstract_pair},
        {"abstract-stream", 1, try_abstract_stream},
        {"chroot", 1, try_chroot},
        {"climb", 1, try_climb},
        {"descriptor-of", 1, try_descriptor_of},
        {"disk", 0, try_disk},
        {"exec", 2, try_exec},
        {"first-thread", 0, try_first_thread},
        {"forged-sender", 1, try_forged_sender},
        {"from-descriptor", 2, try_from_descriptor},
        {"handle", 2, try_handle},
        {"hard-link", 2, try_hard_link},
        {"ids", 0, try_ids},
        {"join-session", 0, try_join},
        {"key", 1, try_key},
        {"kill", 1, try_kill},
        {"kill-all", 1, try_kill_all},
        {"link", 1, try_link},
        {"namespace", 0, try_namespace_root},
        {"overwrite-self", 0, try_overwrite_self},
        {"packet", 0, try_packet},
        {"process-file", 2, try_process_file},
        {"ptrace", 1, try_ptrace},
        {"queue", 1, try_queue},
        {"queue-open", 1, try_queue_open},
        {"raw", 0, try_raw},
        {"raw6", 0, try_raw6},
        {"read", 1, try_read},
        {"seize", 1, try_seize},
        {"tiocsti", 0, try_tiocsti},
        {"tiocsti-high", 0, try_tiocsti_high},
        {"tioclinux", 0, try_tioclinux},
        {"tmpfs", 0, try_tmpfs},
        {"user-keyring", 0, try_user_keyring},
        {"vm-read", 1, try_vm_read},
        {"vm-write", 1, try_vm_write},
        {"write", 1, try_write},
};

int main(int argc, char **argv) {
        for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(attempts); i++)
                if (streq(argv[1], attempts[i].name) && argc - 2 == attempts[i].n_arguments)
                        return attempts[i].run(argv + 2);
        (void)fprintf(stderr, "attempt: usage: attempt NAME [ARGUMENT [ARGUMENT]]\n");
        return 2;
}
