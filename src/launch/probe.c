/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why no user namespace can be had: tries again in steps, uses what it gets, and
 * reads the switches that are known to forbid it.  Only on the way to an error. */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "launch.h"

/* Makes a namespace and mounts in it, since Ubuntu's AppArmor lets it be made
 * and then denies what it is for.  *ret_use: -errno of the use, or 0. */
static int probe_namespace(int *ret_use) {
        siginfo_t info = {.si_status = 0};
        int pidfd = -EBADF, r;

        r = sys_clone_namespaces(CLONE_NEWUSER | CLONE_NEWNS, &pidfd);
        if (r < 0)
                return r;
        if (r == 0) {
                r = sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
                _exit(-r & 0xff);
        }
        r = sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
        close_fdp(&pidfd);
        if (r < 0)
                return r;
        *ret_use = -info.si_status;
        return 0;
}

static bool file_says(const char *path, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        char found[4097];
        ssize_t n;

        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        n = fd < 0 ? fd : sys_read(fd, found, sizeof(found) - 1);
        if (n < 0)
                return false;
        found[n] = '\0';
        return strstr(found, text) != NULL;
}

static bool file_starts(const char *path, char first) {
        _cleanup_close_ int fd = -EBADF;
        char found[2];

        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        /* Compares with "0\n" and "1\n": 15000 doesn't switch anything off. */
        return fd >= 0 && sys_read(fd, found, 2) >= 1 && found[0] == first && found[1] == '\n';
}

static const struct {
        const char *path;
        char forbids;
        const char *what;
        const char *hint;
} switches[] = {
        {"/proc/sys/kernel/unprivileged_userns_clone", '0',
         "user namespaces are switched off for ordinary users",
         "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
        {"/proc/sys/user/max_user_namespaces", '0', "user namespaces are switched off",
         "sudo sysctl -w user.max_user_namespaces=15000"},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
         "AppArmor restricts user namespaces to programs with a profile",
         "give nsrun a profile that allows userns (nsrun(1), APPARMOR), or: sudo sysctl -w "
         "kernel.apparmor_restrict_unprivileged_userns=0"},
        {"/proc/sys/user/max_mnt_namespaces", '0', "mount namespaces are switched off",
         "sudo sysctl -w user.max_mnt_namespaces=15000"},
        {"/proc/sys/user/max_pid_namespaces", '0', "pid namespaces are switched off",
         "sudo sysctl -w user.max_pid_namespaces=15000"},
        {"/proc/sys/user/max_ipc_namespaces", '0', "ipc namespaces are switched off",
         "sudo sysctl -w user.max_ipc_namespaces=15000"},
        {"/proc/sys/user/max_uts_namespaces", '0', "uts namespaces are switched off",
         "sudo sysctl -w user.max_uts_namespaces=15000"},
        {"/proc/sys/user/max_net_namespaces", '0', "network namespaces are switched off",
         "sudo sysctl -w user.max_net_namespaces=15000"},
        {"/proc/sys/user/max_cgroup_namespaces", '0', "cgroup namespaces are switched off",
         "sudo sysctl -w user.max_cgroup_namespaces=15000"},
};

/* The switch that forbids user namespaces; an index past the table if none does. */
static size_t find_switch(void) {
        size_t i;

        for (i = 0; i < ARRAY_SIZE(switches); i++)
                if (file_starts(switches[i].path, switches[i].forbids))
                        break;
        return i;
}

int launch_explain_namespaces(int r, struct nsrun_error *err) {
        struct stat st;
        size_t found;
        int use = 0, made;

        if (!err)
                return r;
        memset(err, 0, sizeof(*err));
        if (r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EAGAIN)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL,
                                 "no process for the sandbox can be made",
                                 r == -EAGAIN ? "raise the limit of processes (ulimit -u)" : NULL);
        if (sys_stat("/proc/self/ns/user", &st) == -ENOENT)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL, "the kernel has no user namespaces",
                                 "it needs CONFIG_USER_NS=y");
        found = find_switch();
        if (found < ARRAY_SIZE(switches))
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, switches[found].path, switches[found].what,
                                 switches[found].hint);
        if (r == -ENOSPC || r == -EUSERS)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, "/proc/sys/user",
                                 "the limit of namespaces is reached, or they are nested too deep",
                                 "raise user.max_*_namespaces (32 levels are the kernel's own end)");
        made = probe_namespace(&use);
        if (file_says("/proc/self/status", "\nSeccomp:\t2"))
                return error_set(
                        err, NSRUN_STAGE_NAMESPACE, r, NULL,
                        made < 0 ? "a seccomp filter, as containers have one, refuses user namespaces"
                                 : "a seccomp filter, as containers have one, refuses mounts in a user "
                                   "namespace",
                        "start the container with a profile that allows them, for instance "
                        "--security-opt seccomp=unconfined");
        if (made >= 0 && use < 0)
                return error_set(
                        err, NSRUN_STAGE_NAMESPACE, r, NULL,
                        "a security module lets user namespaces be made but not used",
                        "AppArmor or SELinux confines this program: see the kernel log, and nsrun(1), "
                        "APPARMOR");
        return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL, "the kernel refuses the new namespaces",
                         "a chroot, a security module or a kernel setting forbids them here");
}
