/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree as text, to be compared with another. */
#pragma once

#include <dirent.h>

#include "layer.h"

/* Writes a tree as text: every path with its type, mode, content, attributes and links. */
static inline void picture_of(FILE *to, int dir, const char *path);

static inline void picture_file(FILE *to, int dir, const char *name, const struct stat *st) {
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        uint64_t hash = 14695981039346656037ULL;
        char block[4096], value[8];
        ssize_t n;

        assert_true(fd >= 0);
        while ((n = read(fd, block, sizeof(block))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        hash = (hash ^ (unsigned char)block[i]) * 1099511628211ULL;
        assert_int_equal(n, 0);
        (void)fprintf(to, " %lld %016llx", (long long)st->st_size, (unsigned long long)hash);
        n = fgetxattr(fd, "user.test", value, sizeof(value));
        if (n > 0)
                (void)fprintf(to, " user.test=%.*s", (int)n, value);
}

static inline int compare_strings(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void picture_folder(FILE *to, int parent, const char *name, const char *path) {
        _cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_strv_ char **list = NULL;
        DIR *dir;
        struct dirent *entry;
        char value[8];
        ssize_t n;

        assert_true(fd >= 0);
        n = fgetxattr(fd, "user.test", value, sizeof(value));
        if (n > 0)
                (void)fprintf(to, " user.test=%.*s", (int)n, value);
        (void)fputc('\n', to);
        dir = fdopendir(dup(fd));
        assert_non_null(dir);
        while ((entry = readdir(dir)))
                if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
                        assert_int_equal(strv_add(&list, entry->d_name), 0);
        (void)closedir(dir);
        if (list)
                qsort(list, strv_length(list), sizeof(*list), compare_strings);
        STRV_FOREACH (s, list) {
                _cleanup_free_ char *below = scratch_path(path, *s);

                picture_of(to, fd, below);
        }
}

static inline void picture_of(FILE *to, int dir, const char *path) {
        const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        char text[256];
        struct stat st;
        ssize_t n;

        assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        (void)fprintf(to, "%s %o", path, st.st_mode);
        if (S_ISDIR(st.st_mode)) {
                picture_folder(to, dir, name, path);
                return;
        }
        if (S_ISREG(st.st_mode))
                picture_file(to, dir, name, &st);
        n = S_ISLNK(st.st_mode) ? readlinkat(dir, name, text, sizeof(text)) : 0;
        (void)fprintf(to, " %.*s\n", (int)n, text);
}

/* The same text of `path` in the folder; "" if it doesn't exist. */
static inline char *picture_tree(int root, const char *path) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
        _cleanup_close_ int dir = openat(root, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char *text = NULL;
        struct stat st;
        size_t n = 0;
        FILE *to = open_memstream(&text, &n);

        assert_non_null(to);
        if (dir >= 0 && fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
                picture_of(to, dir, path);
        (void)fclose(to);
        return text;
}
