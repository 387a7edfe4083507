/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See widen_mount.h.  All paths are looked up beneath descriptors: the command can turn any. */
#include "widen_mount.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"

/* WIDEN_REVOKED, at the root; a file's. */
#define REVOKED_FOLDER (&WIDEN_REVOKED[1])
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

/* And the folders on the way to it that are empty then; what the command has put there stays. */
static void remove_made(int around, const char *made) {
        _cleanup_free_ char *path = strdup(made);
        _cleanup_close_ int point = path ? beneath_open(around, path, O_PATH, 0) : -EBADF;
        struct stat st;
        char *slash;
        int r = point < 0 ? point : sys_fstat(point, &st);

        if (r >= 0)
                r = S_ISDIR(st.st_mode)                           ? sys_rmdirat(around, path)
                    : st.st_size == 0 && st.st_mode == POINT_MODE ? sys_unlinkat(around, path)
                                                                  : -EEXIST;
        while (r >= 0 && (slash = strrchr(path, '/'))) {
                *slash = '\0';
                r = sys_rmdirat(around, path);
        }
}

/* -------------------------------------------------------------------- attached */

struct attaching {
        const struct granted *g;
        int file, folder, tree;
};

/* A rename that the kernel has let begin before the mount was there ends before this returns: the folder is
 * its own until then.  Nothing is made in a copy that is read-only. */
static int await_renames(int folder, const char *name) {
        _cleanup_close_ int copy = open_copy(folder, false);

        if (copy >= 0)
                (void)sys_mkdirat(copy, name, 0700);
        return copy < 0 ? copy : 0;
}

static int do_attach(void *data) {
        const struct attaching *a = data;
        const char *name = path_basename(a->g->shown);
        _cleanup_close_ int own = -EBADF, point = -EBADF, held = -EBADF, there = -EBADF,
                            root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        int folder = is_folder(a->tree), r = root < 0 ? root : folder;

        if (r >= 0 && a->g->makes)
                r = own = open_copy(a->folder, true);
        if (r >= 0 && a->g->makes)
                r = make_point(own, name, folder);
        if (r >= 0)
                r = point = beneath_open(a->folder, name, O_PATH | (folder ? O_DIRECTORY : 0), 0);
        /* It is mounted over itself first: it can't be renamed then, and where the command has done that
         * before, nothing of the host's was there. */
        if (r >= 0)
                r = held = open_copy(point, false);
        if (r >= 0)
                r = granted_say(a->file, GRANTED_HELD, a->g, mount_id(held));
        if (r >= 0)
                r = sys_move_mount(held, point, "");
        if (r >= 0)
                r = await_renames(a->folder, name);
        if (r < 0)
                return r;
        there = beneath_open(root, a->g->shown + 1, O_PATH, 0);
        r = mount_id(there) == mount_id(held) ? sys_move_mount(a->tree, held, "") : -ESTALE;
        return r < 0 ? r : granted_say(a->file, GRANTED_SHOWN, a->g, 0);
}

int widen_attach(const struct inside *inside, int file, const struct granted *g, int folder, int tree) {
        struct attaching a = {g, file, folder, tree};

        return inside_do(inside, (const int[]){file, folder, tree}, 3, do_attach, &a);
}

/* ------------------------------------------------------------------ taken away */

/* Detached by umount2(2) it would let go of what lies over its parts, for whoever has a folder of it open.
 * The kernel keeps them together when the mount point is removed (UMOUNT_CONNECTED), which must be no mount
 * point where that is done: in a copy of the namespace, which is left without it.  Before that it becomes
 * read-only, unless something is open for writing there. */
static int take_tree(const struct widen_away *away) {
        _cleanup_close_ int root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0), own = -EBADF,
                            place = -EBADF, at = -EBADF;
        int folder = is_folder(away->tree), r = root < 0 ? root : folder;
        const char *name = folder > 0 ? REVOKED_FOLDER : REVOKED_FILE;
        bool has_writers = false;

        if (r >= 0)
                r = own = open_copy(root, true);
        if (r >= 0)
                r = make_point(own, name, folder);
        if (r >= 0)
                r = place = beneath_open(root, name, O_PATH, 0);
        if (r < 0)
                return r;
        (void)sys_mount_setattr(away->tree, AT_RECURSIVE, MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW);
        has_writers = sys_mount_setattr(away->tree, AT_RECURSIVE, MOUNT_ATTR_RDONLY) < 0;
        if (mount_id(away->tree) != mount_id(place))
                r = sys_move_mount(away->tree, place, "");
        /* What has held its place goes with it. */
        at = r >= 0 ? beneath_open(root, away->path + 1, O_PATH, 0) : -EBADF;
        if (at >= 0 && away->held && mount_id(at) == away->held && mount_id(away->tree) != away->held)
                (void)sys_move_mount(at, away->tree, "");
        if (r >= 0)
                r = sys_unshare(CLONE_NEWNS);
        if (r >= 0)
                r = sys_chdir("/");
        if (r < 0)
                return r;
        while ((r = sys_umount(name, MNT_DETACH | UMOUNT_NOFOLLOW)) >= 0)
                ;
        if (r == -EINVAL)
                r = folder ? sys_rmdirat(own, name) : sys_unlinkat(own, name);
        return r < 0 ? r : has_writers;
}

static int do_detach(void *data) {
        const struct widen_away *away = data;
        /* Of the namespace that is left then. */
        _cleanup_close_ int around = away->around < 0 ? -EBADF : open_copy(away->around, true);
        int r = away->tree < 0 ? 0 : take_tree(away);

        if (r >= 0 && around >= 0)
                remove_made(around, away->made);
        return r;
}

int widen_detach(const struct inside *inside, const struct widen_away *away) {
        struct widen_away own = *away;

        return inside_do(inside, (const int[]){away->file, away->tree, away->around}, 3, do_detach, &own);
}
