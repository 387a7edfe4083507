/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See agent_rest.h. */
#include "agent_rest.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "disk/remove_tree.h"
#include "disk/rundir.h"

enum {
        REST_DEPTH = 64,
};

static int drop_older(void *data, int folder, const struct dirent *entry) {
        const int *host = data;
        struct stat was, now;

        if (fstatat(folder, entry->d_name, &was, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(was.st_mode) &&
            fstatat(*host, entry->d_name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            time_is_before(&was.st_ctim, &now.st_ctim))
                (void)unlinkat(folder, entry->d_name, 0);
        return 0;
}

static int open_layer(const char *path, struct stat *st) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fstat(fd, st) < 0 ? (close(fd), -errno) : fd;
}

int rest_begin(const char *path, const char *host, struct timespec *ret_when) {
        _cleanup_close_ int folder = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -EBADF;
        struct stat st;

        fd = open_layer(path, &st);
        if (fd < 0)
                return fd;
        if (folder >= 0)
                (void)folder_each(fd, drop_older, &folder);
        if (fstat(fd, &st) < 0)
                return -errno;
        *ret_when = st.st_ctim;
        return TAKE_FD(fd);
}

struct merging {
        int to;
        unsigned depth;
};

static bool is_opaque(int fd) {
        char value;

        return fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static int merge_entry(void *data, int from, const struct dirent *entry) {
        const struct merging *m = data;
        const char *name = entry->d_name;
        _cleanup_close_ int fd = -EBADF, to = -EBADF;
        int r;

        if (folder_type(from, entry) == DT_DIR) {
                fd = open_for_removal(from, name);
                if (fd < 0)
                        return fd;
                to = is_opaque(fd) ? -1
                                   : openat(m->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (to >= 0 && m->depth < REST_DEPTH) {
                        struct merging below = {.to = to, .depth = m->depth + 1};

                        return folder_each(fd, merge_entry, &below);
                }
        }
        r = remove_tree(m->to, name);
        return r < 0 || renameat(from, name, m->to, name) == 0 ? r : -errno;
}

static int drop_unused(void *data, int folder, const struct dirent *entry) {
        const time_t *now = data;
        struct stat st;

        if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            *now - st.st_mtim.tv_sec > REST_DAYS * (time_t)86400)
                (void)remove_tree(folder, entry->d_name);
        return 0;
}

/* The folder of a project's layers, locked; what no run has touched for long is removed beside it. */
static int lock_layers(const char *path) {
        _cleanup_free_ char *project = path_parent(path), *all = project ? path_parent(project) : NULL;
        _cleanup_close_ int fd = -EBADF, beside = -EBADF;
        time_t now = time(NULL);
        int r = all ? rundir_make_folders(project) : -ENOMEM;

        if (r < 0)
                return r;
        fd = open(project, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX) < 0 || futimens(fd, NULL) < 0)
                return -errno;
        beside = open(all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (beside >= 0)
                (void)folder_each(beside, drop_unused, &now);
        return TAKE_FD(fd);
}

int rest_keep(const char *path, const struct timespec *when, int from, const char *upper) {
        _cleanup_close_ int layers = lock_layers(path), fd = -EBADF, to = -EBADF;
        struct merging m = {0};
        struct stat st;
        int r;

        if (layers < 0)
                return layers;
        m.to = to = open_layer(path, &st);
        if (to < 0 && to != -ENOENT)
                return to;
        if ((to >= 0) != (when != NULL) ||
            (when && (st.st_ctim.tv_sec != when->tv_sec || st.st_ctim.tv_nsec != when->tv_nsec)))
                return -ESTALE;
        fd = open_for_removal(from, upper);
        if (fd < 0)
                return fd;
        if (to < 0)
                return renameat(from, upper, layers, path_basename(path)) < 0 ? -errno : 0;
        r = folder_each(fd, merge_entry, &m);
        return r >= 0 && futimens(to, NULL) < 0 ? -errno : r;
}
