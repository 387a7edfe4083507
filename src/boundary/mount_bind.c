/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the host's is shown: copies of its trees, and of small files their bytes. */
#include <fcntl.h>
#include <limits.h>

#include "base/beneath.h"
#include "base/causes.h"
#include "mount.h"

/* Read-only keeps chmod and utimes off the host's nodes, which root's uid owns;
 * writing to a device is not writing to its file system. */
#define ATTRIBUTES_DEVICE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

/* So many descriptors wait to be closed together, few enough for the least limit of open files. */
#define CLOSED_AT_ONCE 32

/* move_mount(2) says EINVAL for this and for much else. */
static bool is_same_kind(int source, const struct mount_place *at) {
        _cleanup_close_ int target = beneath_open(at->fd, at->path, O_PATH, 0);
        struct stat x, y;

        return sys_fstat(source, &x) < 0 || sys_fstat(*at->path ? target : at->fd, &y) < 0 ||
               S_ISDIR(x.st_mode) == S_ISDIR(y.st_mode);
}

/* Without the newer calls (Linux 5.12) no bind can be made. */
int mount_fail_bind(struct mounting *m, const struct plan_op *op, int r, const char *what,
                    const char *hint) {
        int found = r == -ENOSYS || r == -EPERM ? sys_find_mount_calls() : 0;

        if (found < 0)
                return error_cause(m->error,
                                   found == -EPERM ? NSRUN_ERROR_FILTER_MOUNT_CALLS
                                                   : NSRUN_ERROR_NO_MOUNT_CALLS,
                                   found, NULL);
        return error_set_id(m->error, NSRUN_ERROR_BIND, NSRUN_STAGE_MOUNT, r,
                            op->source ? op->source : op->target, what, hint);
}

/* What is said of a path and not of the call. */
static bool is_of_path(int r) {
        return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP || r == -ENAMETOOLONG;
}

/* A detached copy of `path`, one name or "", in `dir` gets its attributes before anything can see it (5.12);
 * in one call since 6.15.  What that can't do the two tell apart.  What is_of_path() leaves no error. */
int mount_clone(struct mounting *m, const struct plan_op *op, int dir, const char *path, uint64_t attributes,
                unsigned recursive) {
        const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | recursive |
                               (*path ? 0U : AT_EMPTY_PATH);
        int tree = m->lacks_open_tree_attr ? -ENOSYS : sys_open_tree_attr(dir, path, flags, attributes), r;

        if (tree >= 0 || (*path && is_of_path(tree)))
                return tree;
        m->lacks_open_tree_attr = true;
        tree = sys_open_tree(dir, path, flags);
        if (*path && is_of_path(tree))
                return tree;
        if (tree < 0)
                return mount_fail_bind(m, op, tree, "the source can't be bound",
                                       FILTER_HINT_FOR(tree, "open_tree"));
        r = sys_mount_setattr(tree, recursive, attributes);
        if (r >= 0)
                return tree;
        (void)sys_close(tree);
        return mount_fail_bind(m, op, r, "the bind's attributes can't be set",
                               FILTER_HINT_FOR(r, "mount_setattr"));
}

static int fail_source(struct mounting *m, const struct plan_op *op, int r) {
        if (r == -ELOOP)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->source,
                                 "the source was replaced by a symlink while the sandbox was being built",
                                 NULL);
        return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->source, "the source can't be opened",
                         r == -EACCES ? "a folder above it is another user's, and a sandbox has no "
                                        "capabilities over it, root's neither: run nsrun as that "
                                        "user, or let others pass (chmod o+x)"
                                      : NULL);
}

/* Whether the copy is of the kind that op says. */
static int judge_kind(struct mounting *m, const struct plan_op *op, int tree) {
        struct stat st;
        int r = sys_fstat(tree, &st);

        if (r >= 0 && S_ISLNK(st.st_mode) && !op->is_link)
                r = -ELOOP;
        if (r >= 0 && op->is_directory && !S_ISDIR(st.st_mode))
                r = -ENOTDIR;
        return r < 0 ? fail_source(m, op, r) : 0;
}

int mount_clone_attach(struct mounting *m, const struct plan_op *op, int tree,
                       const struct mount_place *at) {
        int r = sys_move_mount(tree, at->fd, at->path);

        /* This /proc, of the processes alone or none at all, hasn't what is to be hidden. */
        if (r == -ENOENT && op->kind == PLAN_BIND && op->proc == POLICY_PROC_AUTO)
                return 0;
        if (r == -EINVAL && op->kind == PLAN_BIND && op->is_directory) {
                int found = judge_kind(m, op, tree);

                if (found < 0)
                        return found;
        }
        if (r == -EINVAL && !is_same_kind(tree, at))
                return error_set_id(
                        m->error, NSRUN_ERROR_MOUNT_POINT_KIND, NSRUN_STAGE_MOUNT, -ENOTDIR, op->target,
                        "the mount point and the source are not both folders or both files", NULL);
        if (r == -ENOSYS)
                return mount_fail_bind(m, op, r, causes[NSRUN_ERROR_FILTER_MOVE].what, NULL);
        if (r < 0)
                return error_is_filtered(r)
                               ? error_cause(m->error, NSRUN_ERROR_FILTER_MOVE, r, op->target)
                               : error_cause_with(m->error, NSRUN_ERROR_FILTER_MOVE, r, op->target, NULL);
        return 0;
}

void mount_close(struct mounting *m) {
        while (m->done) {
                unsigned fd = (unsigned)__builtin_ctzll(m->done), end = fd;

                for (; end < 64 && (m->done >> end & 1); end++)
                        m->done &= ~(UINT64_C(1) << end);
                if (sys_close_range(fd, end - 1) < 0)
                        while (fd < end)
                                (void)sys_close((int)fd++);
        }
}

void mount_close_later(struct mounting *m, int fd) {
        if (__builtin_popcountll(m->done) == CLOSED_AT_ONCE)
                mount_close(m);
        if (fd >= 64)
                (void)sys_close(fd);
        else if (fd >= 0)
                m->done |= UINT64_C(1) << fd;
}

int mount_attach(struct mounting *m, const struct plan_op *op, int source, const struct mount_place *at,
                 uint64_t attributes, bool is_recursive) {
        _cleanup_close_ int tree =
                mount_clone(m, op, source, "", attributes, is_recursive ? AT_RECURSIVE : 0);

        return tree < 0 ? tree : mount_clone_attach(m, op, tree, at);
}

/* Puts a symlink of the sandbox's own over a file of the host's, which leads to the command's version of it:
 * git, which makes a new file beside the old one and renames it, does so where that is.  The link itself
 * can't be renamed or removed (EBUSY).  It keeps its name, from which it is mounted again where the host
 * replaces the file: what has none can't be. */
static int mount_private_link(struct mounting *m, const struct plan_op *op) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        _cleanup_close_ int link = -EBADF;
        char name[PRIVATE_LINK_SIZE];
        int r;

        private_link_name(op->text, name);
        r = sys_symlinkat(op->text, m->new_root, name);
        /* A folder may be shown twice. */
        if (r == -EEXIST && (r = sys_unlinkat(m->new_root, name)) >= 0)
                r = sys_symlinkat(op->text, m->new_root, name);
        if (r >= 0)
                r = link = mount_clone(m, op, m->new_root, name, ATTRIBUTES_COVER, 0);
        if (r < 0 && m->error->stage)
                return r;
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "a symlink of the sandbox can't be made", FILTER_HINT_FOR(r, "symlinkat"));
        r = mount_point(m, op, &at);
        if (r >= 0)
                r = mount_clone_attach(m, op, link, &at);
        mount_close_later(m, TAKE_FD(link));
        return r;
}

/* The folder of a source, which stays open for those that come next, and the name in it.  Where that is no
 * symlink, as the caller makes sure, nothing on the way to the source was one. */
static int source_folder(struct mounting *m, const struct plan_op *op, const char **ret_name) {
        const char *source = op->source + 1, *slash = strrchr(source, '/');
        size_t n = slash ? (size_t)(slash - source) : 0;
        char path[PATH_MAX];

        *ret_name = slash ? slash + 1 : source;
        if (streq(*ret_name, "..") || n >= sizeof(path))
                return n >= sizeof(path) ? -ENAMETOOLONG : -EXDEV;
        if (!slash)
                return m->old_root;
        for (unsigned i = 0; i < ARRAY_SIZE(m->sources); i++)
                if (m->source_fds[i] >= 0 && strncmp(m->sources[i], source, n + 1) == 0 &&
                    !strchr(m->sources[i] + n + 1, '/'))
                        return m->source_fds[m->last_source = i];
        m->last_source = !m->last_source;
        mount_close_later(m, TAKE_FD(m->source_fds[m->last_source]));
        m->sources[m->last_source] = source;
        memcpy(path, source, n);
        path[n] = '\0';
        return m->source_fds[m->last_source] = beneath_open(m->old_root, path, O_PATH | O_DIRECTORY, 0);
}

/* 1: it is copied; 0: it is to be bound, being too large for that or none that the user may read. */
static int mount_copy(struct mounting *m, const struct plan_op *op) {
        const char *name;
        int folder = source_folder(m, op, &name);
        _cleanup_close_ int source =
                folder < 0 ? folder
                           : sys_open(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
        struct stat st = {.st_mode = S_IFREG};
        int r = source < 0 ? source : sys_fstat(source, &st);
        char bytes[16384];
        ssize_t n = r < 0 || !S_ISREG(st.st_mode)        ? r
                    : st.st_size >= (off_t)sizeof(bytes) ? (ssize_t)sizeof(bytes)
                                                         : sys_read(source, bytes, sizeof(bytes));

        /* -ENXIO: it is a socket. */
        if (n == -EACCES || n == -ELOOP || n == -ENOENT || n == -ENXIO || n == 0 || n == sizeof(bytes))
                return 0;
        if (n < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, (int)n, op->source, "the source can't be read",
                                 NULL);
        mount_close_later(m, TAKE_FD(source));
        r = mount_make_file(m, op, 0444, bytes, (size_t)n);
        if (r != -EFBIG)
                return r < 0 ? r : 1;
        /* RLIMIT_FSIZE bounds what is written, and not what is bound. */
        m->error->stage = NSRUN_STAGE_NONE;
        return sys_unlinkat(m->new_root, op->target + 1);
}

/* A copy of the tree at op's source.  The plan's sources are canonical: a symlink means that somebody
 * changed the host's tree since the policy was checked. */
static int clone_source(struct mounting *m, const struct plan_op *op, uint64_t attributes) {
        _cleanup_close_ int scratch = -EBADF;
        const char *name = "";
        int r = op->is_in_rundir ? (scratch = mount_open_scratch(m, op)) : source_folder(m, op, &name);

        if (r >= 0)
                r = mount_clone(m, op, r, name, attributes, AT_RECURSIVE);
        return r >= 0 || m->error->stage ? r : fail_source(m, op, r);
}

int mount_bind(struct mounting *m, const struct plan_op *op) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        _cleanup_close_ int tree = -EBADF;
        int r;

        if (op->stubs)
                return mount_with_stubs(m, op);
        if (op->text && mount_has_versions(m) && !op->is_directory)
                return mount_private_link(m, op);
        r = op->is_copied                                             ? mount_copy(m, op)
            : op->text && (mount_has_versions(m) || op->can_be_empty) ? mount_private_folder(m, op)
                                                                      : 0;
        if (r != 0)
                return r < 0 ? r : 0;
        if (op->is_in_rundir && !mount_has_versions(m))
                return 0;
        r = tree =
                clone_source(m, op,
                             op->is_device ? ATTRIBUTES_DEVICE
                                           : ATTRIBUTES_BIND | (op->is_read_only ? MOUNT_ATTR_RDONLY : 0));
        /* A folder that was made takes nothing else. */
        if (r >= 0 && !(op->is_directory && op->makes_target))
                r = judge_kind(m, op, tree);
        if (r >= 0)
                r = mount_point(m, op, &at);
        if (r >= 0)
                r = mount_clone_attach(m, op, tree, &at);
        mount_close_later(m, TAKE_FD(tree));
        return r;
}
