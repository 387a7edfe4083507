/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See subrepositories.h.  A command may own all that is read: every path is looked at by descriptors, and no
 * symlink is followed. */
#include "subrepositories.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/sys.h"
#include "gitdir.h"
#include "gitindex.h"
#include "glob.h"

enum {
        NESTED_MAX = 100000, /* of paths that are named */
        TOP_MAX = 50000,     /* of folders at the top: to look into more takes seconds */
        FOLDERS_MAX = 100,   /* of those that folder_of() tells */
};

struct nested_search {
        const struct nested_places *places;
        char **found;
        unsigned n_named, n_folders, n_top;
        bool is_cut;
};

bool nested_has(int folder, const char *name) {
        struct stat st;

        return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool nested_is_bare(int folder) {
        return nested_has(folder, "HEAD") && (nested_has(folder, "commondir") ||
                                              (nested_has(folder, "objects") && nested_has(folder, "refs")));
}

/* A path that a file names, which may be anything. */
static int take_path(struct nested_search *s, const char *path, bool is_repository) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        s->is_cut |= s->n_named >= NESTED_MAX;
        if (s->n_named++ >= NESTED_MAX || !glob_is_expandable(path) || strv_contains(s->found, path))
                return 0;
        r = beneath_cross(s->places->folder, path, O_PATH | O_DIRECTORY, s->places->crosses, s->places->data,
                          &fd);
        if (r < 0)
                return r;
        return fd < 0 || (is_repository && !nested_has(fd, ".git") && !nested_is_bare(fd))
                       ? 0
                       : strv_add(&s->found, path);
}

static int nested_take_entry(void *data, const char *path, bool is_repository) {
        struct nested_search *s = data;
        bool is_asked = !is_repository && s->places->folder_of && s->n_folders < FOLDERS_MAX;
        size_t n = is_asked ? s->places->folder_of(path) : 0, before;
        _cleanup_free_ char *folder = n > 0 ? strndup(path, n) : NULL;
        int r;

        if (n == 0)
                return is_repository ? take_path(s, path, true) : 0;
        before = strv_length(s->found);
        r = folder ? take_path(s, folder, false) : -ENOMEM;
        s->n_folders += strv_length(s->found) > before;
        return r;
}

static int take_module(void *data, const struct gitconfig_entry *entry) {
        const char *name;
        size_t n;

        return entry->value && gitconfig_is_in(entry->name, "submodule", "path", &name, &n)
                       ? take_path(data, entry->value, true)
                       : 0;
}

static int take_top_entry(void *data, int folder, const struct dirent *entry) {
        struct nested_search *s = data;
        char path[sizeof(entry->d_name) + sizeof("/HEAD")];
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (streq(entry->d_name, ".git") || folder_type(folder, entry) != DT_DIR)
                return 0;
        if (s->n_top++ >= TOP_MAX)
                return -E2BIG;
        (void)snprintf(path, sizeof(path), "%s/.git", entry->d_name);
        fd = sys_openat2(folder, path, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_XDEV);
        r = fd == -EXDEV && s->places->crosses ? s->places->crosses(s->places->data, entry->d_name) : 0;
        if (r >= 0 && fd == -EXDEV && s->places->crosses)
                r = s->places->crosses(s->places->data, path);
        if (r < 0)
                return r;
        if (fd >= 0 || (fd == -EACCES && s->places->takes_closed) ||
            (fd != -ENOENT && nested_has(folder, path)))
                return strv_add(&s->found, entry->d_name);
        (void)snprintf(path, sizeof(path), "%s/HEAD", entry->d_name);
        return nested_has(folder, path) ? take_path(s, entry->d_name, true) : 0;
}

/* What can't be read holds none; but somebody who doesn't answer may hold any. */
static bool is_end(int r) {
        return r == -ENOMEM || r == -ETIMEDOUT;
}

static int read_modules(struct nested_search *s) {
        int r = gitdir_read_config(s->places->folder, ".gitmodules", take_module, s);

        return is_end(r) ? r : 0;
}

/* `shared`: as gitindex_parse() has it. */
static int read_index(struct nested_search *s, const char *name, char *shared) {
        int r = gitindex_read(s->places->git_dir, name, s->places->index_limit, nested_take_entry, s,
                              shared);

        if (r < 0 && r != -ENOENT && s->places->ret_unread)
                *s->places->ret_unread = r;
        return is_end(r) ? r : 0;
}

/* What git itself knows. */
static int read_git(struct nested_search *s) {
        char shared[GITINDEX_SHARED_SIZE] = "";
        int r = read_modules(s);

        if (r >= 0)
                r = read_index(s, "index", shared);
        return r >= 0 && *shared ? read_index(s, shared, NULL) : r;
}

int nested_find(const struct nested_places *places, char ***ret, bool *ret_is_cut) {
        struct nested_search s = {.places = places};
        _cleanup_close_ int top = openat(places->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = top < 0 ? 0 : folder_read(top, take_top_entry, &s);

        s.is_cut |= r == -E2BIG;
        if (r == -E2BIG && ret_is_cut)
                r = 0;
        if (r >= 0 && places->git_dir >= 0)
                r = read_git(&s);
        if (is_end(r) || r == -E2BIG) {
                strv_free(s.found);
                return r;
        }
        if (ret_is_cut)
                *ret_is_cut |= s.is_cut;
        *ret = s.found;
        return 0;
}
