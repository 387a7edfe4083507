/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mount tree: one function per kind of operation, all in the child, all
 * through descriptors.  The order and the contents are the plan's. */
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/causes.h"
#include "base/file.h"
#include "base/path.h"
#include "decimal.h"
#include "mount.h"

/* The new file system is mounted by mount(2) with a number at the beginning of its path: the working
 * directory is the host's /proc/self/fd, so "7" is descriptor 7 and no path is walked twice, and "5/etc" a
 * path that was made just now beneath the new root, where no command has ever been. */
int place_path(const struct mount_place *at, char to[PLACE_PATH_MAX]) {
        char number[24];

        strcpy(to, number_format(number, (uint64_t)at->fd));
        if (strlen(at->path) + sizeof(number) >= PLACE_PATH_MAX)
                return -ENAMETOOLONG;
        if (*at->path)
                strcat(strcat(to, "/"), at->path);
        return 0;
}

int mount_filesystem(const struct mount_place *at, const char *type, unsigned long flags, const char *data) {
        char path[PLACE_PATH_MAX];
        int r = place_path(at, path);

        return r < 0 ? r : sys_mount(type, path, type, flags, data);
}

int mount_private_root(struct mounting *m, unsigned long propagation, const char *options) {
        struct nsrun_error *err = m->error;
        int r;

        m->old_root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        if (m->old_root < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, m->old_root, "/", "the root folder can't be opened",
                                 NULL);
        m->descriptors = sys_open(AT_FDCWD, "/proc/self/fd", O_PATH | O_DIRECTORY, 0);
        if (m->descriptors < 0)
                return error_cause(err, NSRUN_ERROR_NO_PROC_FOR_MOUNTS, m->descriptors, "/proc/self/fd");
        r = sys_mount(NULL, "/", NULL, MS_REC | propagation, NULL);
        if (r < 0)
                /* Ubuntu's AppArmor lets the namespace be made and refuses what it is
                 * for; the parent finds out which it was. */
                return error_set_id(err, NSRUN_ERROR_NAMESPACES_UNUSABLE, NSRUN_STAGE_NAMESPACE, r, NULL,
                                    "the new namespaces are there but may not be used", NULL);
        /* On /proc because every host has that folder; pivot_root takes it away again at once. */
        r = sys_mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, options);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, r, "/", "the sandbox's root tmpfs can't be mounted",
                                 NULL);
        r = sys_chdir("/proc");
        if (r >= 0)
                r = sys_pivot_root(".", ".");
        if (r < 0)
                return r == -EINVAL ? error_cause(err, NSRUN_ERROR_INITRAMFS, r, "/")
                       : error_is_filtered(r)
                               ? error_cause(err, NSRUN_ERROR_FILTER_PIVOT, r, "/")
                               : error_cause_with(err, NSRUN_ERROR_FILTER_PIVOT, r, "/", NULL);
        m->new_root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        if (m->new_root < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, m->new_root, "/",
                                 "the sandbox's root can't be opened", NULL);
        r = sys_fchdir(m->descriptors);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, r, "/proc/self/fd",
                                 "the host's /proc can't be entered", NULL);
        return 0;
}

static int fail_target(struct mounting *m, const struct plan_op *op, int r) {
        if (r == -ELOOP)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "a symlink stands in the way of a mount point",
                                 "nsrun follows none there: name the real path, or remove the link");
        if (r == -ENOENT)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "the mount point does not exist",
                                 "make it on the host first: nsrun leaves no ghost files in your folders");
        if (r == -ENOTDIR)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "the mount point is not a folder", NULL);
        return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target, "the mount point can't be opened",
                         NULL);
}

int mount_make_file(struct mounting *m, const struct plan_op *op, mode_t mode, const char *bytes, size_t n) {
        /* One call, where no filter refuses it, does for an empty one. */
        int r = bytes ? -ENOSYS : sys_mknodat(m->new_root, op->target + 1, mode);
        _cleanup_close_ int fd = -EBADF;

        if (r >= 0)
                return 0;
        fd = sys_open(m->new_root, op->target + 1, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode);
        if (fd < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, fd, op->target,
                                 "a file of the sandbox can't be made", NULL);
        r = write_full(fd, bytes, n);
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "a file of the sandbox can't be written", NULL);
        mount_close_later(m, TAKE_FD(fd));
        return 0;
}

static int mount_make_folder(struct mounting *m, const struct plan_op *op, mode_t mode) {
        int r;

        r = sys_mkdirat(m->new_root, op->target + 1, mode);
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "a folder of the sandbox can't be made", NULL);
        return 0;
}

/* A symlink that is a mount point, or is bound, is opened itself; there may be none on the way to it. */
static int mount_open_flags(const struct plan_op *op) {
        bool is_folder = (op->kind != PLAN_BIND && op->kind != PLAN_HIDE) || op->is_directory;

        return O_PATH | (is_folder ? O_DIRECTORY : 0) | (op->is_link ? O_NOFOLLOW : 0);
}

/* Whether a path beneath the new root leads to where it says: each of its parts is the plan's own or the
 * kernel's. */
static bool is_way_known(const struct plan_op *op) {
        return (op->makes_target || path_is_beneath(op->target, "/proc")) &&
               strlen(op->target) < PLACE_PATH_MAX - 24;
}

int mount_point_again(const struct mounting *m, const struct plan_op *op, struct mount_place *ret) {
        bool has_path = is_way_known(op);
        int fd = has_path ? m->new_root : beneath_open(m->new_root, op->target + 1, mount_open_flags(op), 0);

        if (fd >= 0)
                *ret = (struct mount_place){.fd = fd, .path = has_path ? op->target + 1 : ""};
        return fd < 0 ? fd : 0;
}

int mount_point(struct mounting *m, const struct plan_op *op, struct mount_place *ret) {
        int r = 0;

        /* Made only on the plan's own tmpfs, where no command has ever been: what was made is what the
         * path leads to. */
        if (op->makes_target)
                r = mount_open_flags(op) & O_DIRECTORY ? mount_make_folder(m, op, 0755)
                                                       : mount_make_file(m, op, 0444, NULL, 0);
        if (r < 0)
                return r;
        r = mount_point_again(m, op, ret);
        return r < 0 ? fail_target(m, op, r) : 0;
}

/* By its path, since a descriptor of the supervisor's leads to the host's mounts; and only what was made. */
static int mount_own_cgroup(struct mounting *m, const struct plan_op *op) {
        const struct boundary_facts *f = &m->b->facts;
        const char *path = m->b->cgroup_path;
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        _cleanup_close_ int source = -EBADF;
        struct stat st;
        int r;

        if (!path)
                return error_set(m->error, NSRUN_STAGE_MOUNT, -ENOENT, op->target,
                                 "there is no cgroup to show", NULL);
        source = beneath_open(m->old_root, path + 1, O_PATH | O_DIRECTORY, 0);
        r = source < 0 ? source : sys_fstat(source, &st);
        if (r >= 0 && (st.st_dev != f->cgroup_dev || st.st_ino != f->cgroup_inode))
                r = -ESTALE;
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, path, "the cgroup can't be opened", NULL);
        r = mount_point(m, op, &at);
        return r < 0 ? r : mount_attach(m, op, source, &at, ATTRIBUTES_COVER, false);
}

static int mount_cover(struct mounting *m, const struct plan_op *op) {
        const struct mount_place at = {.fd = m->new_root, .path = op->target + 1};
        _cleanup_close_ int tree = -EBADF;
        int r;

        if (op->proc == POLICY_PROC_SUBSET && !m->proc_is_subset)
                return 0;
        tree = mount_clone(m, op, at.fd, at.path, ATTRIBUTES_COVER, 0);
        if (tree == -ENOENT)
                return 0;
        if (tree < 0)
                return m->error->stage ? tree : fail_target(m, op, tree);
        r = mount_clone_attach(m, op, tree, &at);
        mount_close_later(m, TAKE_FD(tree));
        return r;
}

/* Whether an operation of the plan has its mount point at or below a name at the top. */
static bool is_taken(const struct mounting *m, const char *name) {
        size_t n = strlen(name);

        for (size_t i = 0; i < m->b->n_ops; i++) {
                const char *target = m->b->ops[i].target;

                if (target && strncmp(target + 1, name, n) == 0 && (!target[1 + n] || target[1 + n] == '/'))
                        return true;
        }
        return false;
}

/* The file in the place of all that are hidden.  It has a name until the root is sealed, one that the plan
 * doesn't use: what has none can't be bound. */
static int open_unreadable(struct mounting *m) {
        char number[24];
        int r;

        if (m->unreadable_fd >= 0)
                return 0;
        strcpy(m->unreadable, ".nsrun-hidden");
        for (uint64_t i = 1; is_taken(m, m->unreadable); i++) {
                strcpy(m->unreadable, ".nsrun-hidden-");
                strcat(m->unreadable, number_format(number, i));
        }
        r = sys_open(m->new_root, m->unreadable, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0);
        if (r >= 0) {
                (void)sys_close(r);
                r = m->unreadable_fd = sys_open(m->new_root, m->unreadable, O_PATH | O_NOFOLLOW, 0);
        }
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, m->unreadable,
                                 "the file in the place of hidden ones can't be made", NULL);
        return 0;
}

/* Puts an empty folder or an unreadable file in front of what is there.  A command of a less privileged
 * user namespace can't take either away (MNT_LOCKED, 3.8). */
static int mount_hide(struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int target = -EBADF;
        struct mount_place made;
        struct stat st;
        int r = op->makes_target ? mount_point(m, op, &made) : 0;

        if (r < 0)
                return r;
        target = beneath_open(m->new_root, op->target + 1, O_PATH, 0);
        /* Not every /proc has what root may not read of it. */
        if (target == -ENOENT && op->proc == POLICY_PROC_AUTO)
                return 0;
        if (target < 0 && target != -ENOENT)
                return fail_target(m, op, target);
        r = target < 0 ? target : sys_fstat(target, &st);
        /* It may be shown under another name now. */
        if (r == -ENOENT || (r >= 0 && op->inode != 0 && st.st_ino != op->inode))
                return error_set(m->error, NSRUN_STAGE_MOUNT, -ESTALE, op->target, HIDDEN_WAS_MOVED,
                                 HIDDEN_WAS_MOVED_HINT);
        if (r >= 0 && !S_ISDIR(st.st_mode)) {
                r = open_unreadable(m);
                return r < 0 ? r
                             : mount_attach(m, op, m->unreadable_fd, AT(target), ATTRIBUTES_COVER, false);
        }
        if (r >= 0)
                r = mount_filesystem(AT(target), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                                     "mode=0555,size=4096,nr_inodes=2");
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "an empty folder can't be mounted over a hidden one", NULL);
        return 0;
}

static int mount_new(struct mounting *m, const struct plan_op *op, const char *type, unsigned long flags) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        int r;

        if (op->is_hiding) {
                at.fd = beneath_open(m->new_root, op->target + 1, O_PATH | O_DIRECTORY, 0);
                if (at.fd == -ENOENT)
                        return 0;
                r = at.fd < 0 ? fail_target(m, op, at.fd) : 0;
        } else {
                r = mount_point(m, op, &at);
        }
        if (r < 0)
                return r;
        r = mount_filesystem(&at, type, flags, op->text);
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 op->kind == PLAN_TMPFS ? "a tmpfs can't be mounted"
                                                        : "a devpts can't be mounted",
                                 NULL);
        return 0;
}

static int mount_operation(struct mounting *m, const struct plan_op *op) {
        int r;

        switch (op->kind) {
        case PLAN_DIR:
                return mount_make_folder(m, op, op->mode);
        case PLAN_FILE:
                return mount_make_file(m, op, op->mode, op->text, strlen(op->text));
        case PLAN_SYMLINK:
                r = sys_symlinkat(op->text, m->new_root, op->target + 1);
                if (r < 0)
                        return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                         "a symlink of the sandbox can't be made",
                                         FILTER_HINT_FOR(r, "symlinkat"));
                return 0;
        case PLAN_BIND:
                return mount_bind(m, op);
        case PLAN_OVERLAY:
                return mount_overlay(m, op);
        case PLAN_TMPFS:
                return mount_new(m, op, "tmpfs", MS_NOSUID | MS_NODEV | (op->is_hiding ? MS_RDONLY : 0UL));
        case PLAN_DEVPTS:
                return mount_new(m, op, "devpts", MS_NOSUID | MS_NOEXEC);
        case PLAN_PROC:
                return mount_proc(m, op);
        case PLAN_CGROUP:
                return mount_own_cgroup(m, op);
        case PLAN_COVER:
                return mount_cover(m, op);
        case PLAN_HIDE:
                return mount_hide(m, op);
        case PLAN_SOCKET:
                return mount_socket(m, op);
        default: /* raw/raw_mount.c carries those out */
                return error_set(m->error, NSRUN_STAGE_MOUNT, -EINVAL, op->target,
                                 "the plan holds an unknown operation", NULL);
        }
}

/* Overlays in memory lay a tmpfs over the host's /proc. */
static bool comes_first(const struct plan_op *op) {
        return op->kind == PLAN_PROC && op->proc == POLICY_PROC_BIND;
}

static int mount_operations(struct mounting *m) {
        int r = mount_name_rundir(m);

        if (r < 0)
                return r;
        for (size_t i = 0; i < 2 * m->b->n_ops && r >= 0; i++) {
                const struct plan_op *op = &m->b->ops[i % m->b->n_ops];

                if (comes_first(op) == (i < m->b->n_ops))
                        r = mount_operation(m, op);
        }
        /* Where a file is open for writing no mount can be made read-only. */
        mount_close(m);
        return r;
}

int mount_enter_directory(int root, const char *path, struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        /* EAGAIN: a rename or a mount anywhere while a ".." was being resolved. */
        for (int tries = 0; tries < 1000; tries++) {
                fd = sys_openat2(root, path, O_PATH | O_DIRECTORY, 0,
                                 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
                if (fd != -EAGAIN)
                        break;
        }
        if (fd == -ENOSYS || fd == -EPERM)
                fd = beneath_walk(root, path + 1, O_PATH | O_DIRECTORY, 0);
        r = fd < 0 ? fd : sys_fchdir(fd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, r, path, "the working directory can't be entered",
                                 "--chdir names a folder that the sandbox has");
        return 0;
}

/* Makes read-only what was left writable for the mount points on it. */
static int close_folders(struct mounting *m) {
        for (size_t i = 0; i < m->b->n_ops; i++) {
                const struct plan_op *op = &m->b->ops[i];
                _cleanup_close_ int fd = -EBADF;
                int r;

                if (op->kind != PLAN_TMPFS || !op->is_read_only)
                        continue;
                r = fd = beneath_open(m->new_root, op->target + 1, O_PATH | O_DIRECTORY, 0);
                if (r >= 0)
                        r = sys_mount_setattr(fd, 0, ATTRIBUTES_BIND | MOUNT_ATTR_RDONLY);
                if (r < 0)
                        return mount_fail_bind(m, op, r,
                                               "a folder around the project can't be made read-only",
                                               FILTER_HINT_FOR(r, "mount_setattr"));
        }
        return 0;
}

static int open_home(struct mounting *m) {
        int r;

        if (!m->b->home || m->b->facts.is_session)
                return 0;
        r = m->home_fd = beneath_open(m->new_root, m->b->home + 1, O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = fd_lift(&m->home_fd);
        return r >= 0 ? 0
                      : error_set(m->error, NSRUN_STAGE_MOUNT, r, m->b->home,
                                  "the sandbox's home can't be opened", NULL);
}

/* Makes the root read-only, lets go of the host's tree and of every descriptor that leads into it. */
static int mount_seal(struct mounting *m) {
        int *const fds[] = {&m->old_root,      &m->descriptors,   &m->rundir_fd,    &m->stubs_fd,
                            &m->unreadable_fd, &m->source_fds[0], &m->source_fds[1]};
        int r = m->unreadable_fd >= 0 ? sys_unlinkat(m->new_root, m->unreadable) : 0;

        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, m->unreadable,
                                 "the file in the place of hidden ones can't be removed", NULL);
        r = sys_mount_setattr(m->new_root, 0, ATTRIBUTES_BIND | MOUNT_ATTR_RDONLY);
        if (r < 0)
                return mount_fail_bind(m, &(const struct plan_op){.target = (char[]){"/"}}, r,
                                       "the root can't be made read-only",
                                       FILTER_HINT_FOR(r, "mount_setattr"));
        r = sys_fchdir(m->old_root);
        if (r >= 0)
                r = sys_umount(".", MNT_DETACH);
        /* The kernel takes a detached tree apart only when no process has it as its working directory. */
        if (r >= 0)
                r = sys_chdir("/");
        if (r < 0)
                return error_is_filtered(r)
                               ? error_cause(m->error, NSRUN_ERROR_FILTER_UMOUNT, r, "/")
                               : error_cause_with(m->error, NSRUN_ERROR_FILTER_UMOUNT, r, "/", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                mount_close_later(m, TAKE_FD(*fds[i]));
        mount_close_later(m, m->b->facts.rundir_fd);
        mount_close(m);
        r = mount_enter_directory(m->new_root, m->b->cwd, m->error);
        close_fdp(&m->new_root);
        return r;
}

int mount_beside(struct mounting *m) {
        char options[64] = "mode=0755,size=", number[24];
        int r;

        strcat(options, number_format(number, m->b->facts.root_size));
        r = mount_private_root(m, MS_PRIVATE, options);
        return r < 0 ? r : mount_operations(m);
}

int mount_tree(struct mounting *m) {
        int r = mount_beside(m);

        if (r >= 0)
                r = close_folders(m);
        if (r >= 0)
                r = open_home(m);
        return r < 0 ? r : mount_seal(m);
}
