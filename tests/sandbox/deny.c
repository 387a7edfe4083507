/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a program behind a seccomp filter, as an older kernel or a container would:
 *
 *     deny ERRNO CALL[,CALL...] PROGRAM [ARG...]
 *
 * The calls fail with that number.  "clone-newuser" is clone(2) for a new user
 * namespace, with clone3(2) unknown, since a filter can't read its flags.
 * "mount:TYPE" is mount(2) of that file system, and "mount:TYPE:OPTION" one with
 * such an option: a filter can't read these either, so this process stays and
 * answers for each mount, as the supervisors of some containers do.
 * "silent:NAME" is a folder of that name, on another mount than the one around it,
 * whose server never answers: who looks at it or into it waits until it is killed. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/macro.h"

#define MOST_INSTRUCTIONS 128

/* A call that newer architectures don't have, and no number of theirs. */
#ifndef SYS_access
#define SYS_access 0xffffffffU
#endif

static struct sock_filter filter[MOST_INSTRUCTIONS];
static unsigned short n_instructions;

static const struct {
        const char *name;
        unsigned number;
} calls[] = {
        {"capset", SYS_capset},
        {"chroot", SYS_chroot},
        {"clone3", SYS_clone3},
        {"close_range", SYS_close_range},
        {"eventfd2", SYS_eventfd2},
        {"execveat", SYS_execveat},
        {"faccessat2", SYS_faccessat2},
        {"fsconfig", SYS_fsconfig},
        {"fsmount", SYS_fsmount},
        {"fsopen", SYS_fsopen},
        {"fspick", SYS_fspick},
        {"landlock_create_ruleset", SYS_landlock_create_ruleset},
        {"landlock_restrict_self", SYS_landlock_restrict_self},
        {"memfd_create", SYS_memfd_create},
        {"mount", SYS_mount},
        {"mount_setattr", SYS_mount_setattr},
        {"move_mount", SYS_move_mount},
        {"open_tree", SYS_open_tree},
        {"openat2", SYS_openat2},
        {"pidfd_open", SYS_pidfd_open},
        {"pidfd_send_signal", SYS_pidfd_send_signal},
        {"pivot_root", SYS_pivot_root},
        {"prctl", SYS_prctl},
        {"seccomp", SYS_seccomp},
        {"sethostname", SYS_sethostname},
        {"setns", SYS_setns},
        {"setsid", SYS_setsid},
        {"signalfd4", SYS_signalfd4},
        {"socket", SYS_socket},
        {"socketpair", SYS_socketpair},
        {"statx", SYS_statx},
        {"symlinkat", SYS_symlinkat},
        {"umount2", SYS_umount2},
        {"unshare", SYS_unshare},
};

static _Noreturn void give_up(const char *what) {
        (void)fprintf(stderr, "deny: %s: %s\n", what, strerror(errno));
        _exit(124);
}

static void add(unsigned code, unsigned k, unsigned char if_true, unsigned char if_false) {
        if (n_instructions == MOST_INSTRUCTIONS) {
                errno = E2BIG;
                give_up("the filter");
        }
        filter[n_instructions++] =
                (struct sock_filter){.code = (unsigned short)code, .jt = if_true, .jf = if_false, .k = k};
}

static void add_refusal(unsigned number, unsigned error) {
        add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0, 0);
}

static void add_clone_refusal(unsigned error) {
#ifdef __s390__
        size_t flags = offsetof(struct seccomp_data, args[1]) + 4;
#elif __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        size_t flags = offsetof(struct seccomp_data, args[0]) + 4;
#else
        size_t flags = offsetof(struct seccomp_data, args[0]);
#endif

        add_refusal(SYS_clone3, ENOSYS);
        add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        add(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
        add(BPF_LD | BPF_W | BPF_ABS, (unsigned)flags, 0, 0);
        add(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1);
        add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0, 0);
}

/* What mount:TYPE:OPTION says, where it is among the calls. */
static const char *mount_type, *mount_option;
static unsigned mount_error;

static void add_mount(const char *type, unsigned error) {
        mount_error = error;
        mount_type = strdup(type);
        if (!mount_type)
                give_up(type);
        mount_option = strchr(mount_type, ':');
        if (mount_option)
                *(char *)(uintptr_t)mount_option++ = '\0';
        add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        add(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1);
        add(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
}

/* What silent:NAME says. */
static const char *silent_name;

static void add_silent(const char *name) {
        static const unsigned looks[] = {SYS_openat, SYS_openat2,   SYS_newfstatat,
                                         SYS_access, SYS_faccessat, SYS_faccessat2};

        silent_name = strdup(name);
        if (!silent_name)
                give_up(name);
        add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
                add(BPF_JMP | BPF_JEQ | BPF_K, looks[i], 0, 1);
                add(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
        }
}

static void add_call(const char *name, unsigned error) {
        const char *type = startswith(name, "mount:"), *silent = startswith(name, "silent:");

        if (silent) {
                add_silent(silent);
                return;
        }

        if (type) {
                add_mount(type, error);
                return;
        }
        if (streq(name, "clone-newuser")) {
                add_clone_refusal(error);
                return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
                if (streq(name, calls[i].name)) {
                        add_refusal(calls[i].number, error);
                        /* What lacks or refuses one of the two that it stands for has no newer one. */
                        if (calls[i].number == SYS_open_tree || calls[i].number == SYS_mount_setattr)
                                add_refusal(467 /* open_tree_attr */, error);
                        return;
                }
        errno = EINVAL;
        give_up(name);
}

/* Reads a text of another process; "" where there is none.  False: it can't be looked into. */
static bool read_text(pid_t pid, uint64_t at, char *to, size_t n) {
        size_t done = 0;

        /* Up to the end of a page at a time: what comes after may not be mapped. */
        while (at != 0 && done < n - 1 && !memchr(to, '\0', done)) {
                size_t page = 4096 - (at + done) % 4096, more = page < n - 1 - done ? page : n - 1 - done;
                struct iovec local = {.iov_base = to + done, .iov_len = more},
                             remote = {.iov_base = (void *)(uintptr_t)(at + done), .iov_len = more};
                ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

                if (got < 0)
                        return false;
                done += (size_t)got;
        }
        to[done] = '\0';
        return true;
}

static bool is_silent(const char *path) {
        size_t n = strlen(silent_name);

        for (const char *at = path; (at = strstr(at, silent_name)); at++)
                if ((at == path || at[-1] == '/') && (at[n] == '\0' || at[n] == '/'))
                        return true;
        return false;
}

/* Whether the call gets an answer; what is in memory is none of the server's, and another mount isn't
 * entered with RESOLVE_NO_XDEV. */
static bool is_answered(const struct seccomp_notif *call, struct seccomp_notif_resp *response) {
        struct open_how how = {.flags = 0};
        struct iovec local = {.iov_base = &how, .iov_len = sizeof(how)},
                     remote = {.iov_base = (void *)(uintptr_t)call->data.args[2], .iov_len = sizeof(how)};
        uint64_t name = call->data.args[(unsigned)call->data.nr == SYS_access ? 0 : 1];
        char path[4096] = "";

        /* Not from inside, where nobody looks into a process. */
        if (!read_text((pid_t)call->pid, name, path, sizeof(path)) || !is_silent(path))
                return true;
        if (call->data.nr == SYS_openat2)
                (void)process_vm_readv((pid_t)call->pid, &local, 1, &remote, 1, 0);
        if (how.resolve & 0x20 /* RESOLVE_CACHED */) {
                response->flags = 0;
                response->error = -EAGAIN;
        }
        return how.resolve & (RESOLVE_NO_XDEV | 0x20);
}

static void answer(int listener) {
        struct seccomp_notif call = {.id = 0};
        struct seccomp_notif_resp response;
        char type[64], data[4096];

        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
                if (errno != ENOENT && errno != EINTR)
                        give_up("a mount");
                return;
        }
        response = (struct seccomp_notif_resp){.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (silent_name) {
                if (!is_answered(&call, &response))
                        return;
        } else {
                if (!read_text((pid_t)call.pid, call.data.args[2], type, sizeof(type)) ||
                    !read_text((pid_t)call.pid, streq(type, mount_type) ? call.data.args[4] : 0, data,
                               sizeof(data)))
                        give_up("a mount's words can't be read");
                if (streq(type, mount_type) && (!mount_option || strstr(data, mount_option))) {
                        response.flags = 0;
                        response.error = -(int)mount_error;
                }
        }
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT)
                give_up("a mount's answer");
}

/* The program runs in a child, which says by which number it has the listener.  Returns there. */
static void stay_to_answer(struct sock_fprog *program) {
        int numbers[2], go[2], listener = -1, pidfd, status;
        pid_t child;
        char byte;

        if (pipe2(numbers, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0 || (child = fork()) < 0)
                give_up("a process");
        if (child == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                (void)close(go[1]);
                listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                        SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
                if (listener < 0 || write(numbers[1], &listener, sizeof(listener)) != sizeof(listener) ||
                    read(go[0], &byte, 1) != 1)
                        give_up("the filter");
                return;
        }
        pidfd = (int)syscall(SYS_pidfd_open, child, 0);
        (void)close(numbers[1]);
        if (read(numbers[0], &listener, sizeof(listener)) != sizeof(listener) ||
            (listener = (int)syscall(SYS_pidfd_getfd, pidfd, listener, 0)) < 0 || write(go[1], "", 1) != 1)
                give_up("the filter's listener");
        for (;;) {
                struct pollfd fds[] = {{.fd = listener, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};

                if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
                        give_up("poll");
                if (fds[0].revents & POLLIN)
                        answer(listener);
                /* What the program leaves running mounts nothing more. */
                if (fds[1].revents & POLLIN)
                        break;
        }
        if (waitpid(child, &status, 0) < 0)
                give_up("the program");
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv) {
        struct sock_fprog program = {.filter = filter};
        unsigned error;
        char *names;

        errno = EINVAL;
        if (argc < 4 || sscanf(argv[1], "%u", &error) != 1 || error == 0)
                give_up("usage: deny ERRNO CALL[,CALL...] PROGRAM [ARG...]");
        names = argv[2];
        for (char *name; (name = strsep(&names, ","));)
                add_call(name, error);
        add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        program.len = n_instructions;
        /* What lets an ordinary user install one. */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                give_up("no new privileges");
        if (mount_type || silent_name)
                stay_to_answer(&program);
        else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
                give_up("the filter");
        (void)execvp(argv[3], argv + 3);
        give_up(argv[3]);
}
