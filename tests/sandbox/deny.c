/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a program behind a seccomp filter, as an older kernel or a container would:
 *
 *     deny ERRNO CALL[,CALL...] PROGRAM [ARG...]
 *
 * The calls fail with that number.  "clone-newuser" is clone(2) for a new user
 * namespace, with clone3(2) unknown, since a filter can't read its flags. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/macro.h"

#define MOST_INSTRUCTIONS 128

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

static void add_call(const char *name, unsigned error) {
        if (streq(name, "clone-newuser")) {
                add_clone_refusal(error);
                return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
                if (streq(name, calls[i].name)) {
                        add_refusal(calls[i].number, error);
                        return;
                }
        errno = EINVAL;
        give_up(name);
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
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
                give_up("the filter");
        (void)execvp(argv[3], argv + 3);
        give_up(argv[3]);
}
