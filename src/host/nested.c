/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See nested.h.  A command may own all that is read: every path is looked at by descriptors, and no symlink
 * is followed. */
#include "nested.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/str.h"
#include "gitconfig.h"
#include "gitindex.h"
#include "names.h"

enum {
        MODULES_SIZE = 1 << 20,
        NESTED_MAX = 10000, /* of paths that one source names */
};

struct nested_search {
        const struct nested_places *places;
        char **found;
        unsigned n_named;
};

/* A path that a file names, which may be anything. */
static int take_path(struct nested_search *s, const char *path) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *dot_git = NULL;

        if (s->n_named++ >= NESTED_MAX || !names_is_glob(path) || strv_contains(s->found, path))
                return 0;
        dot_git = str_concat(path, "/.git", "");
        if (!dot_git)
                return -ENOMEM;
        fd = beneath_open(s->places->folder, dot_git, O_PATH, 0);
        return fd < 0 ? 0 : strv_add(&s->found, path);
}

static int take_gitlink(void *data, const char *path) {
        return take_path(data, path);
}

static int take_module(void *data, const struct gitconfig_entry *entry) {
        const char *name;
        size_t n;

        return entry->value && gitconfig_is_in(entry->name, "submodule", "path", &name, &n)
                       ? take_path(data, entry->value)
                       : 0;
}

static int take_top_entry(void *data, int folder, const struct dirent *entry) {
        struct nested_search *s = data;
        char path[sizeof(entry->d_name) + sizeof("/.git")];
        struct stat st;

        if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || streq(entry->d_name, ".git"))
                return 0;
        if (entry->d_type == DT_UNKNOWN &&
            (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)))
                return 0;
        (void)snprintf(path, sizeof(path), "%s/.git", entry->d_name);
        return fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : strv_add(&s->found, entry->d_name);
}

static int read_modules(struct nested_search *s) {
        _cleanup_free_ char *text = NULL;
        int r = read_small_file(s->places->folder, ".gitmodules", O_NOFOLLOW, MODULES_SIZE, &text);

        if (r >= 0)
                r = gitconfig_parse(text, strlen(text), take_module, s);
        return r == -ENOMEM ? r : 0;
}

static int read_index(struct nested_search *s) {
        _cleanup_close_ int fd = openat(s->places->git_dir, "index",
                                        O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ unsigned char *text = NULL;
        struct stat st;
        size_t n = 0;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
            (uintmax_t)st.st_size > s->places->index_limit)
                return 0;
        text = malloc((size_t)st.st_size + 1);
        if (!text)
                return -ENOMEM;
        if (read_full(fd, (char *)text, (size_t)st.st_size, &n) < 0)
                return 0;
        r = gitindex_parse(text, n, take_gitlink, s);
        return r == -ENOMEM ? r : 0;
}

int nested_find(const struct nested_places *places, char ***ret) {
        struct nested_search s = {.places = places};
        _cleanup_close_ int top = openat(places->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = top < 0 ? 0 : folder_read(top, take_top_entry, &s);

        if (r >= 0 && places->git_dir >= 0)
                r = read_modules(&s);
        if (r >= 0 && places->git_dir >= 0)
                r = read_index(&s);
        if (r == -ENOMEM) {
                strv_free(s.found);
                return r;
        }
        *ret = s.found;
        return 0;
}
