/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See names.h. */
#include "names.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>

#include "base/beneath.h"
#include "base/str.h"

enum {
        ENTRIES_MAX = 100000,
};

struct expansion {
        int root;
        int (*found)(void *data, const char *name, const struct stat *st);
        void *data;
        unsigned n_entries;
};

bool names_is_glob(const char *glob) {
        if (!*glob)
                return false;
        for (const char *at = glob; at; at = strchr(at, '/')) {
                size_t n;

                at += *at == '/' && at != glob;
                n = strcspn(at, "/");
                if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
                        return false;
        }
        return true;
}

char *names_escape(const char *name) {
        char *glob = malloc(2 * strlen(name) + 1), *to = glob;

        if (!glob)
                return NULL;
        for (; *name; name++) {
                if (strchr("*?[\\", *name))
                        *to++ = '\\';
                *to++ = *name;
        }
        *to = '\0';
        return glob;
}

/* The first symlink on the way to `name`, or at its end. */
static int find_link(const struct expansion *e, const char *name) {
        _cleanup_free_ char *path = strdup(name);
        struct stat st;

        if (!path)
                return -ENOMEM;
        for (char *slash = path; slash;) {
                slash = strchr(slash + (slash != path), '/');
                if (slash)
                        *slash = '\0';
                if (fstatat(e->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return errno == ENOENT ? 0 : -errno;
                if (S_ISLNK(st.st_mode))
                        return e->found(e->data, path, &st);
                if (slash)
                        *slash = '/';
        }
        return 0;
}

static int find_name(const struct expansion *e, const char *name) {
        _cleanup_close_ int fd = beneath_open(e->root, name, O_PATH, 0);
        struct stat st;

        if (fd == -ELOOP)
                return find_link(e, name);
        if (fd < 0)
                return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
        return fstat(fd, &st) < 0 ? -errno : e->found(e->data, name, &st);
}

static char *join_names(const char *folder, const char *name, size_t n) {
        char *joined;

        return asprintf(&joined, "%s%s%.*s", folder, *folder ? "/" : "", (int)n, name) < 0 ? NULL : joined;
}

static int expand_below(struct expansion *e, const char *folder, const char *glob);

/* One entry that matches, and below it what comes after the first component of `glob`. */
static int expand_entry(struct expansion *e, const char *folder, const char *name, const char *glob) {
        _cleanup_free_ char *path = join_names(folder, name, strlen(name));
        const char *slash = strchr(glob, '/');

        if (!path)
                return -ENOMEM;
        return slash ? expand_below(e, path, slash + 1) : find_name(e, path);
}

/* The entries of `folder` that match the first component of `glob`. */
static int expand_component(struct expansion *e, const char *folder, const char *glob) {
        _cleanup_free_ char *pattern = strndup(glob, strcspn(glob, "/"));
        int r = 0, fd = pattern ? beneath_open(e->root, folder, O_RDONLY | O_DIRECTORY, 0) : -ENOMEM;
        const struct dirent *entry;
        DIR *dir;

        if (fd == -ELOOP)
                return find_link(e, folder);
        if (fd < 0)
                return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
        dir = fdopendir(fd);
        if (!dir) {
                close_fdp(&fd);
                return -ENOMEM;
        }
        while (r == 0 && (entry = readdir(dir))) {
                if (e->n_entries++ >= ENTRIES_MAX)
                        r = -E2BIG;
                else if (!streq(entry->d_name, ".") && !streq(entry->d_name, "..") &&
                         fnmatch(pattern, entry->d_name, 0) == 0)
                        r = expand_entry(e, folder, entry->d_name, glob);
        }
        (void)closedir(dir);
        return r;
}

/* `folder` is a name as it is; what is below it a glob. */
static int expand_below(struct expansion *e, const char *folder, const char *glob) {
        size_t wildcard = strcspn(glob, "*?[\\"), n = 0;
        _cleanup_free_ char *path = NULL;

        /* The components before the one with the wildcard. */
        for (size_t i = 0; i < wildcard; i++)
                if (glob[i] == '/')
                        n = i;
        if (!glob[wildcard])
                n = wildcard;
        path = n > 0 ? join_names(folder, glob, n) : strdup(folder);
        if (!path)
                return -ENOMEM;
        return glob[n] ? expand_component(e, path, glob + n + (n > 0)) : find_name(e, path);
}

int names_expand(int folder, const char *glob,
                 int (*found)(void *data, const char *name, const struct stat *st), void *data) {
        struct expansion e = {.root = folder, .found = found, .data = data};

        return expand_below(&e, "", glob);
}
