/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See placeholder.h.  A mount stays with the folder that it is on, wherever that is renamed to outside of
 * its mount namespace, also by RENAME_EXCHANGE: so all that the command can turn is done before, and what
 * counts is one exchange with a folder that only nsrun has. */
#include "placeholder.h"

#include <linux/fs.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/remove_tree.h"
#include "kept/kept_copy.h"
#include "protect/protect_names.h"

static bool is_folder_at(int parent, const char *name, const struct stat *st) {
        struct stat at;

        return fstatat(parent, name, &at, AT_SYMLINK_NOFOLLOW) == 0 && at.st_ino == st->st_ino &&
               at.st_dev == st->st_dev;
}

/* Shows the folder `away` beside the name for a moment, since nothing of the sandbox's leads to where it
 * lies: what it is there, opened beneath the sandbox's root. */
static int open_from_inside(const struct killed *k, const struct inside *inside, const char *away,
                            int parent, const char *path, const struct stat *st) {
        const char *name = path_basename(path);
        _cleanup_close_ int fd = -EBADF;
        struct stat seen;

        if (syscall(SYS_renameat2, k->away, away, parent, name, RENAME_NOREPLACE) < 0)
                return -errno;
        fd = beneath_open(inside->root, path + 1, O_PATH | O_DIRECTORY, 0);
        if (syscall(SYS_renameat2, parent, name, k->away, away, RENAME_NOREPLACE) < 0)
                return -errno;
        /* The command may have put another one there, or something in it; now it can no more. */
        return fd >= 0 && fstat(fd, &seen) == 0 && seen.st_ino == st->st_ino && seen.st_dev == st->st_dev &&
                               is_folder_at(k->away, away, st) && protect_is_placeholder(k->away, away, NULL)
                       ? TAKE_FD(fd)
                       : -EXDEV;
}

/* A folder of this name in the run directory, and a mount of `source` over it inside. */
static int make_placeholder(const struct killed *k, const struct inside *inside, int source,
                            const char *away, int parent, const char *path) {
        _cleanup_free_ char *folder = path_parent(path), *owner = killed_rundir(k), *beside = NULL;
        _cleanup_close_ int target = -EBADF;
        struct stat st;
        int r;

        beside = folder ? str_concat(folder, "/.aside-", away) : NULL;
        if (!beside || !owner)
                return -ENOMEM;
        r = killed_make_placeholder(owner, k->away, away, 0700);
        if (r < 0 || fstatat(k->away, away, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return r < 0 ? r : -errno;
        killed_add(k, KILLED_PLACEHOLDER, beside);
        killed_add(k, KILLED_PLACEHOLDER, path);
        target = open_from_inside(k, inside, away, parent, beside, &st);
        r = target < 0 ? target : mount_inside(inside, source, target, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        return r;
}

static int exchange_with_away(const struct killed *k, const char *away, int parent, const char *name) {
        return syscall(SYS_renameat2, k->away, away, parent, name, RENAME_EXCHANGE) < 0 ? -errno : 0;
}

/* Copies the folder as it is, to where a kill leaves nothing of a half.  What isn't small is the host's own,
 * or would keep others waiting: the command doesn't go on with it. */
static int copy_first(const struct killed *k, int parent, const char *name, const char *away) {
        _cleanup_free_ char *half = str_concat("../", away, KEPT_BY_COPY);
        int r = half ? kept_copy(KEPT_COPIED_SMALL, parent, name, k->away, half, 0777) : -ENOMEM;

        if (r < 0 && half)
                (void)remove_tree(k->away, half);
        return r < 0 ? -EXDEV : 0;
}

/* placeholder_take()'s answer: `is_copied` is what was taken. */
static int settle_copy(const struct killed *k, const char *away, const char *path, bool is_copied) {
        _cleanup_free_ char *copy = str_concat(away, KEPT_BY_COPY, ""),
                            *half = str_concat("../", away, KEPT_BY_COPY),
                            *what = copy ? str_concat(RUNDIR_AWAY, "/", copy) : NULL;

        if (!half || !what)
                return 1;
        if (is_copied) {
                killed_add(k, what, path);
                if (renameat(k->away, half, k->away, copy) == 0)
                        return 2;
        }
        (void)remove_tree(k->away, half);
        return 1;
}

int placeholder_take(struct killed *k, const struct inside *inside, int parent, const char *name,
                     const char *path, char **ret_away) {
        /* Whatever the sandbox sees there now it sees then: the folder, or over the last placeholder, in
         * which somebody outside has made something, the one before. */
        _cleanup_close_ int source = beneath_open(inside->root, path + 1, O_PATH | O_DIRECTORY, 0);
        _cleanup_free_ char *away = NULL;
        bool is_first;
        struct stat st;
        int r = source < 0 ? source : fstat(source, &st) < 0 ? -errno : killed_name(k, path, &away);

        if (r < 0)
                return r == -ENOENT ? -ENOTDIR : r;
        is_first = is_folder_at(parent, name, &st);
        r = is_first ? copy_first(k, parent, name, away) : 0;
        if (r < 0)
                return r;
        r = make_placeholder(k, inside, source, away, parent, path);
        /* What the command has moved away is nothing that tells of the name. */
        r = r == -ENOENT ? -EXDEV : r < 0 ? r : exchange_with_away(k, away, parent, name);
        /* Who waits for another command of the session was quicker. */
        if (r >= 0 && protect_is_placeholder(k->away, away, NULL) &&
            exchange_with_away(k, away, parent, name) >= 0 && unlinkat(k->away, away, AT_REMOVEDIR) == 0) {
                (void)settle_copy(k, away, path, false);
                return -ENOENT;
        }
        /* Without it there is no mount, either. */
        if (r < 0) {
                (void)settle_copy(k, away, path, false);
                (void)unlinkat(k->away, away, AT_REMOVEDIR);
                return r;
        }
        k->has_taken = true;
        r = settle_copy(k, away, path, is_first && is_folder_at(k->away, away, &st));
        *ret_away = TAKE_PTR(away);
        return r;
}

static int take_one(void *data, int folder, const struct dirent *entry) {
        const int *to = data;

        (void)syscall(SYS_renameat2, folder, entry->d_name, *to, entry->d_name, RENAME_NOREPLACE);
        return 0;
}

int placeholder_take_contents(struct killed *k, int parent, const char *name, const char *path,
                              char **ret_away) {
        _cleanup_close_ int from = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                            to = -EBADF;
        _cleanup_free_ char *away = NULL;
        int r = from < 0 ? -errno : killed_name(k, path, &away);

        if (r < 0)
                return r;
        if (mkdirat(k->away, away, 0700) < 0)
                return -errno;
        to = openat(k->away, away, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = to < 0 ? -errno : folder_each(from, take_one, &to);
        if (unlinkat(k->away, away, AT_REMOVEDIR) >= 0)
                return r < 0 ? r : -ENOENT;
        k->has_taken = true;
        *ret_away = TAKE_PTR(away);
        return 0;
}
