/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --bind-create and its like: makes a source that is missing.  As far as the path leads anywhere its
 * symlinks count, as they do for every source.  What is missing is made folder by folder, and no symlink is
 * followed there: one that leads nowhere may be a former command's, that would have a folder made where it
 * likes. */
#include <fcntl.h>

#include "base/path.h"
#include "base/sys.h"
#include "build.h"

/* Goes from the folder *fd into `name`, which is made if it is missing. */
static int enter_made(int *fd, const char *name) {
        struct stat st;
        int r, next;

        if (streq(name, ".."))
                return -ENOENT;
        r = sys_mkdirat(*fd, name, 0700);
        if (r < 0 && r != -EEXIST)
                return r;
        next = sys_open(*fd, name, O_PATH | O_NOFOLLOW, 0);
        r = next < 0 ? next : sys_fstat(next, &st);
        if (r >= 0 && !S_ISDIR(st.st_mode))
                r = S_ISLNK(st.st_mode) ? -ELOOP : -ENOTDIR;
        if (r < 0 && next >= 0)
                (void)sys_close(next);
        if (r < 0)
                return r;
        (void)sys_close(*fd);
        *fd = next;
        return 0;
}

/* Cuts the last component off `path`; *ret_rest is where it begins. */
static void cut_last(char *path, size_t *ret_rest) {
        size_t n = strlen(path);

        while (n > 0 && path[n - 1] == '/')
                n--;
        while (n > 0 && path[n - 1] != '/')
                n--;
        *ret_rest = n;
        while (n > 1 && path[n - 1] == '/')
                n--;
        path[n] = '\0';
}

int bwrap_make_source(const char *path) {
        _cleanup_free_ char *existing = strdup(path), *rest = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t at = strlen(path);
        char *words;
        int r;

        if (!existing)
                return -ENOMEM;
        do {
                cut_last(existing, &at);
                fd = sys_open(AT_FDCWD, *existing ? existing : ".", O_PATH | O_DIRECTORY, 0);
        } while (fd == -ENOENT && *existing && !streq(existing, "/"));
        if (fd < 0)
                return fd;
        rest = strdup(path + at);
        if (!rest)
                return -ENOMEM;
        words = rest;
        r = 0;
        for (char *name; r >= 0 && (name = strsep(&words, "/"));)
                if (*name && !streq(name, "."))
                        r = enter_made(&fd, name);
        return r;
}
