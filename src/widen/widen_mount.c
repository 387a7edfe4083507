/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See widen_mount.h.  All paths are looked up beneath descriptors: the command can turn any. */
#include "widen_mount.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/path.h"
#include "base/sys.h"

/* At the sandbox's root: where a tree lies while it is taken back. */
#define REVOKED_FOLDER ".nsrun-revoked"
#define REVOKED_FILE   ".nsrun-revoked-file"
#define POINT_MODE     (S_IFREG | 0444)

static int is_folder(int fd) {
        struct stat st;
        int r = sys_fstat(fd, &st);

        return r < 0 ? r : S_ISDIR(st.st_mode);
}

static uint64_t mount_id(int fd) {
        struct sys_mount mount;

        return sys_mount_of(fd, &mount) < 0 ? 0 : mount.id;
}

/* A folder by a mount of its own, which nobody else sees. */
static int open_copy(int folder, bool is_writable) {
        _cleanup_close_ int copy =
                sys_open_tree(folder, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        int r = copy;

        if (r >= 0)
                r = is_writable ? sys_mount_let_write(copy) : sys_mount_setattr(copy, 0, MOUNT_ATTR_RDONLY);
        return r < 0 ? r : TAKE_FD(copy);
}

/* One that is there does as well. */
static int make_point(int folder, const char *name, bool makes_folder) {
        int r = makes_folder ? sys_mkdirat(folder, name, 0755) : sys_mknodat(folder, name, POINT_MODE);

        return r == -EEXIST ? 0 : r;
}

/* -------------------------------------------------------------------- attached */

struct attaching {
        const struct granted *g;
        int file, folder, tree;
};

/* Where the command has moved the mount point before, the tree is there; afterwards it can't (EBUSY). */
static int do_attach(void *data) {
        const struct attaching *a = data;
        const char *name = path_basename(a->g->shown);
        _cleanup_close_ int own = -EBADF, point = -EBADF, there = -EBADF,
                            root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        int folder = is_folder(a->tree), r = root < 0 ? root : folder;

        if (r >= 0 && a->g->makes)
                r = own = open_copy(a->folder, true);
        if (r >= 0 && a->g->makes)
                r = make_point(own, name, folder);
        if (r >= 0)
                r = point = beneath_open(a->folder, name, O_PATH | (folder ? O_DIRECTORY : 0), 0);
        if (r >= 0)
                r = sys_move_mount(a->tree, point, "");
        if (r < 0)
                return r;
        there = beneath_open(root, a->g->shown + 1, O_PATH, 0);
        return mount_id(there) == mount_id(a->tree) ? granted_say(a->file, GRANTED_SHOWN, a->g) : -ESTALE;
}

int widen_attach(const struct inside *inside, int file, const struct granted *g, int folder, int tree) {
        struct attaching a = {g, file, folder, tree};

        return inside_do(inside, (const int[]){file, folder, tree}, 3, do_attach, &a);
}

/* ------------------------------------------------------------------ taken away */

/* Detached by umount2(2) it would let go of what the host has mounted over its parts, for whoever has a
 * folder of it open.  The kernel keeps them together when the mount point is removed (UMOUNT_CONNECTED),
 * which must be no mount point where that is done: in a copy of the namespace, which is left without it.
 * What is open in there runs no programs any more, and writes no more to an overlay, unless it is being
 * written. */
static int detach_aside(int tree) {
        _cleanup_close_ int root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0), own = -EBADF,
                            place = -EBADF;
        int folder = is_folder(tree), r = root < 0 ? root : folder;
        const char *name = folder > 0 ? REVOKED_FOLDER : REVOKED_FILE;

        if (r >= 0)
                r = own = open_copy(root, true);
        if (r >= 0)
                r = make_point(own, name, folder);
        if (r >= 0)
                r = place = beneath_open(root, name, O_PATH, 0);
        if (r < 0)
                return r;
        (void)sys_mount_setattr(tree, AT_RECURSIVE, MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW);
        (void)sys_mount_setattr(tree, AT_RECURSIVE, MOUNT_ATTR_RDONLY);
        if (mount_id(tree) != mount_id(place))
                r = sys_move_mount(tree, place, "");
        /* Without one it goes from the sandbox's own. */
        if (r >= 0)
                (void)sys_unshare(CLONE_NEWNS);
        if (r >= 0)
                r = sys_chdir("/");
        if (r < 0)
                return r;
        while ((r = sys_umount(name, MNT_DETACH | UMOUNT_NOFOLLOW)) >= 0)
                ;
        return r != -EINVAL ? r : folder ? sys_rmdirat(own, name) : sys_unlinkat(own, name);
}

/* As it is, where there is no room for a copy of anything. */
static int do_detach(void *data) {
        const int tree = *(const int *)data;
        int r = detach_aside(tree), q = r < 0 ? sys_fchdir(tree) : 0;

        return r < 0 && q >= 0 ? sys_umount(".", MNT_DETACH | UMOUNT_NOFOLLOW) : r;
}

int widen_detach(const struct inside *inside, int file, int tree) {
        return inside_do(inside, (const int[]){file, tree}, 2, do_detach, &tree);
}

struct removing {
        int folder;
        const char *path;
        bool is_mounted;
};

/* What the command has put there stays. */
static int do_remove(void *data) {
        const struct removing *a = data;
        const char *name = path_basename(a->path);
        _cleanup_close_ int own = open_copy(a->folder, true), point = -EBADF;
        struct stat st;
        int r = a->is_mounted ? sys_umount(a->path, UMOUNT_NOFOLLOW) : 0;

        if (r >= 0)
                r = own;
        if (r >= 0)
                r = point = beneath_open(own, name, O_PATH, 0);
        if (r >= 0)
                r = sys_fstat(point, &st);
        return r < 0                                         ? r
               : S_ISDIR(st.st_mode)                         ? sys_rmdirat(own, name)
               : st.st_size == 0 && st.st_mode == POINT_MODE ? sys_unlinkat(own, name)
                                                             : -EEXIST;
}

int widen_remove_point(const struct inside *inside, int file, int folder, const char *path,
                       bool is_mounted) {
        struct removing a = {folder, path, is_mounted};

        return inside_do(inside, (const int[]){file, folder}, 2, do_remove, &a);
}
