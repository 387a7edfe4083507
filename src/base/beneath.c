/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Resolution beneath a root.  See beneath.h for the promise. */
#include "beneath.h"

#include <fcntl.h>
#include <limits.h>

#include "path.h"
#include "sys.h"

/* The next component of *path into name, *path past it.  Length, 0 at the end,
 * or -errno. */
static int next_component(const char **path, char name[NAME_MAX + 1]) {
        size_t n = 0;

        while (**path == '/')
                (*path)++;
        while ((*path)[n] && (*path)[n] != '/') {
                if (n >= NAME_MAX)
                        return -ENAMETOOLONG;
                name[n] = (*path)[n];
                n++;
        }
        name[n] = '\0';
        *path += n;
        while (**path == '/')
                (*path)++;
        if (n == 2 && name[0] == '.' && name[1] == '.')
                return -EXDEV;
        return (int)n;
}

/* Tells a symlink from another non-folder, for the errno alone: what keeps symlinks out is O_NOFOLLOW. */
static bool is_symlink(int dir, const char *name) {
        _cleanup_close_ int fd = sys_open(dir, name, O_PATH | O_NOFOLLOW, 0);
        struct stat st;

        return fd >= 0 && sys_fstat(fd, &st) >= 0 && S_ISLNK(st.st_mode);
}

int beneath_walk(int root, const char *path, int flags, mode_t mode) {
        _cleanup_close_ int here = -EBADF;
        char name[NAME_MAX + 1];
        struct stat st;
        int r;

        if (path[0] == '/')
                return -EXDEV;
        r = next_component(&path, name);
        if (r < 0)
                return r;
        if (r == 0)
                return sys_open(root, ".", flags & ~(O_CREAT | O_EXCL), 0);
        for (;;) {
                int fd;

                if (!*path && is_symlink(here >= 0 ? here : root, name))
                        return -ELOOP;
                if (!*path) {
                        /* O_PATH|O_NOFOLLOW opens a symlink itself; every other
                         * mode fails with ELOOP on one. */
                        fd = sys_open(here >= 0 ? here : root, name, flags | O_NOFOLLOW, mode);
                        if (fd < 0 || !(flags & O_PATH) || (flags & O_NOFOLLOW))
                                return fd;
                        r = sys_fstat(fd, &st);
                        if (r >= 0 && S_ISLNK(st.st_mode))
                                r = -ELOOP;
                        if (r < 0) {
                                (void)sys_close(fd);
                                return r;
                        }
                        return fd;
                }
                fd = sys_open(here >= 0 ? here : root, name, O_PATH | O_NOFOLLOW, 0);
                if (fd < 0)
                        return fd;
                close_fdp(&here);
                here = fd;
                r = sys_fstat(here, &st);
                if (r < 0)
                        return r;
                if (S_ISLNK(st.st_mode))
                        return -ELOOP;
                if (!S_ISDIR(st.st_mode))
                        return -ENOTDIR;
                r = next_component(&path, name);
                if (r < 0)
                        return r;
        }
}

int beneath_cross(int root, const char *path, int flags, int (*crosses)(void *data, const char *path),
                  void *data, int *ret) {
        const char *here = path[0] ? path : ".";
        int r = 0;

        *ret = sys_openat2(root, here, flags, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
        if (*ret == -EXDEV && crosses)
                r = crosses(data, here);
        if (r >= 0 && (*ret == -EXDEV || *ret == -ENOSYS || *ret == -EPERM))
                *ret = beneath_open(root, path, flags, 0);
        return r < 0 ? r : 0;
}

int beneath_open_canonical(const char *path, int flags) {
        _cleanup_close_ int root = -EBADF;
        int fd = sys_openat2(AT_FDCWD, path, flags, 0, RESOLVE_NO_SYMLINKS);

        if (fd != -ENOSYS && fd != -EPERM)
                return fd;
        root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        return root < 0 ? root : beneath_walk(root, path + 1, flags, 0);
}

int beneath_open_parent(const char *path) {
        _cleanup_free_ char *folder = path_parent(path);

        return folder ? beneath_open_canonical(folder, O_PATH | O_DIRECTORY) : -ENOMEM;
}

int beneath_open(int root, const char *path, int flags, mode_t mode) {
        int r = sys_openat2(root, path[0] ? path : ".", flags, mode, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

        if (r == -ENOSYS || r == -EPERM)
                r = beneath_walk(root, path, flags, mode);
        return r;
}
