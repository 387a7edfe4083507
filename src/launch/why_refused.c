/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why no user namespace can be had: tries again in steps, uses what it gets, and
 * reads the switches that are known to forbid it.  Only on the way to an error. */
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/causes.h"
#include "base/file.h"
#include "base/sys.h"
#include "host/userns.h"
#include "launch.h"

/* So many namespaces are never used up by chance. */
#define BOUND_ENOUGH 15000UL

#define APPARMOR_LABEL "/proc/self/attr/apparmor/current"
#define SELINUX_LABEL  "/proc/self/attr/current"

enum {
        MOST_ANCESTORS = 64, /* processes around this one that are asked what they see */
};

/* Makes namespaces of these kinds and mounts in them if it may, since a security module may let them be
 * made and then deny what they are for.  *ret_use: -errno of the use, or 0. */
static int probe_namespace(uint64_t kinds, int *ret_use) {
        siginfo_t info = {.si_status = 0};
        int pidfd = -EBADF, r;

        r = sys_clone_namespaces(kinds, &pidfd);
        if (r < 0)
                return r;
        if (r == 0) {
                r = kinds & CLONE_NEWNS ? sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) : 0;
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
        char found[4097];

        return read_kernel_file(AT_FDCWD, path, found, sizeof(found)) >= 0 && strstr(found, text);
}

static bool file_starts(const char *path, char first) {
        char found[3];

        /* Compares with "0\n" and "1\n": 15000 doesn't switch anything off. */
        return read_kernel_file(AT_FDCWD, path, found, sizeof(found)) == 2 && found[0] == first &&
               found[1] == '\n';
}

static const struct {
        uint64_t kind; /* CLONE_NEW*: the namespaces that it is about */
        const char *path;
        char forbids;
        enum nsrun_error_id cause;
} switches[] = {
        {CLONE_NEWUSER, "/proc/sys/kernel/unprivileged_userns_clone", '0', NSRUN_ERROR_USERNS_CLONE},
        {CLONE_NEWUSER, "/proc/sys/user/max_user_namespaces", '0', NSRUN_ERROR_MAX_USER},
        {CLONE_NEWUSER, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1', NSRUN_ERROR_APPARMOR},
        {CLONE_NEWNS, "/proc/sys/user/max_mnt_namespaces", '0', NSRUN_ERROR_MAX_MNT},
        {CLONE_NEWPID, "/proc/sys/user/max_pid_namespaces", '0', NSRUN_ERROR_MAX_PID},
        {CLONE_NEWIPC, "/proc/sys/user/max_ipc_namespaces", '0', NSRUN_ERROR_MAX_IPC},
        {CLONE_NEWUTS, "/proc/sys/user/max_uts_namespaces", '0', NSRUN_ERROR_MAX_UTS},
        {CLONE_NEWNET, "/proc/sys/user/max_net_namespaces", '0', NSRUN_ERROR_MAX_NET},
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

/* A counter's bound; 0 where it can't be read. */
static unsigned long read_bound(const char *path) {
        char found[32];

        return read_kernel_file(AT_FDCWD, path, found, sizeof(found)) > 0 ? strtoul(found, NULL, 10) : 0;
}

static bool is_refused_alone(uint64_t kind) {
        siginfo_t info;
        int pidfd = -EBADF, r = sys_clone_namespaces(CLONE_NEWUSER | kind, &pidfd);

        if (r == 0)
                _exit(0);
        if (r > 0) {
                (void)sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
                close_fdp(&pidfd);
        }
        return r == -ENOSPC || r == -EUSERS;
}

/* Which bound of this user namespace is reached: an index of switches; one past the table if it is one of a
 * namespace around this one, whose bounds nobody inside can read.  A new user namespace bounds nothing
 * itself. */
static size_t find_bound(uint64_t kinds) {
        bool is_outermost = file_says("/proc/self/uid_map", " 4294967295\n");
        size_t lowest = ARRAY_SIZE(switches);
        unsigned long least = BOUND_ENOUGH;

        for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
                unsigned long bound = (switches[i].kind & kinds) && can_lead_to(switches[i].path, -ENOSPC)
                                              ? read_bound(switches[i].path)
                                              : 0;

                if (bound == 0 || (bound >= BOUND_ENOUGH && !is_outermost))
                        continue;
                if (is_refused_alone(switches[i].kind))
                        return i;
                if (bound < least) {
                        least = bound;
                        lowest = i;
                }
        }
        return lowest;
}

static int explain_bound(int r, uint64_t kinds, struct nsrun_error *err) {
        size_t i = find_bound(kinds);
        unsigned long bound, enough = BOUND_ENOUGH;
        char fix[96];

        if (i == ARRAY_SIZE(switches))
                return error_cause(err, NSRUN_ERROR_OUTER_LIMIT, r, NULL);
        bound = read_bound(switches[i].path);
        if (bound >= enough)
                enough = 2 * bound;
        (void)snprintf(fix, sizeof(fix), "sudo sysctl -w user.%s=%lu", strrchr(switches[i].path, '/') + 1,
                       enough);
        return error_cause_with(err, NSRUN_ERROR_NAMESPACES_USED_UP, r, switches[i].path, fix);
}

/* Of the processes and threads that /proc shows how many are this user's. */
static uint64_t count_own_tasks(void) {
        uint64_t count = 0;
        DIR *all = opendir("/proc");

        for (const struct dirent *entry; all && (entry = readdir(all));) {
                char path[sizeof("/proc//task") + sizeof(entry->d_name)];
                struct stat st;

                (void)snprintf(path, sizeof(path), "/proc/%s/task", entry->d_name);
                /* One link for each thread, beside "." and the name above. */
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && stat(path, &st) == 0 &&
                    st.st_uid == getuid())
                        count += st.st_nlink - 2;
        }
        if (all)
                (void)closedir(all);
        return count;
}

/* No process could be made.  The kernel counts those of the user against RLIMIT_NPROC, and those of each
 * cgroup. */
static int explain_processes(int r, struct nsrun_error *err) {
        struct sys_rlimit own = {.soft = UINT64_MAX};

        (void)sys_prlimit(RLIMIT_NPROC, NULL, &own);
        if (own.soft == UINT64_MAX || count_own_tasks() < own.soft)
                return error_cause(err, NSRUN_ERROR_PIDS_USED_UP, r, NULL);
        return error_cause_with(err, NSRUN_ERROR_PROCESSES_USED_UP, r, NULL,
                                error_limit_hint(RLIMIT_NPROC, own.soft + 1));
}

static bool has_filter(void) {
        return file_says("/proc/self/status", "\nSeccomp:\t2");
}

/* What the nsrun around this one refuses: by its filter, or by a bound that it has set for what is inside.
 */
static int explain_outer_nsrun(int r, uint64_t kinds, struct nsrun_error *err) {
        static const char max_mnt[] = "/proc/sys/user/max_mnt_namespaces";

        if (!userns_is_nsruns())
                return 0;
        if (r == -EPERM && has_filter())
                return error_cause(err, NSRUN_ERROR_OUTER_FILTER, r, NULL);
        if (r == -ENOSPC && (kinds & CLONE_NEWNS) && file_starts(max_mnt, '0'))
                return error_cause(err, NSRUN_ERROR_OUTER_STRICT, r, max_mnt);
        return 0;
}

/* Whether one of the ids is none in the user namespace that this process runs in, by its map's lines "INNER
 * OUTER COUNT". */
static bool is_unmapped(const char *path, unsigned id) {
        char found[4097], *at = found;
        ssize_t n = read_kernel_file(AT_FDCWD, path, found, sizeof(found));
        unsigned long first, outer, count;

        if (n < 0 || (size_t)n == sizeof(found) - 1)
                return false;
        for (int used; sscanf(at, "%lu %lu %lu%n", &first, &outer, &count, &used) == 3; at += used)
                if (id >= first && id - first < count)
                        return false;
        return true;
}

/* Whether is_one() says so of a line of a table of mounts: 1, 0, or -errno. */
static int any_mount(const char *path, bool (*is_one)(const char *line, void *data), void *data) {
        _cleanup_free_ char *line = NULL;
        FILE *table = fopen(path, "re");
        bool is_found = false;
        size_t size = 0;

        if (!table)
                return -errno;
        while (!is_found && getline(&line, &size, table) >= 0)
                is_found = is_one(line, data);
        (void)fclose(table);
        return is_found;
}

static bool is_root_mount(const char *line, nsrun_unused void *data) {
        char point[4];

        return sscanf(line, "%*s %*s %*s %*s %3s", point) == 1 && streq(point, "/");
}

/* Whether nothing is mounted at "/": this process's root is a folder of a mount.  Since 5.8 that is told
 * without a /proc. */
static bool is_folders_chroot(void) {
        struct sys_file root;
        int r = any_mount("/proc/self/mountinfo", is_root_mount, NULL);

        return r < 0 ? sys_statx(AT_FDCWD, "/", &root) >= 0 && root.is_below_mount : r == 0;
}

static bool is_below_root(const char *line, void *data) {
        const uint64_t *mount = data;
        unsigned long id;
        char point[4];

        return sscanf(line, "%lu %*s %*s %*s %3s", &id, point) == 2 && id == *mount && !streq(point, "/");
}

/* Whether a process sees a mount elsewhere than at "/". */
static bool sees_below(int pid, uint64_t mount) {
        char path[32];

        (void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
        return any_mount(path, is_below_root, &mount) > 0;
}

/* Whether this process's root is a mount point, as after "chroot /mnt", of which one of those that started
 * it shows that it is: mounts are numbered through all namespaces.  (Where none does it can't be told.) */
static bool is_mounts_chroot(void) {
        struct sys_file root;
        int pid = sys_statx(AT_FDCWD, "/", &root) < 0 ? 0 : getpid();

        for (int n = 0; n < MOST_ANCESTORS && (pid = pid > 0 ? read_process_parent(pid) : 0) > 0; n++)
                if (sees_below(pid, root.mount))
                        return true;
        return false;
}

static bool is_mask(const char *line, nsrun_unused void *data) {
        char point[64];

        /* What the kernel has empty folders for hides nothing. */
        return sscanf(line, "%*s %*s %*s %*s %63s", point) == 1 && startswith(point, "/proc/") &&
               !startswith(point, "/proc/sys/fs/binfmt_misc") && !startswith(point, "/proc/fs/nfsd");
}

/* Whether something is mounted below /proc, as containers mask parts of it. */
static bool is_proc_masked(void) {
        return any_mount("/proc/self/mountinfo", is_mask, NULL) > 0;
}

/* Puts the bytes of a field of a mountinfo line where it stands: \\040 is a space. */
static void take_octal(char *text) {
        char *to = text;

        for (; *text; text++) {
                bool is_octal = *text == '\\' && strspn(text + 1, "01234567") >= 3;

                *to++ = is_octal ? (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'))
                                 : *text;
                text += is_octal ? 3 : 0;
        }
        *to = '\0';
}

struct submount {
        const char *folder;
        char *found; /* what is mounted below it, the first of it, for a shell; NULL: nothing, or it can't be
                        read */
};

static bool is_submount(const char *line, void *data) {
        struct submount *s = data;
        _cleanup_free_ char *point = NULL;
        const char *rest;

        if (sscanf(line, "%*s %*s %*s %*s %ms", &point) != 1)
                return false;
        take_octal(point);
        rest = startswith(point, s->folder);
        if (rest && rest[0] == '/' && rest[1])
                s->found = str_shell_quote(point);
        return s->found;
}

void launch_explain_submounts(struct nsrun_error *err) {
        /* The cause itself, or a refusal of --strict's whose hint ends with the cause's. */
        char *at = strstr(err->hint, causes[NSRUN_ERROR_OVERLAY_OVER_MOUNTS].fix);
        struct submount s = {.folder = err->path};
        _cleanup_free_ char *found = NULL, *folder = NULL;
        char hint[sizeof(err->hint)];
        size_t room = at ? (size_t)(err->hint + sizeof(err->hint) - at) : 0;

        if (!at)
                return;
        (void)any_mount("/proc/self/mountinfo", is_submount, &s);
        found = s.found;
        folder = found ? str_shell_quote(err->path) : NULL;
        if (folder &&
            (size_t)snprintf(hint, room,
                             "sudo umount %s, or use --ro or --rw for %s, which takes the overlay's place",
                             found, folder) < room)
                memcpy(at, hint, strlen(hint) + 1);
}

/* A container's filter is rarely alone: what is in the way after it is said, too. */
static int explain_filter(enum nsrun_error_id id, int r, struct nsrun_error *err) {
        char fix[sizeof(err->hint)];

        if (!is_proc_masked())
                return error_cause(err, id, r, NULL);
        (void)snprintf(fix, sizeof(fix), "%s" PROC_MASKED_TOO, causes[id].fix);
        return error_cause_with(err, id, r, NULL, fix);
}

int launch_explain_ids(struct nsrun_error *err) {
        uint64_t own;
        int r = -err->error;

        if (r != -EPERM || geteuid() != 0 || sys_capget(&own) < 0 || (own & UINT64_C(1) << CAP_SETFCAP))
                return r;
        memset(err, 0, sizeof(*err));
        return error_cause(err, userns_is_nsruns() ? NSRUN_ERROR_OUTER_ROOT : NSRUN_ERROR_SETFCAP, r, NULL);
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
                return error_cause(err, NSRUN_ERROR_UNMAPPED, -EPERM, "/proc/self/uid_map");
        return is_folders_chroot() || is_mounts_chroot() ? error_cause(err, NSRUN_ERROR_CHROOT, -EPERM, NULL)
                                                         : 0;
}

int launch_explain_namespaces(int r, struct nsrun_error *err) {
        /* A cgroup namespace is gone without where there is none. */
        return launch_explain_kinds(r, ~(uint64_t)CLONE_NEWCGROUP, err);
}

int launch_explain_kinds(int r, uint64_t kinds, struct nsrun_error *err) {
        struct stat st;
        size_t found;
        int use = 0, made;
        bool is_unusable;

        if (!err)
                return r;
        memset(err, 0, sizeof(*err));
        if (r == -EAGAIN)
                return explain_processes(r, err);
        if ((r == -EINVAL || r == -ENOMEM) && has_others_pids())
                return error_cause(err, NSRUN_ERROR_OTHERS_PIDS, r, "/proc/self/ns/pid_for_children");
        if (r == -ENOMEM)
                return error_cause(err, NSRUN_ERROR_MEMORY_USED_UP, r, NULL);
        if (r == -EMFILE || r == -ENFILE)
                return error_cause_with(err, NSRUN_ERROR_PROCESSES_USED_UP, r, NULL, NULL);
        if (sys_stat("/proc/self/status", &st) == -ENOENT)
                return error_cause(err,
                                   r == -EPERM && is_folders_chroot() ? NSRUN_ERROR_CHROOT
                                                                      : NSRUN_ERROR_NO_PROC_TO_TELL,
                                   r, NULL);
        if (sys_stat("/proc/self/ns/user", &st) == -ENOENT)
                return error_cause(err, NSRUN_ERROR_NO_USERNS, r, NULL);
        if (explain_outer_nsrun(r, kinds, err) < 0)
                return r;
        found = find_switch(kinds, r);
        made = probe_namespace(CLONE_NEWUSER | CLONE_NEWNS, &use);
        /* Ubuntu's lets the namespace be made: in a container on one its filter is the first to refuse. */
        if (found < ARRAY_SIZE(switches) &&
            !(switches[found].cause == NSRUN_ERROR_APPARMOR && made == -EPERM && has_filter()))
                return error_cause(err, switches[found].cause, r, switches[found].path);
        if (r == -ENOSPC || r == -EUSERS)
                return explain_bound(r, kinds, err);
        if (made == -EPERM && explain_refusal(err) < 0)
                return r;
        /* The kernel itself never says EACCES here. */
        if (made == -EACCES && file_says("/sys/fs/selinux/enforce", "1"))
                return error_cause(err, NSRUN_ERROR_SELINUX, r, SELINUX_LABEL);
        if (has_filter())
                return explain_filter(made < 0 ? NSRUN_ERROR_FILTER_USERNS : NSRUN_ERROR_FILTER_MOUNTS, r,
                                      err);
        if (made == -EACCES && file_says(APPARMOR_LABEL, "(enforce)"))
                return error_cause_with(
                        err, NSRUN_ERROR_APPARMOR, r, APPARMOR_LABEL,
                        "give nsrun a profile that allows userns (nsrun-hosts(7), APPARMOR)");
        /* A mount namespace takes a capability in the new user namespace, which a module may deny, too. */
        is_unusable = made >= 0 ? use < 0 : made == -EPERM && probe_namespace(CLONE_NEWUSER, &use) >= 0;
        return error_cause(err, is_unusable ? NSRUN_ERROR_MODULE : NSRUN_ERROR_NAMESPACES_REFUSED, r, NULL);
}
