/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mount tree: one function per kind of operation, all in the child, all
 * through descriptors.  The order and the contents are the plan's. */
#include <fcntl.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "internal.h"

#define ATTRIBUTES_BIND (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
/* Read-only keeps chmod and utimes off the host's nodes, which root's uid owns;
 * writing to a device is not writing to its file system. */
#define ATTRIBUTES_DEVICE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)
#define ATTRIBUTES_COVER  (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* The new file system is mounted by mount(2) with a bare number as its path: the
 * working directory is the host's /proc/self/fd, so "7" is descriptor 7 and no
 * path is walked twice. */
int mount_filesystem(struct launch_child *c, int target, const char *type, unsigned long flags,
                     const char *data) {
        char number[24];

        (void)c;
        return sys_mount(type, number_format(number, (uint64_t)target), type, flags, data);
}

/* Makes the first root: a tmpfs that becomes "/" at once, with the host's root
 * still reachable through c->old_root alone.  From here on a source is looked up
 * beneath old_root and a target beneath new_root, so neither can be mistaken for
 * the other. */
int mount_private_root(struct launch_child *c) {
        struct nsrun_error *err = &c->error;
        char data[64] = "mode=0755,size=", number[24];
        int r;

        c->old_root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        if (c->old_root < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, c->old_root, "/", "the root folder can't be opened",
                                 NULL);
        c->descriptors = sys_open(AT_FDCWD, "/proc/self/fd", O_PATH | O_DIRECTORY, 0);
        if (c->descriptors < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, c->descriptors, "/proc/self/fd",
                                 "the host's /proc can't be opened",
                                 "nsrun needs a mounted /proc to start from");
        /* A raw plan's binds see what is mounted on the host later on. */
        r = sys_mount(NULL, "/", NULL, MS_REC | (c->plan->raw ? MS_SLAVE : MS_PRIVATE), NULL);
        if (r < 0)
                /* Ubuntu's AppArmor lets the namespace be made and refuses what it is
                 * for; the parent finds out which it was. */
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL,
                                 "the new namespaces are there but may not be used", NULL);
        strcat(data, number_format(number, c->plan->root_size));
        /* On /proc because every host has that folder; pivot_root takes it away again at once. */
        r = sys_mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, c->plan->raw ? NULL : data);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, r, "/", "the sandbox's root tmpfs can't be mounted",
                                 NULL);
        r = sys_chdir("/proc");
        if (r >= 0)
                r = sys_pivot_root(".", ".");
        if (r < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, r, "/", "pivot_root to the sandbox's root failed",
                                 r == -EINVAL
                                         ? "the host runs from an initramfs (rootfs); start nsrun from a "
                                           "real root file system"
                                         : NULL);
        c->new_root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        if (c->new_root < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, c->new_root, "/",
                                 "the sandbox's root can't be opened", NULL);
        r = sys_fchdir(c->descriptors);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, r, "/proc/self/fd",
                                 "the host's /proc can't be entered", NULL);
        return 0;
}

static int fail_target(struct launch_child *c, const struct plan_op *op, int r) {
        if (r == -ELOOP)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "a symlink stands in the way of a mount point",
                                 "nsrun follows none there: name the real path, or remove the link");
        if (r == -ENOENT)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "the mount point does not exist",
                                 "make it on the host first: nsrun leaves no ghost files in your folders");
        if (r == -ENOTDIR)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "the mount point is not a folder", NULL);
        return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target, "the mount point can't be opened",
                         NULL);
}

static int make_file(struct launch_child *c, const struct plan_op *op, mode_t mode, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        size_t left = text ? strlen(text) : 0;

        fd = sys_open(c->new_root, op->target + 1, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode);
        if (fd < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, fd, op->target,
                                 "a file of the sandbox can't be made", NULL);
        while (left > 0) {
                ssize_t n = sys_write(fd, text, left);

                if (n < 0)
                        return error_set(&c->error, NSRUN_STAGE_MOUNT, (int)n, op->target,
                                         "a file of the sandbox can't be written", NULL);
                text += n;
                left -= (size_t)n;
        }
        return 0;
}

static int make_folder(struct launch_child *c, const struct plan_op *op, mode_t mode) {
        int r;

        r = sys_mkdirat(c->new_root, op->target + 1, mode);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "a folder of the sandbox can't be made", NULL);
        return 0;
}

int mount_point(struct launch_child *c, const struct plan_op *op) {
        bool is_folder = op->kind != PLAN_BIND || op->is_directory;
        int r;

        /* Made only on the plan's own tmpfs, where no command has ever been. */
        if (op->makes_target) {
                r = is_folder ? make_folder(c, op, 0755) : make_file(c, op, 0444, NULL);
                if (r < 0)
                        return r;
        }
        r = beneath_open(c->new_root, op->target + 1, O_PATH | (is_folder ? O_DIRECTORY : 0), 0);
        if (r < 0)
                return fail_target(c, op, r);
        return r;
}

/* move_mount(2) says EINVAL for this and for much else. */
static bool is_same_kind(int a, int b) {
        struct stat x, y;

        return sys_fstat(a, &x) < 0 || sys_fstat(b, &y) < 0 || S_ISDIR(x.st_mode) == S_ISDIR(y.st_mode);
}

int mount_attach(struct launch_child *c, const struct plan_op *op, int source, int target,
                 uint64_t attributes, bool is_recursive) {
        unsigned recursive = is_recursive ? AT_RECURSIVE : 0;
        _cleanup_close_ int tree = -EBADF;
        int r;

        if (c->legacy)
                return legacy_attach(c, op, source, target, attributes, is_recursive);
        /* A detached copy gets its attributes before anything can see it (5.12). */
        tree = sys_open_tree(source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | recursive);
        if (tree < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, tree, op->source ? op->source : op->target,
                                 "the source can't be bound", NULL);
        r = sys_mount_setattr(tree, recursive, attributes);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->source ? op->source : op->target,
                                 "the bind's attributes can't be set", NULL);
        r = sys_move_mount(tree, target);
        if (r == -EINVAL && !is_same_kind(source, target))
                return error_set(&c->error, NSRUN_STAGE_MOUNT, -ENOTDIR, op->target,
                                 "the mount point and the source are not both folders or both files", NULL);
        if (r < 0)
                return error_set(
                        &c->error, NSRUN_STAGE_MOUNT, r, op->target, "the bind can't be attached",
                        r == -EPERM
                                ? "a seccomp filter refuses move_mount: allow it, or refuse it with ENOSYS"
                                : NULL);
        return 0;
}

/* The plan's sources are canonical: a symlink on the way means that somebody
 * changed the tree since the policy was checked. */
static int mount_bind(struct launch_child *c, const struct plan_op *op) {
        _cleanup_close_ int source = -EBADF, target = -EBADF;

        source = op->is_in_umbrella ? mount_open_playground(c, op)
                                    : beneath_open(c->old_root, op->source + 1, O_PATH, 0);
        if (source == -ELOOP)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, source, op->source,
                                 "the source was replaced by a symlink while the sandbox was being built",
                                 NULL);
        if (source < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, source, op->source,
                                 "the source can't be opened", NULL);
        target = mount_point(c, op);
        if (target < 0)
                return target;
        return mount_attach(c, op, source, target,
                            op->is_device ? ATTRIBUTES_DEVICE
                                          : ATTRIBUTES_BIND | (op->is_read_only ? MOUNT_ATTR_RDONLY : 0),
                            true);
}

static int mount_cover(struct launch_child *c, const struct plan_op *op) {
        _cleanup_close_ int here = -EBADF;

        here = beneath_open(c->new_root, op->target + 1, O_PATH, 0);
        if (here == -ENOENT)
                return 0;
        if (here < 0)
                return fail_target(c, op, here);
        return mount_attach(c, op, here, here, ATTRIBUTES_COVER, false);
}

static int mount_new(struct launch_child *c, const struct plan_op *op, const char *type,
                     unsigned long flags) {
        _cleanup_close_ int target = -EBADF;
        int r;

        if (op->is_hiding) {
                target = beneath_open(c->new_root, op->target + 1, O_PATH | O_DIRECTORY, 0);
                if (target == -ENOENT)
                        return 0;
                if (target < 0)
                        return fail_target(c, op, target);
        } else {
                target = mount_point(c, op);
        }
        if (target < 0)
                return target;
        r = mount_filesystem(c, target, type, flags, op->text);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 op->kind == PLAN_TMPFS ? "a tmpfs can't be mounted"
                                                        : "a devpts can't be mounted",
                                 NULL);
        return 0;
}

static int mount_operation(struct launch_child *c, const struct plan_op *op) {
        int r;

        switch (op->kind) {
        case PLAN_DIR:
                return make_folder(c, op, op->mode);
        case PLAN_FILE:
                return make_file(c, op, op->mode, op->text);
        case PLAN_SYMLINK:
                r = sys_symlinkat(op->text, c->new_root, op->target + 1);
                if (r < 0)
                        return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target,
                                         "a symlink of the sandbox can't be made", NULL);
                return 0;
        case PLAN_BIND:
                return mount_bind(c, op);
        case PLAN_OVERLAY:
                return mount_overlay(c, op);
        case PLAN_TMPFS:
                return mount_new(c, op, "tmpfs", MS_NOSUID | MS_NODEV);
        case PLAN_DEVPTS:
                return mount_new(c, op, "devpts", MS_NOSUID | MS_NOEXEC);
        case PLAN_PROC:
                return mount_proc(c, op);
        case PLAN_COVER:
                return mount_cover(c, op);
        case PLAN_DATA:
        case PLAN_MQUEUE:
        case PLAN_CHMOD:
        case PLAN_REMOUNT_RO:
                break; /* raw_mount.c's */
        }
        return error_set(&c->error, NSRUN_STAGE_MOUNT, -EINVAL, op->target,
                         "the plan holds an unknown operation", NULL);
}

int mount_operations(struct launch_child *c) {
        int r = mount_name_umbrella(c);

        if (r < 0)
                return r;
        for (size_t i = 0; i < c->plan->n_ops; i++) {
                r = mount_operation(c, &c->plan->ops[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Enters the working directory beneath the new root.  Symlinks in it may be the
 * plan's or a former command's and stay inside; a magic link of /proc would not. */
static int enter_directory(struct launch_child *c) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        /* EAGAIN: a rename or a mount anywhere while a ".." was being resolved. */
        for (int tries = 0; tries < 1000; tries++) {
                fd = sys_openat2(c->new_root, c->plan->cwd, O_PATH | O_DIRECTORY, 0,
                                 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
                if (fd != -EAGAIN)
                        break;
        }
        if (fd == -ENOSYS || fd == -EPERM)
                fd = beneath_walk(c->new_root, c->plan->cwd + 1, O_PATH | O_DIRECTORY, 0);
        r = fd < 0 ? fd : sys_fchdir(fd);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, c->plan->cwd,
                                 "the working directory can't be entered",
                                 "--chdir names a folder that the sandbox has");
        return 0;
}

/* Lets go of the host's tree, of every descriptor that leads into it, and makes
 * the root read-only. */
int mount_seal(struct launch_child *c) {
        int r;

        r = sys_fchdir(c->old_root);
        if (r >= 0)
                r = sys_umount(".", MNT_DETACH);
        /* The detached tree is whole while it is somebody's working directory. */
        if (r >= 0)
                r = sys_chdir("/");
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, "/", "the host's root can't be detached",
                                 NULL);
        close_fdp(&c->old_root);
        close_fdp(&c->descriptors);
        close_fdp(&c->umbrella_fd);
        close_fdp(&c->overlay_fd);
        if (c->params->umbrella_fd >= 0)
                (void)sys_close(c->params->umbrella_fd);
        r = c->legacy ? legacy_seal(c)
                      : sys_mount_setattr(c->new_root, 0, ATTRIBUTES_BIND | MOUNT_ATTR_RDONLY);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, "/", "the root can't be made read-only",
                                 NULL);
        r = enter_directory(c);
        close_fdp(&c->new_root);
        return r;
}
