/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun_workspace_*() functions that do what file tools do with an agent's paths.  Each finds the
 * entry's folder as resolve.c says, opens the folder from its root's descriptor in one walk that
 * follows no symlink, and works on a name in it: whatever a command swaps meanwhile, nothing
 * outside the roots is reached. */
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "resolve.h"
#include "workspace.h"

enum {
        FOLDER_TRIES = 64, /* tries, if somebody swaps the folder while it is opened */
};

static int fail_entry(const char *path, int r, const char *what, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, r, path, what,
                         r == -EAGAIN ? "somebody keeps changing it" : NULL);
}

/* Whether a walk failed because it met a symlink or mount that wasn't there when the path was
 * resolved. */
static bool was_swapped(int r) {
        return r == -ELOOP || r == -EXDEV || r == -EAGAIN;
}

/* Finds an entry and opens its folder.  -EBUSY without an error: the entry is itself a root, whose
 * folder is not opened. */
static int files_open_folder(const struct nsrun_workspace *w, enum workspace_access access, const char *path,
                             struct workspace_entry *e, int *ret_fd, struct nsrun_error *err) {
        int r = -EAGAIN;

        for (unsigned i = 0; i < FOLDER_TRIES && was_swapped(r); i++) {
                r = workspace_find_entry(&w->roots, access, path, e, err);
                if (r < 0)
                        return r;
                if (e->is_root)
                        return -EBUSY;
                r = beneath_open(e->root->fd, path_below(e->folder, e->root->path),
                                 O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
        }
        if (r < 0)
                return fail_entry(path, was_swapped(r) ? -EAGAIN : r, "the folder can't be opened", err);
        *ret_fd = r;
        return 0;
}

/* Opens the folder of an entry that is to be renamed or removed: it may be no root, and hold none. */
static int open_folder_of_own(const struct nsrun_workspace *w, const char *path, struct workspace_entry *e,
                              int *ret_fd, struct nsrun_error *err) {
        int r = files_open_folder(w, WORKSPACE_WRITE, path, e, ret_fd, err);

        if (r == -EBUSY && e->is_root)
                return fail_entry(path, r, "a root of the workspace stays where it is", err);
        if (r == 0 && e->holds_root) {
                close_fdp(ret_fd);
                return fail_entry(path, -EBUSY, "a root of the workspace is in the folder", err);
        }
        if (r == 0 && e->holds_hidden) {
                close_fdp(ret_fd);
                return fail_entry(path, -EBUSY, "a hidden name may be in the folder", err);
        }
        return r;
}

/* Opens the folder of an entry that is to be made. */
static int open_folder_for_new(const struct nsrun_workspace *w, const char *path, struct workspace_entry *e,
                               int *ret_fd, struct nsrun_error *err) {
        int r = files_open_folder(w, WORKSPACE_WRITE, path, e, ret_fd, err);

        return r == -EBUSY && e->is_root ? fail_entry(path, -EEXIST, "the path is there already", err) : r;
}

/* ----------------------------------------------------------------------- folders */

/* Makes the folders of the first `length` bytes of `below`, from the root on; those that exist stay
 * as they are. */
static int make_folders(const struct workspace_root *root, const char *below, size_t length, mode_t mode) {
        _cleanup_close_ int here = -EBADF;
        char name[NAME_MAX + 1];

        if (!root->is_directory)
                return -ENOTDIR;
        for (size_t at = 0, n; at < length; at += n + 1) {
                int dir = here >= 0 ? here : root->fd, fd;
                struct stat st;

                n = strcspn(below + at, "/");
                memcpy(name, below + at, n);
                name[n] = '\0';
                fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0 && errno == ENOENT) {
                        if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
                                return -errno;
                        fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                }
                if (fd < 0)
                        return errno == ENOENT ? -EAGAIN : -errno;
                close_fdp(&here);
                here = fd;
                if (fstat(fd, &st) < 0)
                        return -errno;
                if (!S_ISDIR(st.st_mode))
                        return S_ISLNK(st.st_mode) ? -EAGAIN : -ENOTDIR;
        }
        return 0;
}

/* Makes a folder (is_whole) or those above an entry, each that is missing, as mkdir -p does. */
static int make_path(const struct nsrun_workspace *w, const char *path, bool is_whole, mode_t mode,
                     struct nsrun_error *err) {
        const struct workspace_root *root = NULL;
        char host[PATH_MAX];
        int r = -EAGAIN;

        for (unsigned i = 0; i < FOLDER_TRIES && r == -EAGAIN; i++) {
                const char *below, *slash;

                r = workspace_find(&w->roots, WORKSPACE_WRITE, path, host, &root, err);
                if (r < 0)
                        return r;
                below = path_below(host, root->path);
                slash = strrchr(below, '/');
                r = make_folders(root, below,
                                 is_whole ? strlen(below)
                                 : slash  ? (size_t)(slash - below)
                                          : 0,
                                 mode);
        }
        return r < 0 ? fail_entry(path, r, "the folder can't be made", err) : 0;
}

nsrun_public int nsrun_workspace_mkdir(const struct nsrun_workspace *w, const char *path, mode_t mode,
                                       int makes_parents, struct nsrun_error *error) {
        _cleanup_close_ int fd = -EBADF;
        struct workspace_entry e;
        int r;

        if (makes_parents)
                return make_path(w, path, true, mode, error);
        r = open_folder_for_new(w, path, &e, &fd, error);
        if (r < 0)
                return r;
        return mkdirat(fd, e.name, mode) < 0 ? fail_entry(path, -errno, "the folder can't be made", error)
                                             : 0;
}

nsrun_public int nsrun_workspace_create(const struct nsrun_workspace *w, const char *path, int flags,
                                        mode_t mode, int *ret_fd, struct nsrun_error *error) {
        struct nsrun_error why = {0};
        int r = -ENOENT;

        for (unsigned i = 0; i < FOLDER_TRIES && r == -ENOENT; i++) {
                why = (struct nsrun_error){0};
                r = workspace_open(&w->roots, WORKSPACE_WRITE, path, flags | O_CREAT, mode, ret_fd, &why);
                if (r == -ENOENT && *path) {
                        int made = make_path(w, path, false, 0777, error);

                        if (made < 0)
                                return made;
                }
        }
        if (r < 0 && error && error->what[0] == '\0')
                *error = why;
        return r;
}

/* ----------------------------------------------------------------------- entries */

nsrun_public int nsrun_workspace_rename(const struct nsrun_workspace *w, const char *from, const char *to,
                                        int replaces, struct nsrun_error *error) {
        _cleanup_close_ int from_fd = -EBADF, to_fd = -EBADF;
        struct workspace_entry old, new;
        int r = open_folder_of_own(w, from, &old, &from_fd, error);

        if (r >= 0)
                r = open_folder_of_own(w, to, &new, &to_fd, error);
        if (r < 0)
                return r;
        if (syscall(SYS_renameat2, from_fd, old.name, to_fd, new.name, replaces ? 0 : RENAME_NOREPLACE) < 0)
                return fail_entry(errno == EEXIST || errno == ENOTEMPTY ? to : from, -errno,
                                  "the path can't be renamed", error);
        return 0;
}

static int files_remove_entry(const struct nsrun_workspace *w, const char *path, int flags, const char *what,
                              struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        struct workspace_entry e;
        int r = open_folder_of_own(w, path, &e, &fd, err);

        if (r < 0)
                return r;
        return unlinkat(fd, e.name, flags) < 0 ? fail_entry(path, -errno, what, err) : 0;
}

nsrun_public int nsrun_workspace_unlink(const struct nsrun_workspace *w, const char *path,
                                        struct nsrun_error *error) {
        return files_remove_entry(w, path, 0, "the file can't be removed", error);
}

nsrun_public int nsrun_workspace_rmdir(const struct nsrun_workspace *w, const char *path,
                                       struct nsrun_error *error) {
        return files_remove_entry(w, path, AT_REMOVEDIR, "the folder can't be removed", error);
}

nsrun_public int nsrun_workspace_symlink(const struct nsrun_workspace *w, const char *text, const char *path,
                                         struct nsrun_error *error) {
        _cleanup_close_ int fd = -EBADF;
        struct workspace_entry e;
        int r = open_folder_for_new(w, path, &e, &fd, error);

        if (r < 0)
                return r;
        return symlinkat(text, fd, e.name) < 0 ? fail_entry(path, -errno, "the symlink can't be made", error)
                                               : 0;
}

nsrun_public int nsrun_workspace_readlink(const struct nsrun_workspace *w, const char *path, char **ret,
                                          struct nsrun_error *error) {
        _cleanup_close_ int fd = -EBADF;
        struct workspace_entry e;
        char text[PATH_MAX], *copy;
        ssize_t n;
        int r = files_open_folder(w, WORKSPACE_READ, path, &e, &fd, error);

        if (r < 0 && !(r == -EBUSY && e.is_root))
                return r;
        n = r < 0 ? -1 : readlinkat(fd, e.name, text, sizeof(text));
        if (n < 0)
                return fail_entry(path, r < 0 ? -EINVAL : -errno, "the symlink can't be read", error);
        copy = strndup(text, (size_t)n);
        if (!copy)
                return error_oom(error);
        *ret = copy;
        return 0;
}

nsrun_public int nsrun_workspace_stat(const struct nsrun_workspace *w, const char *path, int follows,
                                      struct stat *ret, struct nsrun_error *error) {
        _cleanup_close_ int fd = -EBADF;
        struct workspace_entry e;
        int r = -EINVAL;

        if (!follows)
                r = files_open_folder(w, WORKSPACE_READ, path, &e, &fd, error);
        if (r == 0)
                r = fstatat(fd, e.name, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
        else if (follows || (r == -EBUSY && e.is_root)) {
                /* A root's path has no symlink in it, so that the root itself is opened. */
                r = workspace_open(&w->roots, WORKSPACE_READ, path, O_PATH, 0, &fd, error);
                if (r == 0)
                        r = fstat(fd, ret) < 0 ? -errno : 0;
        }
        return r < 0 ? fail_entry(path, r, "the path can't be looked at", error) : 0;
}

/* ------------------------------------------------------------------ the contents */

struct listed {
        nsrun_workspace_entry each;
        void *data;
        bool is_ended; /* by `each` */
};

static int list_entry(void *data, int folder, const struct dirent *entry) {
        struct listed *l = data;
        int r = l->each(l->data, entry->d_name, (mode_t)DTTOIF(folder_type(folder, entry)));

        l->is_ended = r != 0;
        return r;
}

nsrun_public int nsrun_workspace_list(const struct nsrun_workspace *w, const char *path,
                                      nsrun_workspace_entry each, void *data, struct nsrun_error *error) {
        struct listed listed = {.each = each, .data = data};
        _cleanup_close_ int fd = -EBADF;
        int r = workspace_open(&w->roots, WORKSPACE_READ, path, O_RDONLY | O_DIRECTORY, 0, &fd, error);

        if (r < 0)
                return r;
        r = folder_read(fd, list_entry, &listed);
        return r < 0 && !listed.is_ended ? fail_entry(path, r, "the folder can't be listed", error) : r;
}
