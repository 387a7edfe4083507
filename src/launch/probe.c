/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why no user namespace can be had: tries again in steps, uses what it gets, and
 * reads the switches that are known to forbid it.  Only on the way to an error. */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/causes.h"
#include "base/sys.h"
#include "host/within.h"
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
        uint64_t kind; /* CLONE_NEW*: the namespaces that it is about */
        const char *path;
        char forbids;
        enum cause_id cause;
} switches[] = {
        {CLONE_NEWUSER, "/proc/sys/kernel/unprivileged_userns_clone", '0', CAUSE_USERNS_CLONE},
        {CLONE_NEWUSER, "/proc/sys/user/max_user_namespaces", '0', CAUSE_MAX_USER},
        {CLONE_NEWUSER, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1', CAUSE_APPARMOR},
        {CLONE_NEWNS, "/proc/sys/user/max_mnt_namespaces", '0', CAUSE_MAX_MNT},
        {CLONE_NEWPID, "/proc/sys/user/max_pid_namespaces", '0', CAUSE_MAX_PID},
        {CLONE_NEWIPC, "/proc/sys/user/max_ipc_namespaces", '0', CAUSE_MAX_IPC},
        {CLONE_NEWUTS, "/proc/sys/user/max_uts_namespaces", '0', CAUSE_MAX_UTS},
        {CLONE_NEWNET, "/proc/sys/user/max_net_namespaces", '0', CAUSE_MAX_NET},
        {CLONE_NEWCGROUP, "/proc/sys/user/max_cgroup_namespaces", '0', CAUSE_MAX_CGROUP},
};

/* Whether a switch can lead to that error: a bound on how many there may be is always told as one, and no
 * other switch ever. */
static bool can_lead_to(const char *path, int r) {
        return (r == -ENOSPC || r == -EUSERS) == (startswith(path, "/proc/sys/user/") != NULL);
}

/* The switch that forbids namespaces of these kinds; an index past the table if none does. */
static size_t find_switch(uint64_t kinds, int r) {
        size_t i;

        for (i = 0; i < ARRAY_SIZE(switches); i++)
                if ((switches[i].kind & kinds) && can_lead_to(switches[i].path, r) &&
                    file_starts(switches[i].path, switches[i].forbids))
                        break;
        return i;
}

static bool has_filter(void) {
        return file_says("/proc/self/status", "\nSeccomp:\t2");
}

/* What the nsrun around this one refuses: by its filter, or by a bound that it has set for what is inside.
 */
static int explain_outer_nsrun(int r, uint64_t kinds, struct nsrun_error *err) {
        static const char max_mnt[] = "/proc/sys/user/max_mnt_namespaces";

        if (!within_nsrun())
                return 0;
        if (r == -EPERM && has_filter())
                return error_cause(err, CAUSE_OUTER_FILTER, r, NULL);
        if (r == -ENOSPC && (kinds & CLONE_NEWNS) && file_starts(max_mnt, '0'))
                return error_cause(err, CAUSE_OUTER_STRICT, r, max_mnt);
        return 0;
}

/* Whether one of the ids is none in the user namespace that this process runs in, by its map's lines "INNER
 * OUTER COUNT". */
static bool is_unmapped(const char *path, unsigned id) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        char found[4097], *at = found;
        ssize_t n = fd < 0 ? fd : sys_read(fd, found, sizeof(found) - 1);
        unsigned long first, outer, count;

        if (n < 0 || (size_t)n == sizeof(found) - 1)
                return false;
        found[n] = '\0';
        for (int used; sscanf(at, "%lu %lu %lu%n", &first, &outer, &count, &used) == 3; at += used)
                if (id >= first && id - first < count)
                        return false;
        return true;
}

/* Whether nothing is mounted at "/": this process's root is a folder of a mount.  (A chroot to a mount point
 * can't be told.) */
static bool is_chroot(void) {
        _cleanup_free_ char *line = NULL;
        FILE *table = fopen("/proc/self/mountinfo", "re");
        bool has_root = !table;
        size_t size = 0;

        while (!has_root && getline(&line, &size, table) >= 0) {
                char point[4];

                has_root = sscanf(line, "%*s %*s %*s %*s %3s", point) == 1 && streq(point, "/");
        }
        if (table)
                (void)fclose(table);
        return !has_root;
}

int launch_explain_ids(struct nsrun_error *err) {
        uint64_t own;
        int r = -err->error;

        if (r != -EPERM || geteuid() != 0 || sys_capget(&own) < 0 || (own & UINT64_C(1) << CAP_SETFCAP))
                return r;
        memset(err, 0, sizeof(*err));
        return error_cause(err, within_nsrun() ? CAUSE_OUTER_ROOT : CAUSE_SETFCAP, r, NULL);
}

/* Whether what this process starts goes into another pid namespace than its own, as after unshare(2): the
 * kernel then makes no further one, and no process at all once that one's first is dead. */
static bool has_others_pids(void) {
        struct stat own, theirs;
        int r = sys_stat("/proc/self/ns/pid", &own);

        /* Of one in which nothing has been started yet the link leads nowhere. */
        return r >= 0 &&
               (sys_stat("/proc/self/ns/pid_for_children", &theirs) < 0 || own.st_ino != theirs.st_ino);
}

/* What the kernel asks of the process itself, so that it refuses with EPERM. */
static int explain_refusal(struct nsrun_error *err) {
        if (is_unmapped("/proc/self/uid_map", geteuid()) || is_unmapped("/proc/self/gid_map", getegid()))
                return error_cause(err, CAUSE_UNMAPPED, -EPERM, "/proc/self/uid_map");
        return is_chroot() ? error_cause(err, CAUSE_CHROOT, -EPERM, NULL) : 0;
}

int launch_explain_namespaces(int r, struct nsrun_error *err) {
        /* A cgroup namespace is gone without where there is none. */
        return launch_explain_kinds(r, ~(uint64_t)CLONE_NEWCGROUP, err);
}

int launch_explain_kinds(int r, uint64_t kinds, struct nsrun_error *err) {
        struct stat st;
        size_t found;
        int use = 0, made;

        if (!err)
                return r;
        memset(err, 0, sizeof(*err));
        if (r == -EAGAIN)
                return error_cause(err, CAUSE_PROCESSES_USED_UP, r, NULL);
        if ((r == -EINVAL || r == -ENOMEM) && has_others_pids())
                return error_cause(err, CAUSE_OTHERS_PIDS, r, "/proc/self/ns/pid_for_children");
        if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL, causes[CAUSE_PROCESSES_USED_UP].what,
                                 NULL);
        if (sys_stat("/proc/self/status", &st) == -ENOENT)
                return error_cause(err, CAUSE_NO_PROC_TO_TELL, r, NULL);
        if (sys_stat("/proc/self/ns/user", &st) == -ENOENT)
                return error_cause(err, CAUSE_NO_USERNS, r, NULL);
        if (explain_outer_nsrun(r, kinds, err) < 0)
                return r;
        found = find_switch(kinds, r);
        made = probe_namespace(&use);
        /* Ubuntu's lets the namespace be made: in a container on one its filter is the first to refuse. */
        if (found < ARRAY_SIZE(switches) &&
            !(switches[found].cause == CAUSE_APPARMOR && made == -EPERM && has_filter()))
                return error_cause(err, switches[found].cause, r, switches[found].path);
        if (r == -ENOSPC || r == -EUSERS)
                return error_cause(err, CAUSE_NAMESPACES_USED_UP, r, "/proc/sys/user");
        if (made == -EPERM && explain_refusal(err) < 0)
                return r;
        if (has_filter())
                return error_cause(err, made < 0 ? CAUSE_FILTER_USERNS : CAUSE_FILTER_MOUNTS, r, NULL);
        return error_cause(err, made >= 0 && use < 0 ? CAUSE_MODULE : CAUSE_NAMESPACES_REFUSED, r, NULL);
}
