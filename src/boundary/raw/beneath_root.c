/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Resolution beneath the new root: openat2(RESOLVE_IN_ROOT), and a walk by hand that does the same
 * where a seccomp filter (a container's) refuses that call. */
#include "beneath_root.h"

#include <fcntl.h>
#include <limits.h>

/* The depth that a walk by hand reaches; and the kernel's own limit of symlinks in one path. */
#define DEPTH_MAX 64
#define LINKS_MAX 40

/* A walk by hand.  It keeps a descriptor for each folder from the root to where it is, so that ".."
 * needs no look-up, which a rename could lead out of the root. */
struct walk {
        int root;
        int folders[DEPTH_MAX];
        size_t depth;
        unsigned links;
        char rest[PATH_MAX]; /* the part of the path that is still to be walked */
};

static int here(const struct walk *w) {
        return w->depth > 0 ? w->folders[w->depth - 1] : w->root;
}

static void leave(struct walk *w, size_t depth) {
        while (w->depth > depth)
                close_fdp(&w->folders[--w->depth]);
}

/* Puts the text of the symlink `link` before the part of the path that is still to be walked. */
static int put_before_rest(struct walk *w, int link) {
        char text[PATH_MAX];
        ssize_t n = sys_readlinkat(link, "", text, sizeof(text) - 1);
        size_t left = strlen(w->rest);

        if (n < 0)
                return (int)n;
        if (++w->links > LINKS_MAX)
                return -ELOOP;
        if ((size_t)n + left + 2 > sizeof(w->rest))
                return -ENAMETOOLONG;
        if (text[0] == '/')
                leave(w, 0);
        memmove(w->rest + n + 1, w->rest, left + 1);
        memcpy(w->rest, text, (size_t)n);
        w->rest[n] = '/';
        return 0;
}

/* Takes the first component off w->rest.  Returns its length, 0 at the path's end. */
static int take_component(struct walk *w, char name[NAME_MAX + 1]) {
        size_t start = strspn(w->rest, "/"), n = strcspn(w->rest + start, "/");

        if (n > NAME_MAX)
                return -ENAMETOOLONG;
        memcpy(name, w->rest + start, n);
        name[n] = '\0';
        memmove(w->rest, w->rest + start + n, strlen(w->rest + start + n) + 1);
        return (int)n;
}

static int late_step(struct walk *w, const char *name, int flags, mode_t mode, bool *ret_is_last) {
        bool is_last = w->rest[strspn(w->rest, "/")] == '\0';
        struct stat st;
        int fd, r;

        if (streq(name, ".") || streq(name, "..")) {
                if (name[1] && w->depth > 0)
                        leave(w, w->depth - 1);
                return 0;
        }
        fd = sys_open(here(w), name, O_PATH | O_NOFOLLOW, 0);
        if (fd == -ENOENT && is_last && (flags & O_CREAT)) {
                *ret_is_last = true;
                return sys_open(here(w), name, flags | O_NOFOLLOW, mode);
        }
        if (fd < 0)
                return fd;
        r = sys_fstat(fd, &st);
        if (r >= 0 && S_ISLNK(st.st_mode) && is_last && (flags & O_NOFOLLOW))
                r = -ELOOP;
        else if (r >= 0 && S_ISLNK(st.st_mode))
                r = put_before_rest(w, fd);
        else if (r >= 0 && is_last && !S_ISDIR(st.st_mode)) {
                *ret_is_last = true;
                /* The descriptor that was looked at is returned: opened again by its name it could
                 * be another file. */
                if ((flags & O_PATH) && !(flags & O_DIRECTORY))
                        return fd;
                r = flags & O_DIRECTORY ? -ENOTDIR : sys_open(here(w), name, flags | O_NOFOLLOW, mode);
        } else if (r >= 0 && w->depth == DEPTH_MAX)
                r = -ENAMETOOLONG;
        else if (r >= 0) {
                w->folders[w->depth++] = fd;
                return 0;
        }
        (void)sys_close(fd);
        return r;
}

static int walk_by_hand(int root, const char *path, int flags, mode_t mode) {
        struct walk w = {.root = root};
        int r = strlen(path) < sizeof(w.rest) ? 0 : -ENAMETOOLONG;
        bool is_done = false;

        if (r >= 0)
                memcpy(w.rest, path, strlen(path) + 1);
        while (r >= 0 && !is_done) {
                char name[NAME_MAX + 1];

                r = take_component(&w, name);
                if (r == 0) {
                        /* The path ended in a folder. */
                        r = sys_open(here(&w), ".", flags & ~(O_CREAT | O_TRUNC), 0);
                        is_done = true;
                } else if (r > 0) {
                        r = late_step(&w, name, flags, mode, &is_done);
                }
        }
        leave(&w, 0);
        return r;
}

int late_open(int root, const char *path, int flags, mode_t mode) {
        int r = -EAGAIN;

        /* openat2(2) answers EAGAIN if there was a rename or a mount anywhere while it resolved a
         * "..". */
        for (int tries = 0; tries < 1000 && r == -EAGAIN; tries++)
                r = sys_openat2(root, *path ? path : "/", flags, mode,
                                RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
        return r == -ENOSYS || r == -EPERM ? walk_by_hand(root, path, flags, mode) : r;
}

int late_parent(int root, const char *path, mode_t parent_mode, char ret_name[256]) {
        char above[PATH_MAX];
        size_t n = strlen(path), end, start;
        int fd = -EBADF, r;

        if (n >= sizeof(above))
                return -ENAMETOOLONG;
        while (n > 0 && path[n - 1] == '/')
                n--;
        for (start = n; start > 0 && path[start - 1] != '/';)
                start--;
        if (n - start > NAME_MAX)
                return -ENAMETOOLONG;
        memcpy(ret_name, path + start, n - start);
        ret_name[n - start] = '\0';
        if (streq(ret_name, ".") || streq(ret_name, "..")) {
                ret_name[0] = '\0';
                start = n;
        }
        /* Mostly all folders above the target exist, and one call opens the last. */
        if (start > 0) {
                memcpy(above, path, start);
                above[start] = '\0';
                fd = late_open(root, above, O_PATH | O_DIRECTORY, 0);
                if (fd != -ENOENT)
                        return fd;
        }
        fd = sys_open(root, ".", O_PATH | O_DIRECTORY, 0);
        for (end = 0; fd >= 0 && end < start;) {
                _cleanup_close_ int parent = fd;
                size_t from = end + strspn(path + end, "/"), length = strcspn(path + from, "/");
                char name[NAME_MAX + 1];

                fd = -EBADF;
                if (from >= start)
                        return TAKE_FD(parent);
                if (length > NAME_MAX)
                        return -ENAMETOOLONG;
                end = from + length;
                memcpy(above, path, end);
                above[end] = '\0';
                fd = late_open(root, above, O_PATH | O_DIRECTORY, 0);
                if (fd != -ENOENT)
                        continue;
                memcpy(name, path + from, length);
                name[length] = '\0';
                r = sys_mkdirat(parent, name, parent_mode);
                /* There is a symlink, which leads nowhere. */
                r = r == -EEXIST ? -ENOENT : r;
                fd = r < 0 ? r : sys_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        }
        return fd;
}

/* Opens the folder or file `name` that this process has just made; not a symlink that has taken its
 * place. */
static int open_made(int parent, const char *name) {
        int fd = sys_open(parent, name, O_PATH | O_NOFOLLOW, 0);
        struct stat st;
        int r = fd < 0 ? fd : sys_fstat(fd, &st);

        if (r >= 0 && S_ISLNK(st.st_mode))
                r = -ELOOP;
        if (r < 0 && fd >= 0)
                (void)sys_close(fd);
        return r < 0 ? r : fd;
}

/* The path that the symlink `name` of `parent`, at `path`, leads to. */
static int follow_link(int parent, const char *path, const char *name, char to[PATH_MAX]) {
        size_t n = strlen(path);
        ssize_t length;

        while (n > 0 && path[n - 1] == '/')
                n--;
        while (n > 0 && path[n - 1] != '/')
                n--;
        if (n >= PATH_MAX)
                return -ENAMETOOLONG;
        memmove(to, path, n);
        length = sys_readlinkat(parent, name, to + n, PATH_MAX - n - 1);
        if (length < 0)
                return length == -EINVAL ? -EEXIST : (int)length;
        to[n + (size_t)length] = '\0';
        if (to[n] == '/')
                memmove(to, to + n, (size_t)length + 1);
        return 0;
}

static int make_mount_point(int parent, const char *name, bool is_folder, mode_t mode) {
        int fd = is_folder ? sys_mkdirat(parent, name, mode)
                           : sys_open(parent, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);

        if (fd >= 0 && !is_folder)
                (void)sys_close(fd);
        return fd < 0 ? fd : 0;
}

/* Whether the folder is the new root's own, and none of the host's that is bound: there a command may have
 * left links, for something to be made where it likes. */
static bool is_on_root(int root, int folder) {
        struct stat a, b;

        return sys_fstat(root, &a) >= 0 && sys_fstat(folder, &b) >= 0 && a.st_dev == b.st_dev;
}

int late_mount_point(int root, int own, const char *path, bool is_folder, mode_t mode, mode_t parent_mode,
                     bool *ret_is_new) {
        char name[256], led[PATH_MAX];

        *ret_is_new = false;
        for (unsigned links = 0; links < LINKS_MAX; links++) {
                _cleanup_close_ int parent = -EBADF;
                int fd = late_open(root, path, O_PATH | (is_folder ? O_DIRECTORY : 0), 0);

                if (fd != -ENOENT)
                        return fd;
                parent = late_parent(root, path, parent_mode, name);
                if (parent < 0)
                        return parent;
                if (!name[0])
                        return late_open(root, path, O_PATH | (is_folder ? O_DIRECTORY : 0), 0);
                if (links > 0 && !is_on_root(own, parent))
                        return -ENOENT;
                fd = make_mount_point(parent, name, is_folder, mode);
                if (fd >= 0) {
                        *ret_is_new = true;
                        return open_made(parent, name);
                }
                if (fd == -EEXIST) {
                        /* Of "/new/../there" only /new was missing. */
                        fd = late_open(root, path, O_PATH | (is_folder ? O_DIRECTORY : 0), 0);
                        if (fd != -ENOENT)
                                return fd;
                        fd = is_on_root(own, parent) ? follow_link(parent, path, name, led) : -ENOENT;
                }
                if (fd < 0)
                        return fd;
                path = led;
        }
        return -ELOOP;
}
