/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that a commit will move into place is first made here, in a folder of its own
 * that nobody else writes to.  Touches nothing outside it. */
#include <fcntl.h>
#include <signal.h>

#include "base/str.h"
#include "digest.h"
#include "disk/remove_tree.h"
#include "file.h"

/* Where an op's object is made, relative to the stage: its number, or its way from there. */
static char *staged_path(const struct apply *a, size_t i) {
        const struct op *op = &a->ops[i];
        const char *rest = op->role == ROLE_IN_TREE ? op->path + strlen(a->ops[op->top].path) : "";

        return str_format("%zu%s", op->role == ROLE_IN_TREE ? op->top : i, rest);
}

/* The permission bits of a staged file or fifo, without setuid, setgid and sticky. */
static mode_t permissions(const struct apply *a, const struct stat *st) {
        return st->st_mode & (a->is_commit ? 0777U : 07777U);
}

/* Root keeps owners; anybody else makes what is theirs. */
static int set_owner(int fd, const struct stat *st) {
        if (geteuid() != 0)
                return 0;
        return fchownat(fd, "", st->st_uid, st->st_gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 ? -errno
                                                                                                 : 0;
}

/* The host's object in whose place a commit puts this one, or that was renamed to it; O_PATH.
 * -ENOENT: none, it's new. */
static int open_old(struct apply *a, const struct op *op) {
        const char *path = op->is_there ? op->path : op->change->from, *name;
        int dir, fd;

        if (!a->is_commit || !path)
                return -ENOENT;
        dir = tree_parent(&a->target, path, &name);
        if (dir < 0)
                return dir == -ENOTDIR || dir == -ELOOP ? -ENOENT : dir;
        fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Gives the staged file the group and the ACL of the host's file that it replaces: a new file would inherit
 * its folder's, which may admit others. The mode then means what chmod(2) of the old file would have meant:
 * with an ACL the group bits are its mask. Where group or ACL can't be kept, the mode loses the bits by
 * which somebody could gain access. */
static int keep_access(struct apply *a, const struct op *op, int to, mode_t *mode) {
        _cleanup_close_ int old = open_old(a, op);
        const mode_t wanted = *mode;
        struct stat was, now;
        bool has_group;
        int r;

        if (old < 0)
                return old == -ENOENT ? 0 : old;
        if (fstat(old, &was) < 0 || fstat(to, &now) < 0)
                return -errno;
        if ((was.st_mode & S_IFMT) != (now.st_mode & S_IFMT))
                return 0;
        /* Always tried: to its own group an owner may change it, and groups that a user
         * namespace doesn't know have one number, and can't be told apart. */
        has_group = fchownat(to, "", (uid_t)-1, was.st_gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0;
        r = file_copy_acl(old, to);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || (r > 0 && !has_group))
                *mode &= ~(mode_t)077;
        else if (!has_group) {
                /* Members of the new group may have counted as "others" before, and the other way round:
                 * each class keeps only the bits that both had. */
                mode_t both = *mode & *mode >> 3 & 07;

                *mode = (*mode & ~(mode_t)077) | both << 3 | both;
        }
        return *mode == wanted ? 0
                               : apply_note(a, op->path,
                                            r < 0 ? "its ACL can't be kept, so it is its owner's alone"
                                                  : "its group can't be kept, so less access is given");
}

/* What is hashed is the staged object, which nobody changes any more. */
static int digest_staged(const struct apply *a, struct op *op, int to) {
        int r = a->wants_digest && S_ISREG(op->source.st_mode) ? digest_content(to, op->content) : 0;

        return r < 0 || !a->wants_digest ? r : digest_attributes(to, op->attributes);
}

static int stage_file(struct apply *a, struct op *op, int to_dir, const char *to_name) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, op->source.st_mtim};
        _cleanup_close_ int from = -EBADF, to = -EBADF;
        const char *name;
        struct stat st;
        mode_t mode = permissions(a, &op->source);
        int dir = tree_parent(&a->source, op->path, &name), r;

        from = dir < 0 ? dir : file_open_stat(dir, name, &st);
        if (from < 0)
                return from;
        /* Its mode at once, where the umask allows that: nobody else gets into the stage. */
        to = openat(to_dir, to_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    (mode & 0777) | 0600);
        if (to < 0)
                return -errno;
        r = file_copy(from, to, &st);
        if (r >= 0)
                r = file_copy_attributes(from, to, true);
        if (r >= 0)
                r = digest_staged(a, op, to);
        if (r >= 0)
                r = set_owner(to, op->is_there && a->is_commit ? &op->seen : &op->source);
        if (r >= 0)
                r = keep_access(a, op, to, &mode);
        if (r < 0)
                return r;
        if (futimens(to, times) < 0 || fstat(to, &op->left) < 0)
                return -errno;
        if ((op->left.st_mode & 07777) != mode && (fchmod(to, mode) < 0 || fstat(to, &op->left) < 0))
                return -errno;
        /* What is moved with a folder above it keeps its ctime, but for further names. */
        op->has_left = a->is_commit && op->role == ROLE_IN_TREE && op->source.st_nlink == 1;
        return 0;
}

static int stage_link(struct apply *a, struct op *op, int to_dir, const char *to_name) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, op->source.st_mtim};
        _cleanup_free_ char *text = NULL;
        const char *name;
        int dir = tree_parent(&a->source, op->path, &name), r;

        r = dir < 0 ? dir : file_link_text(dir, name, &text);
        if (r < 0)
                return r;
        if (a->wants_digest)
                digest_text(text, strlen(text), op->content);
        if (symlinkat(text, to_dir, to_name) < 0 ||
            utimensat(to_dir, to_name, times, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return 0;
}

static int stage_fifo(struct apply *a, const struct op *op, int to_dir, const char *to_name) {
        mode_t mode = permissions(a, &op->source);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (mkfifoat(to_dir, to_name, 0600) < 0)
                return -errno;
        fd = openat(to_dir, to_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = keep_access(a, op, fd, &mode);
        return r < 0 ? r : chmod_path_fd(fd, mode);
}

static int stage_folder(struct apply *a, struct op *op, int to_dir, const char *to_name) {
        _cleanup_close_ int to = -EBADF;
        int from = tree_folder(&a->source, op->path), r;

        if (from < 0)
                return from;
        if (mkdirat(to_dir, to_name, 0700) < 0)
                return -errno;
        to = openat(to_dir, to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (to < 0)
                return -errno;
        r = set_owner(to, &op->source);
        if (r >= 0)
                r = file_copy_attributes(from, to, true);
        return r < 0 ? r : digest_staged(a, op, to);
}

/* The attributes of a folder that both sides have, on a folder in the stage: move.c takes them from there.
 */
static int stage_attributes(struct apply *a, size_t i) {
        _cleanup_free_ char *name = staged_path(a, i);

        return name ? stage_folder(a, &a->ops[i], a->stage_fd, name) : -ENOMEM;
}

/* A file of several names has one group and one ACL: where the host's file under this name has
 * others, nobody but the owner is known to have had access to both. */
static int keep_access_of_both(struct apply *a, const struct op *op, int to_dir, const char *to_name) {
        _cleanup_close_ int old = open_old(a, op), to = -EBADF;
        struct stat was, now;
        int r;

        if (old < 0)
                return old == -ENOENT ? 0 : old;
        to = openat(to_dir, to_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (to < 0 || fstat(old, &was) < 0 || fstat(to, &now) < 0)
                return -errno;
        if (!S_ISREG(was.st_mode) || (now.st_mode & 077) == 0)
                return 0;
        r = was.st_gid == now.st_gid ? file_same_acl(old, to) : 0;
        if (r == 1 || r == -ENOMEM)
                return r < 0 ? r : 0;
        r = chmod_path_fd(to, now.st_mode & 0700);
        return r < 0 ? r
                     : apply_note(a, op->path,
                                  "its names differ in group or ACL, so it is its owner's alone");
}

/* A further hard link of a file that has been staged already. */
static int stage_other_name(struct apply *a, const struct op *op, int to_dir, const char *to_name) {
        _cleanup_free_ char *path = staged_path(a, op->link_of);
        const char *name;
        int dir = path ? tree_parent(&a->links, path, &name) : -ENOMEM;

        if (dir < 0)
                return dir;
        if (linkat(dir, name, to_dir, to_name, 0) < 0)
                return -errno;
        return keep_access_of_both(a, op, to_dir, to_name);
}

static int stage_one(struct apply *a, size_t i) {
        struct op *op = &a->ops[i];
        _cleanup_free_ char *path = staged_path(a, i);
        const char *name;
        int dir = path ? tree_parent(&a->staged, path, &name) : -ENOMEM;

        if (dir < 0)
                return dir;
        if (op->link_of != i)
                return stage_other_name(a, op, dir, name);
        if (S_ISDIR(op->source.st_mode))
                return stage_folder(a, op, dir, name);
        if (S_ISLNK(op->source.st_mode))
                return stage_link(a, op, dir, name);
        if (S_ISFIFO(op->source.st_mode))
                return stage_fifo(a, op, dir, name);
        return stage_file(a, op, dir, name);
}

/* Modes of folders come last, from the bottom up: they may forbid to work inside.  A folder at
 * the top can only be moved while it is writable: move.c sets its mode. */
static int close_folder(struct apply *a, size_t i) {
        const struct op *op = &a->ops[i];
        _cleanup_free_ char *path = staged_path(a, i);
        struct stat st;
        int fd = path ? tree_folder(&a->staged, path) : -ENOMEM;
        mode_t mode = op->source.st_mode & 01777;

        if (fd < 0)
                return fd;
        if (op->role == ROLE_OBJECT)
                mode |= 0700;
        if (fstat(fd, &st) < 0 || fchmod(fd, mode | (st.st_mode & 02000)) < 0 || fstat(fd, &st) < 0)
                return -errno;
        return a->is_commit ? host_remember(a->host, &st, false) : 0;
}

static bool is_staged(const struct op *op) {
        return op->role == ROLE_OBJECT || op->role == ROLE_IN_TREE;
}

/* What opening a source says that isn't any more what the scan saw: also (ENXIO) what a removal leaves in an
 * upper folder. */
static bool is_of_change(int r) {
        return r == -ENOENT || r == -ENOTDIR || r == -EISDIR || r == -ELOOP || r == -EINVAL || r == -EXDEV ||
               r == -ENXIO;
}

static int stage_failed(struct apply *a, const struct op *op, int r) {
        if (a->wants_digest && is_of_change(r))
                return apply_differs(a);
        if (a->is_commit && is_of_change(r))
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, op->path,
                                 "it changed again while it was being looked at, so nothing was committed",
                                 "try again");
        return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, op->path,
                         a->is_commit ? "it can't be made ready, so nothing was committed"
                                      : "it can't be made ready, so nothing was discarded",
                         r == -ENOSPC || r == -EDQUOT
                                 ? "make room: old and new are there at once for a while"
                                 : NULL);
}

/* The last moment at which a signal may end the commit: nothing has been moved yet, and the moves are quick.
 * Works for callers that block the signals. */
int apply_heed(const struct apply *a) {
        static const int all[] = {SIGHUP, SIGINT, SIGTERM};
        sigset_t pending;

        if (sigpending(&pending) < 0)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (sigismember(&pending, all[i]) == 1)
                        return error_set(a->err, NSRUN_STAGE_WORKSPACE, -EINTR, NULL,
                                         a->is_commit ? "a signal came, so nothing was committed"
                                                      : "a signal came, so nothing was discarded",
                                         NULL);
        return 0;
}

static int stage_all(struct apply *a) {
        int r;

        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];

                r = apply_heed(a);
                if (r < 0)
                        return r;
                if (op->role == ROLE_LEFT_OUT)
                        r = apply_note(a, op->path,
                                       S_ISSOCK(op->source.st_mode)   ? "sockets are left out"
                                       : S_ISFIFO(op->source.st_mode) ? "fifos are left out"
                                                                      : "devices are left out");
                else if (op->role == ROLE_FOLDER && a->is_commit)
                        r = stage_attributes(a, i);
                else
                        r = is_staged(op) ? stage_one(a, i) : 0;
                if (r >= 0 && a->is_commit && (is_staged(op) || op->role == ROLE_MODE) &&
                    op->change->is_special)
                        r = apply_note(a, op->path, "its setuid or setgid bit is dropped");
                if (r < 0)
                        return stage_failed(a, op, r);
        }
        for (size_t i = a->n_ops; i > 0; i--)
                if (is_staged(&a->ops[i - 1]) && S_ISDIR(a->ops[i - 1].source.st_mode)) {
                        r = close_folder(a, i - 1);
                        if (r < 0)
                                return stage_failed(a, &a->ops[i - 1], r);
                }
        return apply_heed(a);
}

int apply_stage(struct apply *a) {
        int r = stage_all(a);

        if (r < 0)
                apply_restore(a);
        return r;
}
