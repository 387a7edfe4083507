/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening, listing and naming in trees.  See tree.h for the promise. */
#include "tree.h"

#include <limits.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"

/* RESOLVE_NO_XDEV: an overlay's lower layer is one mount, so whatever is mounted below it is not part of the
 * overlay. */
static int open_step(int dir, const char *path, int flags) {
        int r = sys_openat2(dir, *path ? path : ".", flags, 0,
                            RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);

        /* A filter older than the call (5.6). */
        return r == -ENOSYS || r == -EPERM ? beneath_walk(dir, path, flags, 0) : r;
}

int tree_open(int root, const char *path, int flags) {
        _cleanup_close_ int here = -EBADF;
        char part[PATH_MAX / 2];

        /* A path may be longer than the kernel takes at once. */
        while (strlen(path) >= sizeof(part)) {
                size_t n = sizeof(part) - 1;
                int fd;

                while (n > 0 && path[n] != '/')
                        n--;
                if (n == 0)
                        return -ENAMETOOLONG;
                memcpy(part, path, n);
                part[n] = '\0';
                fd = open_step(here >= 0 ? here : root, part, O_PATH | O_DIRECTORY);
                if (fd < 0)
                        return fd;
                close_fdp(&here);
                here = fd;
                path += n + 1;
        }
        return open_step(here >= 0 ? here : root, path, flags);
}

void tree_forget(struct tree *t) {
        close_fdp(&t->fd);
        free(t->path);
        t->path = NULL;
}

int tree_folder(struct tree *t, const char *path) {
        size_t n = t->path ? strlen(t->path) : 0;
        char *copy;
        int fd;

        if (t->path && streq(t->path, path))
                return t->fd;
        copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        if (n > 0 && tree_is_beneath(path, t->path))
                fd = tree_open(t->fd, path + n + 1, O_RDONLY | O_DIRECTORY);
        else
                fd = tree_open(t->root, path, O_RDONLY | O_DIRECTORY);
        if (fd < 0) {
                free(copy);
                return fd;
        }
        tree_forget(t);
        t->path = copy;
        t->fd = fd;
        return fd;
}

int tree_parent(struct tree *t, const char *path, const char **ret_name) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
        int fd;

        if (!parent)
                return -ENOMEM;
        fd = tree_folder(t, parent);
        if (fd >= 0)
                *ret_name = slash ? slash + 1 : path;
        return fd;
}

int tree_stat(struct tree *t, const char *path, struct stat *ret) {
        const char *name;
        struct stat st;
        int fd = *path ? tree_parent(t, path, &name) : t->root;

        if (fd == -ENOTDIR || fd == -ELOOP)
                return -ENOENT;
        if (fd < 0)
                return fd;
        if (fstatat(fd, *path ? name : "", &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
                return -errno;
        *ret = st;
        return 0;
}

struct names {
        char **list;
        size_t n;
};

static int tree_add_name(void *data, int folder nsrun_unused, const struct dirent *entry) {
        struct names *names = data;

        if (ARRAY_GROW(names->list, names->n + 1) < 0 || !(names->list[names->n] = strdup(entry->d_name)))
                return -ENOMEM;
        names->list[++names->n] = NULL;
        return 0;
}

int tree_names(int fd, char ***ret) {
        struct names names = {.list = calloc(1, sizeof(*names.list))};
        int r = names.list ? folder_each(fd, tree_add_name, &names) : -ENOMEM;

        if (r < 0) {
                strv_free(names.list);
                return r;
        }
        strv_sort(names.list, names.n);
        *ret = names.list;
        return 0;
}

int tree_compare(const char *a, const char *b) {
        while (*a && *a == *b)
                a++, b++;
        if (*a == *b)
                return 0;
        if (!*a || !*b)
                return *a ? 1 : -1;
        if (*a == '/' || *b == '/')
                return *a == '/' ? -1 : 1;
        return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

bool tree_is_beneath(const char *path, const char *folder) {
        size_t n = strlen(folder);

        return n == 0 || (strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/'));
}
