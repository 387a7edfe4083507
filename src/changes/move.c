/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is ready is moved into place, each path by one rename: it is old or new at any
 * moment.  Puts come before removals, so that what was renamed is never nowhere. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>

#include "apply.h"
#include "base/array.h"
#include "disk/remove_tree.h"
#include "file.h"

int apply_grant(struct apply *a, const char *path, int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if ((st.st_mode & 0300) == 0300)
                return -EACCES; /* that wasn't it */
        if (ARRAY_GROW(a->grants, a->n_grants) < 0)
                return -ENOMEM;
        a->grants[a->n_grants] = (struct grant){.path = strdup(path), .mode = st.st_mode & 07777};
        if (!a->grants[a->n_grants].path)
                return -ENOMEM;
        a->n_grants++;
        return fchmod(fd, (st.st_mode & 07777) | 0300) < 0 ? -errno : 0;
}

/* Whether the target's side is as it was when it was looked at. */
static int look_again(struct apply *a, const struct op *op, int dir, const char *name) {
        const struct stat *old = &op->seen;
        struct stat now;
        bool is_there = fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0, is_same;
        int r = 0;

        if (a->is_forced)
                return 0;
        is_same = is_there == op->is_there;
        if (is_same && is_there) {
                is_same = now.st_dev == old->st_dev && now.st_ino == old->st_ino &&
                          (now.st_mode & S_IFMT) == (old->st_mode & S_IFMT);
                if (S_ISDIR(now.st_mode))
                        r = is_same && op->role != ROLE_FOLDER
                                    ? host_tree_has_changed(a->host, a->target.root, op->path)
                                    : 0;
                else if (now.st_ctim.tv_sec != old->st_ctim.tv_sec ||
                         now.st_ctim.tv_nsec != old->st_ctim.tv_nsec)
                        /* The ctime may be newer because this commit has just removed another name of the
                         * same inode. */
                        is_same = is_same && !host_has_changed(a->host, &now);
        }
        if (r < 0)
                return r;
        if (is_same && r == 0)
                return 0;
        r = apply_conflict(a, op->path);
        return r < 0 ? r
                     : error_set(a->err, NSRUN_STAGE_WORKSPACE, UNSAID(-ESTALE), op->path,
                                 "the host's file changed during the commit, which ended there",
                                 "look at the diff again");
}

static int rename_in(struct apply *a, const struct op *op, const char *number, int dir, const char *name) {
        const bool has_folder = S_ISDIR(op->source.st_mode) || (op->is_there && S_ISDIR(op->seen.st_mode));
        const unsigned flags = !op->is_there ? (a->is_forced ? 0U : RENAME_NOREPLACE)
                               : has_folder  ? RENAME_EXCHANGE
                                             : 0U;

        if (syscall(SYS_renameat2, a->stage_fd, number, dir, name, flags) == 0)
                return 0;
        /* A file system without RENAME_NOREPLACE and RENAME_EXCHANGE, such as NFS: a plain rename(2) after a
         * check, with a moment between the two. */
        if (errno != EINVAL || flags == 0)
                return -errno;
        if (op->is_there && renameat(dir, name, a->stage_fd, "old") < 0)
                return -errno;
        return renameat(a->stage_fd, number, dir, name) < 0 ? -errno : 0;
}

static int rename_away(struct apply *a, const struct op *op, const char *number, int dir, const char *name) {
        if (!S_ISDIR(op->seen.st_mode))
                return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
        if (renameat(dir, name, a->stage_fd, number) == 0)
                return 0;
        /* overlayfs refuses to rename a folder that the lower layer has, too (EXDEV): a discard removes it
         * instead. */
        return errno == EXDEV && !a->is_commit ? remove_tree(dir, name) : -errno;
}

/* rename(2) of a folder to another parent needs write permission in the folder itself, for its "..". The bit
 * is added for the moment; host.c ignores it when it looks for changes of the host's. */
static void make_movable(struct apply *a, const char *path) {
        _cleanup_close_ int fd = tree_open(a->target.root, path, O_RDONLY | O_DIRECTORY);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) >= 0)
                (void)fchmod(fd, (st.st_mode & 07777) | 0300);
}

/* Tries once more after giving its owner the right to write in the folder, and to move the one
 * that is there. */
static int rename_one(struct apply *a, const struct op *op, const char *number) {
        _cleanup_free_ char *folder = NULL;
        const char *name;
        int dir = tree_parent(&a->target, op->path, &name), r = -EACCES;

        for (unsigned tries = 0; dir >= 0 && r == -EACCES && tries < 3; tries++) {
                if (tries == 1) {
                        folder = strndup(op->path, name > op->path ? (size_t)(name - op->path - 1) : 0);
                        if (!folder)
                                return -ENOMEM;
                        (void)apply_grant(a, folder, dir);
                }
                if (tries == 2 && op->is_there && S_ISDIR(op->seen.st_mode))
                        make_movable(a, op->path);
                r = look_again(a, op, dir, name);
                if (r >= 0)
                        r = op->is_put ? rename_in(a, op, number, dir, name)
                                       : rename_away(a, op, number, dir, name);
        }
        return dir < 0 ? dir : r;
}

/* Gives a new folder its final mode, which might have forbidden to move it. */
static int finish_folder(struct apply *a, const struct op *op) {
        int fd = tree_folder(&a->target, op->path);
        struct stat st;
        mode_t mode = op->source.st_mode & 01777;

        if (fd < 0 || (mode & 0700) == 0700)
                return fd < 0 ? fd : 0;
        if (fstat(fd, &st) < 0 || fchmod(fd, mode | (st.st_mode & 02000)) < 0)
                return -errno;
        return 0;
}

static int move_object(struct apply *a, size_t i) {
        struct op *op = &a->ops[i];
        char number[24];
        int r;

        (void)snprintf(number, sizeof(number), "%zu", i);
        r = rename_one(a, op, number);
        if (r < 0)
                return r;
        tree_forget(&a->target);
        op->is_done = true;
        if (op->is_put && S_ISDIR(op->source.st_mode)) {
                r = finish_folder(a, op);
                if (r < 0)
                        return r;
        }
        /* After the exchange the stage holds the object that was replaced or removed. */
        r = remove_tree(a->stage_fd, number);
        return r < 0 ? r : remove_tree(a->stage_fd, "old");
}

/* The attributes come from the stage, and from the host itself for a discard. */
static int set_attributes(struct apply *a, const struct op *op) {
        char number[24];
        int from, to = tree_folder(&a->target, op->path), r;
        struct stat st;

        (void)snprintf(number, sizeof(number), "%zu", (size_t)(op - a->ops));
        from = a->is_commit ? tree_folder(&a->staged, number) : tree_folder(&a->source, op->path);
        if (from < 0 || to < 0)
                return from < 0 ? from : to;
        r = look_again(a, op, to, ".");
        if (r >= 0)
                r = file_same_attributes(from, to);
        if (r != 0)
                return r < 0 ? r : 0;
        if (fstat(to, &st) < 0)
                return -errno;
        /* setxattr(2) needs write permission: the owner's bit is added for the moment. */
        if (!(st.st_mode & 0200) && fchmod(to, (st.st_mode & 07777) | 0200) < 0)
                return -errno;
        r = file_copy_attributes(from, to, false);
        if (r < 0)
                return r;
        return !(st.st_mode & 0200) && fchmod(to, st.st_mode & 07777) < 0 ? -errno : 0;
}

static int set_folder_mode(struct apply *a, const struct op *op) {
        int to = tree_folder(&a->target, op->path), r;
        struct stat st;

        if (to < 0)
                return to;
        r = look_again(a, op, to, ".");
        if (r < 0)
                return r;
        if (fstat(to, &st) < 0)
                return -errno;
        if ((st.st_mode & 01777) == (op->source.st_mode & 01777))
                return 0;
        return fchmod(to, (op->source.st_mode & 01777) | (st.st_mode & 06000)) < 0 ? -errno : 0;
}

static int set_mode(struct apply *a, const struct op *op) {
        _cleanup_close_ int fd = -EBADF;
        const char *name;
        int dir = tree_parent(&a->target, op->path, &name), r;

        if (dir < 0)
                return dir;
        r = look_again(a, op, dir, name);
        if (r < 0)
                return r;
        fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : chmod_path_fd(fd, op->source.st_mode & (a->is_commit ? 0777U : 07777U));
}

static int move_failed(struct apply *a, const struct op *op, int r) {
        if (r == -EEXIST || r == -ENOTDIR || r == -ENOENT || r == -ELOOP)
                (void)apply_conflict(a, op->path);
        return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, op->path,
                         a->is_commit ? "it can't be put in place on the host; the commit ended there"
                                      : "it can't be put back; the discarding ended there",
                         NULL);
}

/* A folder's mode that opens it is set before what lies in it, one that shuts it afterwards. */
static bool opens(const struct op *op) {
        return (op->source.st_mode & 0700) == 0700;
}

static int move_puts(struct apply *a) {
        for (size_t i = 0; i < a->n_ops; i++) {
                struct op *op = &a->ops[i];
                int r = 0;

                if (!op->is_put)
                        continue;
                if (op->role == ROLE_OBJECT)
                        r = move_object(a, i);
                else if (op->role == ROLE_MODE)
                        r = set_mode(a, op);
                else if (op->role == ROLE_FOLDER)
                        r = set_attributes(a, op);
                else
                        continue;
                if (r >= 0 && op->role == ROLE_FOLDER && opens(op))
                        r = set_folder_mode(a, op);
                if (r < 0)
                        return move_failed(a, op, r);
                op->is_done = op->role != ROLE_FOLDER || opens(op);
        }
        return 0;
}

static int move_removals(struct apply *a) {
        for (size_t i = 0; i < a->n_ops; i++) {
                int r = a->ops[i].role == ROLE_REMOVE ? move_object(a, i) : 0;

                if (r < 0)
                        return move_failed(a, &a->ops[i], r);
        }
        return 0;
}

static int shut_folders(struct apply *a) {
        for (size_t i = a->n_ops; i > 0; i--) {
                struct op *op = &a->ops[i - 1];
                int r;

                if (op->role != ROLE_FOLDER || opens(op))
                        continue;
                r = set_folder_mode(a, op);
                if (r < 0)
                        return move_failed(a, op, r);
                op->is_done = true;
        }
        return 0;
}

void apply_restore(struct apply *a) {
        tree_forget(&a->target);
        /* The stage may lie in a folder whose mode was just restored. A stage that can't be removed now is
         * removed, or reported, by the next commit. */
        (void)remove_tree(a->target.root, a->stage);
        for (size_t i = a->n_grants; i > 0; i--) {
                int fd = tree_folder(&a->target, a->grants[i - 1].path);

                if (fd >= 0)
                        (void)fchmod(fd, a->grants[i - 1].mode);
        }
}

int apply_move(struct apply *a) {
        int r = move_puts(a);

        if (r >= 0)
                r = move_removals(a);
        apply_restore(a);
        return r < 0 ? r : shut_folders(a);
}
