/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds where a path leads, component by component as the kernel would in the sandbox: /tmp may
 * stand for the temp, and what no root holds isn't there.  Looks at the host and changes nothing. */
#include "resolve.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"

enum {
        LINKS_MAX = 40,  /* the kernel's own limit */
        OPEN_TRIES = 64, /* tries, if somebody swaps the path while it is opened */
};

static const char refuse_hint[] = "only the project and the roots given to nsrun can be reached";

struct walk {
        const struct workspace *w;
        char at[PATH_MAX];       /* the place that was reached, as a path in the sandbox; "" is / */
        char rest[2 * PATH_MAX]; /* the part of the path that is still to be walked */
        unsigned n_missing;      /* how many of the last components of `at` do not exist */
        unsigned n_links;
        bool is_led; /* a symlink in a root was followed: from here on the walk can't lead through what no
                        root holds */
};

/* Whether `path`, below /tmp, is in a root that has its place there, or above one: roots are
 * mounted over the temp. */
static bool is_mounted_below_tmp(const struct workspace *w, const char *path) {
        for (size_t i = 0; i < w->n_roots; i++) {
                const char *root = workspace_place(&w->roots[i]);

                if (path_is_beneath(root, "/tmp") &&
                    (path_is_beneath(path, root) || (path_is_beneath(root, path) && !streq(path, "/tmp"))))
                        return true;
        }
        return false;
}

/* The part of `path` below /tmp if what it names is in the temp; else NULL. */
static const char *below_temp(const struct workspace *w, const char *path) {
        const char *below = w->alias_tmp_to_temp ? path_below(path, "/tmp") : NULL;

        return below && !is_mounted_below_tmp(w, path) ? below : NULL;
}

/* The root that holds a place: `path` as the sandbox names it, `host` as the host does, which
 * counts for the temp. */
static const struct workspace_root *root_of(const struct workspace *w, const char *path, const char *host) {
        return workspace_root_at(w, below_temp(w, path) ? host : path);
}

/* Turns a path in the sandbox into one of the host. */
static int host_path(const struct workspace *w, const char *path, char host[PATH_MAX]) {
        const struct workspace_root *root = workspace_root_at(w, path);
        const char *from = root && root->target ? root->path : NULL, *below = below_temp(w, path);
        int n;

        if (below)
                from = w->temp;
        else if (from)
                below = path_below(path, root->target);
        if (from)
                n = snprintf(host, PATH_MAX, "%s%s%s", from, *below ? "/" : "", below);
        else
                n = snprintf(host, PATH_MAX, "%s", *path ? path : "/");
        return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Whether a walk that a symlink in a root has led may go through `path`, which it may if the
 * sandbox has it, too: the roots, the folders above them, the system's own links in / (such as
 * /lib), and /etc/alternatives, which has nothing but links. */
static bool is_in_sight(const struct workspace *w, const char *path, const char *host, bool is_link) {
        static const char alternatives[] = "/etc/alternatives";

        if (root_of(w, path, host) || path_is_beneath(path, alternatives) ||
            path_is_beneath(alternatives, path))
                return true;
        for (size_t i = 0; i < w->n_roots; i++)
                if (path_is_beneath(workspace_place(&w->roots[i]), path))
                        return true;
        return is_link && !strchr(path + 1, '/');
}

static void walk_up(struct walk *k) {
        char *slash = strrchr(k->at, '/');

        if (slash)
                *slash = '\0';
        if (k->n_missing > 0)
                k->n_missing--;
}

/* Puts a symlink's text before the part that is still to be walked. */
static int walk_link(struct walk *k, const char *text, size_t n, const char *host) {
        char rest[sizeof(k->rest)];
        int length;

        if (++k->n_links > LINKS_MAX)
                return -ELOOP;
        length = snprintf(rest, sizeof(rest), "%.*s/%s", (int)n, text, k->rest);
        if (length < 0 || (size_t)length >= sizeof(rest))
                return -ENAMETOOLONG;
        memcpy(k->rest, rest, (size_t)length + 1);
        if (root_of(k->w, k->at, host))
                k->is_led = true;
        if (text[0] == '/')
                k->at[0] = '\0';
        else
                walk_up(k);
        return 0;
}

/* Goes down to the entry `name`, which is neither "." nor "..". */
static int walk_down(struct walk *k, const char *name, size_t n) {
        char host[PATH_MAX], text[PATH_MAX];
        size_t length = strlen(k->at);
        ssize_t text_length;
        int r;

        if (n > NAME_MAX || length + 1 + n >= sizeof(k->at))
                return -ENAMETOOLONG;
        k->at[length] = '/';
        memcpy(k->at + length + 1, name, n);
        k->at[length + 1 + n] = '\0';
        if (k->n_missing > 0) {
                k->n_missing++;
                return 0;
        }
        r = host_path(k->w, k->at, host);
        if (r < 0)
                return r;
        text_length = readlink(host, text, sizeof(text));
        r = text_length < 0 ? -errno : text_length == (ssize_t)sizeof(text) ? -ENAMETOOLONG : 0;
        if (k->is_led && !is_in_sight(k->w, k->at, host, r == 0))
                return -EPERM;
        if (r == 0)
                return walk_link(k, text, (size_t)text_length, host);
        if (r == -EINVAL) /* EINVAL: it exists and is no symlink */
                return 0;
        if (r != -ENOENT && r != -ENOTDIR)
                return r;
        k->n_missing = 1;
        return 0;
}

/* Takes the next component off the rest.  It is copied, since following a symlink rewrites the
 * rest. */
static size_t next_name(struct walk *k, char name[PATH_MAX]) {
        char *start = k->rest + strspn(k->rest, "/");
        size_t n = strcspn(start, "/");

        if (n < PATH_MAX)
                memcpy(name, start, n);
        memmove(k->rest, start + n, strlen(start + n) + 1);
        return n;
}

static int workspace_resolve_walk(struct walk *k) {
        char name[PATH_MAX];
        size_t n;
        int r;

        while ((n = next_name(k, name)) > 0) {
                if (n >= sizeof(name))
                        return -ENAMETOOLONG;
                if (n == 1 && name[0] == '.')
                        continue;
                if (n == 2 && name[0] == '.' && name[1] == '.') {
                        walk_up(k);
                        continue;
                }
                r = walk_down(k, name, n);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool has_dot_dot(const char *path) {
        for (; (path = strstr(path, "/..")); path += 3)
                if (path[3] == '/' || path[3] == '\0')
                        return true;
        return false;
}

/* Resolves a path that exists and has neither ".." nor a symlink in it, as nearly every one, by one
 * open.  -EAGAIN: it must be walked. */
static int resolve_plain(const struct workspace *w, const char *absolute, char at[PATH_MAX],
                         char host[PATH_MAX], const struct workspace_root **ret_root) {
        _cleanup_free_ char *normal = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (has_dot_dot(absolute))
                return -EAGAIN;
        normal = path_normalise(absolute);
        if (!normal)
                return -ENOMEM;
        if (strlen(normal) >= PATH_MAX)
                return -ENAMETOOLONG;
        strcpy(at, normal);
        r = host_path(w, normal, host);
        if (r < 0)
                return r;
        fd = sys_openat2(AT_FDCWD, host, O_PATH, 0, RESOLVE_NO_SYMLINKS);
        if (fd < 0)
                return -EAGAIN;
        *ret_root = root_of(w, normal, host);
        return 0;
}

/* Starts a walk.  No root has a symlink in its path, so that a path that begins with a root is
 * walked from there. */
static void start_walk(struct walk *k, const char *absolute) {
        size_t skip = 0;

        for (size_t i = 0; i < k->w->n_roots; i++) {
                const char *root = workspace_place(&k->w->roots[i]);
                size_t n = strlen(root);

                if (n > skip && n > 1 && startswith(absolute, root) && absolute[n] == '/')
                        skip = n;
        }
        memcpy(k->at, absolute, skip);
        memcpy(k->rest, absolute + skip, strlen(absolute + skip) + 1);
}

static int resolve_walking(const struct workspace *w, const char *absolute, char at[PATH_MAX],
                           char host[PATH_MAX], const struct workspace_root **ret_root) {
        struct walk *k = calloc(1, sizeof(*k));
        int r;

        if (!k)
                return -ENOMEM;
        k->w = w;
        start_walk(k, absolute);
        r = workspace_resolve_walk(k);
        strcpy(at, *k->at ? k->at : "/");
        free(k);
        if (r == 0)
                r = host_path(w, at, host);
        if (r == 0)
                *ret_root = root_of(w, at, host);
        return r;
}

/* Resolves a path: `at` is the place as the sandbox names it, `host` as the host does. */
static int resolve(const struct workspace *w, const char *path, char at[PATH_MAX], char host[PATH_MAX],
                   const struct workspace_root **ret_root) {
        char absolute[2 * PATH_MAX]; /* room for a relative path as long as an absolute one may be */
        int n, r;

        if (!*path)
                return -ENOENT;
        if (strlen(path) >= PATH_MAX)
                return -ENAMETOOLONG;
        n = path_is_absolute(path)
                    ? snprintf(absolute, sizeof(absolute), "%s", path)
                    : snprintf(absolute, sizeof(absolute), "%s/%s", workspace_place(&w->roots[0]), path);
        if (n < 0 || (size_t)n >= sizeof(absolute))
                return -ENAMETOOLONG;
        r = resolve_plain(w, absolute, at, host, ret_root);
        return r == -EAGAIN ? resolve_walking(w, absolute, at, host, ret_root) : r;
}

/* Turns what resolve() found into 0 or a refusal. */
static int judge_place(const struct workspace *w, int r, enum workspace_access access, const char *path,
                       const char *host, const struct workspace_root *root, struct nsrun_error *err) {
        const char *why;

        if (r == -ENOMEM)
                return error_oom(err);
        if (r < 0 && r != -EPERM)
                return error_set(err, NSRUN_STAGE_POLICY, r, path, "the path can't be followed", NULL);
        if (r == 0 && !root && (why = workspace_why_hidden(w, host)))
                return error_set(err, NSRUN_STAGE_POLICY, -EPERM, path, why, NULL);
        if (r < 0 || !root)
                return error_set(err, NSRUN_STAGE_POLICY, -EPERM, path,
                                 "the path leads out of the workspace", refuse_hint);
        if (workspace_hides(w, host))
                return error_set(err, NSRUN_STAGE_POLICY, -EPERM, path, "the path is hidden", NULL);
        if (access == WORKSPACE_WRITE && !root->is_writable)
                return error_set(err, NSRUN_STAGE_POLICY, -EPERM, path,
                                 "the path is in a folder that may only be read", NULL);
        return 0;
}

int workspace_find(const struct workspace *w, enum workspace_access access, const char *path,
                   char host[PATH_MAX], const struct workspace_root **ret_root, struct nsrun_error *err) {
        const struct workspace_root *root = NULL;
        char at[PATH_MAX];
        int r = resolve(w, path, at, host, &root);

        r = judge_place(w, r, access, path, host, root, err);
        if (r < 0)
                return r;
        *ret_root = root;
        return 0;
}

/* Splits a path into the folder and the entry's name.  A slash at its end is ignored. */
static int split_entry(const char *path, char folder[PATH_MAX], char name[NAME_MAX + 1]) {
        size_t end = strlen(path), start;

        while (end > 1 && path[end - 1] == '/')
                end--;
        for (start = end; start > 0 && path[start - 1] != '/';)
                start--;
        if (end - start > NAME_MAX || start >= PATH_MAX)
                return -ENAMETOOLONG;
        memcpy(name, path + start, end - start);
        name[end - start] = '\0';
        if (end == 0)
                return -ENOENT;
        if (start == end || streq(name, ".") || streq(name, ".."))
                return -EINVAL;
        memcpy(folder, start > 0 ? path : ".", start > 0 ? start : 1);
        folder[start > 0 ? start : 1] = '\0';
        return 0;
}

int workspace_find_entry(const struct workspace *w, enum workspace_access access, const char *path,
                         struct workspace_entry *ret, struct nsrun_error *err) {
        char folder[PATH_MAX], at[PATH_MAX], entry[PATH_MAX], host[PATH_MAX];
        const struct workspace_root *root = NULL;
        int r = split_entry(path, folder, ret->name);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, path,
                                 r == -EINVAL ? "the path names no entry of a folder"
                                              : "the path can't be followed",
                                 NULL);
        r = resolve(w, folder, at, ret->folder, &root);
        if (r == 0 && (size_t)snprintf(entry, sizeof(entry), "%s/%s", streq(at, "/") ? "" : at, ret->name) >=
                              sizeof(entry))
                r = -ENAMETOOLONG;
        if (r == 0)
                r = host_path(w, entry, host);
        root = r == 0 ? root_of(w, entry, host) : NULL;
        r = judge_place(w, r, access, path, host, root, err);
        if (r < 0)
                return r;
        ret->root = root;
        ret->is_root = streq(host, root->path);
        ret->holds_root = false;
        ret->holds_hidden = workspace_holds_hidden(w, host);
        for (size_t i = 0; i < w->n_roots; i++) {
                const struct workspace_root *other = &w->roots[i];

                /* A hidden place, which has no path, would be hidden no more if what it lies in were moved.
                 */
                if (!other->path || !streq(other->path, host))
                        ret->holds_root |= path_is_beneath(workspace_place(other), entry) ||
                                           (other->path && path_is_beneath(other->path, host));
        }
        return 0;
}

int workspace_resolve(const struct workspace *w, enum workspace_access access, const char *path, char **ret,
                      struct nsrun_error *err) {
        const struct workspace_root *root = NULL;
        char host[PATH_MAX];
        char *copy;
        int r = workspace_find(w, access, path, host, &root, err);

        if (r < 0)
                return r;
        copy = strdup(host);
        if (!copy)
                return error_oom(err);
        *ret = copy;
        return 0;
}

static int open_in_root(const struct workspace_root *root, const char *host, int flags, mode_t mode) {
        int fd;

        if (root->is_directory)
                return beneath_open(root->fd, path_below(host, root->path), flags, mode);
        /* A root that is a file has no folder to be opened from: it is opened again by its
         * descriptor. */
        if (!streq(host, root->path))
                return -ENOTDIR;
        fd = open(fd_link(root->fd).path, flags & ~(O_CREAT | O_EXCL));
        return fd < 0 ? -errno : fd;
}

int workspace_open(const struct workspace *w, enum workspace_access access, const char *path, int flags,
                   mode_t mode, int *ret_fd, struct nsrun_error *err) {
        const struct workspace_root *root = NULL;
        char host[PATH_MAX];
        int r = -EAGAIN;

        if (access == WORKSPACE_READ &&
            ((flags & FILE_ACCESS) != O_RDONLY || (flags & (O_CREAT | O_TRUNC | O_APPEND)) ||
             (flags & O_TMPFILE) == O_TMPFILE))
                return error_set(err, NSRUN_STAGE_POLICY, -EINVAL, path, "flags that write, to read with",
                                 NULL);
        flags = (flags & ~O_NOFOLLOW) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
        if (flags & O_PATH)
                flags &= O_PATH | O_DIRECTORY | O_CLOEXEC;
        if (!(flags & O_CREAT) && (flags & O_TMPFILE) != O_TMPFILE)
                mode = 0; /* openat2(2) refuses a mode if nothing can be made */
        for (unsigned i = 0; i < OPEN_TRIES && r == -EAGAIN; i++) {
                r = workspace_find(w, access, path, host, &root, err);
                if (r < 0)
                        return r;
                r = open_in_root(root, host, flags, mode);
                /* There was no symlink in the path when it was resolved: it was swapped. */
                if (r == -ELOOP || r == -EXDEV)
                        r = -EAGAIN;
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, path, "the path can't be opened",
                                 r == -EAGAIN ? "somebody keeps changing it" : NULL);
        *ret_fd = r;
        return 0;
}
