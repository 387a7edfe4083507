/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See covers.h.  The command can be anything by now: a path in its tree is followed through no symlink, and
 * what is mounted there is the host's file, or nothing. */
#include "covers.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"

enum {
        TRIES = 100, /* of a name that is replaced at this moment */
        CHILDREN_MOST = 4096,
};

struct cover {
        char *target;
        char link[PRIVATE_LINK_SIZE]; /* a symlink at the sandbox's root, which stands in the file's place;
                                         or "" */
        bool hides, is_writable;
};

struct covers {
        struct cover *list;
        size_t n;
        int user, mount_namespace, root; /* the sandbox's; -EBADF: not known yet */
        int told, asked; /* its mountinfo, twice: each says once that something has changed */
};

struct covers *covers_free(struct covers *covers) {
        if (!covers)
                return NULL;
        for (size_t i = 0; i < covers->n; i++)
                free(covers->list[i].target);
        free(covers->list);
        close_fdp(&covers->user);
        close_fdp(&covers->mount_namespace);
        close_fdp(&covers->root);
        close_fdp(&covers->told);
        close_fdp(&covers->asked);
        free(covers);
        return NULL;
}

/* Whether an operation lies on what the host has there, and shows less than that. */
static bool lies_on_hosts(const struct plan_op *op) {
        if (op->makes_target || op->stubs || op->is_device)
                return false;
        return (op->kind == PLAN_HIDE && op->source) || op->kind == PLAN_OVERLAY || op->kind == PLAN_TMPFS ||
               (op->kind == PLAN_BIND && (op->is_read_only || op->origin == PLAN_BY_PIN));
}

static int add_cover(struct covers *covers, const struct plan_op *op) {
        struct cover c = {.hides = op->kind == PLAN_HIDE || op->kind == PLAN_TMPFS,
                          .is_writable = op->kind == PLAN_BIND && !op->is_read_only};

        if (op->kind == PLAN_BIND && op->text)
                private_link_name(op->text, c.link);
        if (ARRAY_GROW(covers->list, covers->n) < 0 || !(c.target = strdup(op->target)))
                return -ENOMEM;
        covers->list[covers->n++] = c;
        return 0;
}

int covers_new(const struct nsrun_plan *plan, struct covers **ret) {
        struct covers *covers = calloc(1, sizeof(*covers));
        int r = covers ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        covers->user = covers->mount_namespace = covers->root = covers->told = covers->asked = -EBADF;
        for (size_t i = 0; i < plan->n_ops && !plan->raw && r >= 0; i++)
                r = lies_on_hosts(&plan->ops[i]) ? add_cover(covers, &plan->ops[i]) : 0;
        *ret = r < 0 || covers->n == 0 ? covers_free(covers) : covers;
        return r;
}

/* ------------------------------------------------------------------- what is told */

static int open_of_process(pid_t pid, const char *name, int flags) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        return sys_open(AT_FDCWD, path, flags, 0);
}

/* Whether the mount namespace is one that nsrun has made, not one that the command made in there.  *user,
 * its process's, becomes the user namespace that it belongs to: the process may be in another one of its
 * own. */
static bool is_nsruns(int mount_namespace, int *user) {
        _cleanup_close_ int parent = -EBADF;
        struct stat own, st;

        close_fdp(user);
        *user = sys_ioctl(mount_namespace, NS_GET_USERNS, NULL);
        if (*user < 0 || fd_lift(user) < 0)
                return false;
        parent = sys_ioctl(*user, NS_GET_PARENT, NULL);
        /* EPERM: it is nsrun's own, as in a sandbox of root's without one. */
        if (parent == -EPERM)
                parent = fcntl(*user, F_DUPFD_CLOEXEC, 3);
        return sys_stat("/proc/self/ns/user", &own) >= 0 && sys_fstat(parent, &st) >= 0 &&
               st.st_ino == own.st_ino;
}

/* The last that is done to the sandbox's root makes it read-only. */
static bool is_built(int root) {
        unsigned long flags = 0;
        struct stat hosts, st;

        return sys_mount_flags(root, NULL, &flags) >= 0 && (flags & MS_RDONLY) &&
               sys_stat("/", &hosts) >= 0 && sys_fstat(root, &st) >= 0 &&
               (st.st_dev != hosts.st_dev || st.st_ino != hosts.st_ino);
}

/* Pid 1 can be looked at where it was started by exec; the command's processes always. */
static int watch_by(struct covers *covers, pid_t pid) {
        static const struct {
                const char *name;
                int flags;
        } files[] = {{"ns/mnt", O_RDONLY},
                     {"root", O_PATH | O_DIRECTORY},
                     {"mountinfo", O_RDONLY},
                     {"mountinfo", O_RDONLY}};
        int *const to[] = {&covers->mount_namespace, &covers->root, &covers->told, &covers->asked,
                           &covers->user};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(files) && r >= 0; i++) {
                r = *to[i] = open_of_process(pid, files[i].name, files[i].flags);
                if (r >= 0)
                        r = fd_lift(to[i]);
        }
        if (r >= 0 && is_nsruns(covers->mount_namespace, &covers->user) && is_built(covers->root))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(to); i++)
                close_fdp(to[i]);
        return -EACCES;
}

int covers_watch(struct covers *covers, pid_t init) {
        char name[64], children[CHILDREN_MOST];
        int r;

        if (!covers || covers->root >= 0 || init <= 0)
                return -EALREADY;
        r = watch_by(covers, init);
        (void)snprintf(name, sizeof(name), "task/%d/children", (int)init);
        if (r < 0 && read_process_file(init, name, children, sizeof(children)) > 0)
                for (char *at = children, *end; r < 0; at = end) {
                        long pid = strtol(at, &end, 10);

                        if (pid <= 0 || end == at)
                                break;
                        r = watch_by(covers, (pid_t)pid);
                }
        return r < 0 ? r : covers->told;
}

int covers_fd(const struct covers *covers) {
        return covers ? covers->asked : -EBADF;
}

bool covers_have_changed(const struct covers *covers) {
        struct pollfd p = {.fd = covers_fd(covers), .events = POLLPRI};

        return p.fd >= 0 && sys_poll(&p, 1, 0) > 0;
}

/* ------------------------------------------------------------------- what is done */

/* In a process of its own, in the sandbox's namespaces. */
static int mount_again(const struct covers *covers, const struct cover *c, int target, mode_t mode) {
        uint64_t attributes =
                MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (c->is_writable ? 0 : (uint64_t)MOUNT_ATTR_RDONLY);
        int source = -ENOENT, tree, r = sys_setns(covers->user, CLONE_NEWUSER);

        /* EINVAL: it is the caller's. */
        if (r >= 0 || r == -EINVAL)
                r = sys_setns(covers->mount_namespace, CLONE_NEWNS);
        if (r >= 0 && c->hides && S_ISDIR(mode)) {
                r = sys_fchdir(target);
                return r < 0 ? r
                             : sys_mount("tmpfs", ".", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                                         "size=4096,mode=0555");
        }
        /* A device on such a mount can't be opened. */
        if (r >= 0 && c->hides)
                source = beneath_open(covers->root, "dev/null", O_PATH, 0);
        else if (r >= 0 && *c->link && S_ISREG(mode))
                source = sys_open(covers->root, c->link, O_PATH | O_NOFOLLOW, 0);
        if (source == -ENOENT)
                source = target;
        tree = r < 0 ? r
               : source < 0
                       ? source
                       : sys_open_tree(source, "",
                                       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
        r = tree < 0 ? tree : sys_mount_setattr(tree, AT_RECURSIVE, attributes);
        return r < 0 ? r : sys_move_mount(tree, target, "");
}

/* -ENOENT: what is to be covered has gone at this moment. */
static int put_back_one(const struct covers *covers, const struct cover *c) {
        _cleanup_close_ int target = beneath_open(covers->root, c->target + 1, O_PATH | O_NOFOLLOW, 0),
                            pidfd = -EBADF;
        struct sys_file file = {0};
        siginfo_t info = {0};
        struct stat st;
        int r;

        if (target < 0)
                return 0;
        r = sys_statx(AT_FDCWD, fd_link(target).path, &file);
        if (r < 0 || !file.is_below_mount || sys_fstat(target, &st) < 0)
                return r;
        r = sys_fork_to_enter(&pidfd);
        if (r == 0)
                _exit(-mount_again(covers, c, target, st.st_mode));
        if (r > 0)
                r = sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
        return r < 0 ? r : info.si_code == CLD_EXITED ? -info.si_status : -EIO;
}

int covers_put_back(const struct covers *covers, struct nsrun_error *err) {
        for (size_t i = 0; covers && i < covers->n && covers->root >= 0; i++) {
                int r = -ENOENT;

                for (unsigned k = 0; k < TRIES && r == -ENOENT; k++)
                        r = put_back_one(covers, &covers->list[i]);
                if (r < 0)
                        return error_set(
                                err, NSRUN_STAGE_SUPERVISE, r, covers->list[i].target,
                                "the host has replaced this name, and it can't be covered again: the "
                                "sandbox is ended",
                                NULL);
        }
        return 0;
}
