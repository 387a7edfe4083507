/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths of a raw plan's finished tree that are protected or hidden.  No symlink may stand in such a path:
 * one in a folder that the command may write is the command's, and would name something else a moment later.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "boundary/decimal.h"
#include "raw.h"

#define HIDDEN_NAME "hidden" /* on the first tmpfs, of the file in the place of a hidden one */

/* The mount that `fd` lies on; 0: not to be known (before 5.8). */
static uint64_t mount_of(int fd) {
        struct sys_file file;
        char number[24];

        return sys_statx(AT_FDCWD, number_format(number, (uint64_t)fd), &file) < 0 ? 0 : file.mount;
}

/* Where pin() was last. */
struct pinned {
        uint64_t mount;
        bool is_read_only; /* nothing in it can be renamed */
};

/* Binds the folder `path` over itself, unless it is a mount point already or can't be renamed. */
static int pin(struct raw *w, char *path, struct pinned *above) {
        const struct plan_op folder = {.kind = PLAN_BIND, .target = path};
        _cleanup_close_ int fd = beneath_open(w->mount.new_root, path, O_PATH | O_DIRECTORY, 0);
        _cleanup_close_ int now = -EBADF;
        uint64_t mount = fd < 0 ? 0 : mount_of(fd);
        unsigned long flags = 0;
        int r;

        if (fd < 0)
                return fd;
        if (*path && !above->is_read_only && (mount == 0 || mount == above->mount)) {
                r = mount_attach(&w->mount, &folder, fd, AT(fd), 0, true);
                if (r < 0)
                        return r;
        }
        now = beneath_open(w->mount.new_root, path, O_PATH | O_DIRECTORY, 0);
        r = now < 0 ? now : sys_mount_flags(now, NULL, &flags);
        *above = (struct pinned){.mount = now < 0 ? 0 : mount_of(now), .is_read_only = flags & MS_RDONLY};
        return r;
}

/* Makes a mount point of each folder on the way.  One in which something is mounted can be renamed, and the
 * mount goes with it: the command could put what it likes in its place, or have the next start find nothing
 * there.  A mount point itself can't be (EBUSY). */
static int pin_way(struct raw *w, const struct plan_op *op) {
        char way[PATH_MAX] = "";
        struct pinned above = {0};
        int r;

        if (strlen(op->target) >= sizeof(way))
                return -ENAMETOOLONG;
        r = pin(w, way, &above);
        for (size_t i = 1; op->target[i] && r >= 0; i++) {
                if (op->target[i] == '/')
                        r = pin(w, way, &above);
                way[i - 1] = op->target[i];
        }
        return r;
}

/* Opens the target when the way to it is fixed. */
static int open_fixed(struct raw *w, const struct plan_op *op) {
        int fd = beneath_open(w->mount.new_root, op->target + 1, O_PATH, 0), r;

        if (fd < 0)
                return fd;
        (void)sys_close(fd);
        r = pin_way(w, op);
        w->covers_root = true;
        return r < 0 ? r : beneath_open(w->mount.new_root, op->target + 1, O_PATH, 0);
}

int raw_protect(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int target = -EBADF;

        target = open_fixed(w, op);
        if (target < 0)
                return raw_mount_fail(w, target, op->target, "Can't protect");
        return mount_attach(&w->mount, op, target, AT(target), MOUNT_ATTR_RDONLY, true);
}

/* An empty file that nobody may read, and that has no name once it is bound. */
static int hide_file(struct raw *w, const struct plan_op *op, int target) {
        _cleanup_close_ int file = sys_open(w->base_root, HIDDEN_NAME, O_CREAT | O_EXCL | O_WRONLY, 0);
        int r;

        if (file < 0)
                return file;
        r = mount_attach(&w->mount, op, file, AT(target),
                         MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                         false);
        return r < 0 ? r : sys_unlinkat(w->base_root, HIDDEN_NAME);
}

int raw_hide(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int target = open_fixed(w, op);
        struct stat st;
        int r;

        if (target == -ENOENT)
                return 0;
        r = target < 0 ? target : sys_fstat(target, &st);
        if (r >= 0 && S_ISDIR(st.st_mode))
                r = mount_filesystem(AT(target), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                                     "mode=0555,size=4096,nr_inodes=2");
        else if (r >= 0)
                r = hide_file(w, op, target);
        return r < 0 ? raw_mount_fail(w, r, op->target, "Can't hide") : 0;
}
