/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See walk.h.  In each folder the walk has the tails of the globs that may name what lies in it; where
 * there is none it goes no further. */
#include "walk.h"

#include <fnmatch.h>
#include <limits.h>

#include "base/array.h"
#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"
#include "gitignore.h"

struct tails {
        const char **items;
        size_t n;
};

struct walking {
        const struct walk *walk;
        char path[WALK_PATH_MAX];
        unsigned n_entries;
};

static void clear_tails(struct tails *t) {
        free(t->items);
}

static int add_tail(struct tails *t, const char *tail) {
        for (size_t i = 0; i < t->n; i++)
                if (t->items[i] == tail)
                        return 0;
        if (ARRAY_GROW(t->items, t->n) < 0)
                return -ENOMEM;
        t->items[t->n++] = tail;
        return 0;
}

/* ---------------------------------------------------------------------- globs */

static bool is_bad_part(const char *part, size_t n) {
        size_t n_backslashes = 0;

        while (n_backslashes < n && part[n - 1 - n_backslashes] == '\\')
                n_backslashes++;
        return n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.') ||
               n_backslashes % 2 == 1;
}

int walk_normalise(const char *glob, char **ret) {
        bool is_anchored = *glob == '/', is_folder = false;
        const char *start = glob + is_anchored;
        size_t n = strlen(start);

        if (*glob == '!')
                return -EINVAL;
        while (n > 0 && start[n - 1] == '/' && n-- > 0)
                is_folder = true;
        while (n > 3 && strncmp(start + n - 3, "/**", 3) == 0) {
                n -= 3;
                is_folder = is_anchored = true;
        }
        for (size_t at = 0; at <= n;) {
                size_t part = 0;

                while (at + part < n && start[at + part] != '/')
                        part++;
                if (is_bad_part(start + at, part))
                        return -EINVAL;
                at += part + 1;
                is_anchored |= at < n;
        }
        *ret = str_format("%s%.*s%s", is_anchored ? "" : "**/", (int)n, start, is_folder ? "/" : "");
        return *ret ? 0 : -ENOMEM;
}

/* fnmatch(3) is slow where a locale is set, so it is asked last. */
bool walk_part_matches(const char *part, size_t n, const char *name) {
        size_t wildcard = strcspn(part, "*?[\\"), length;
        char pattern[PATH_MAX];

        if (wildcard >= n)
                return strncmp(part, name, n) == 0 && name[n] == '\0';
        if (strncmp(part, name, wildcard) != 0)
                return false;
        length = strlen(name);
        if (part[wildcard] == '*' && wildcard + 1 + strcspn(part + wildcard + 1, "*?[\\") >= n)
                return length + 1 >= n && strncmp(name + length - (n - wildcard - 1), part + wildcard + 1,
                                                  n - wildcard - 1) == 0;
        if (n >= sizeof(pattern))
                return false;
        memcpy(pattern, part, n);
        pattern[n] = '\0';
        return fnmatch(pattern, name, 0) == 0;
}

enum type {
        TYPE_OTHER,
        TYPE_LINK,
        TYPE_FOLDER,
};

enum named {
        NAMED_NOT,
        NAMED_AS_FOLDER, /* a symlink, by a glob for folders */
        NAMED,
};

/* Whether `tail` names the entry; what may name entries below it goes into `next`, or NULL. */
static int step(const char *tail, const char *name, enum type type, struct tails *next, enum named *ret) {
        size_t n = strcspn(tail, "/");
        const char *rest = tail[n] ? tail + n + 1 : NULL;
        enum named named = !rest || type == TYPE_FOLDER ? NAMED
                           : type == TYPE_LINK          ? NAMED_AS_FOLDER
                                                        : NAMED_NOT;
        int r;

        if (n == 2 && tail[0] == '*' && tail[1] == '*' && rest && *rest) {
                r = next ? add_tail(next, tail) : 0;
                return r < 0 ? r : step(rest, name, type, next, ret);
        }
        if (!walk_part_matches(tail, n, name))
                return 0;
        if (rest && *rest)
                return next ? add_tail(next, rest) : 0;
        *ret = named > *ret ? named : *ret;
        return 0;
}

bool walk_matches(char *const *globs, const char *name, bool is_directory) {
        enum named named = NAMED_NOT;

        STRV_FOREACH (glob, globs)
                (void)step(*glob, name, is_directory ? TYPE_FOLDER : TYPE_OTHER, NULL, &named);
        return named == NAMED;
}

bool walk_covers(const char *glob, const char *path) {
        char part[PATH_MAX];
        size_t n = strlen(glob);

        n -= n > 0 && glob[n - 1] == '/';
        for (const char *end = path; end;) {
                end = strchr(end + (end != path), '/');
                (void)snprintf(part, sizeof(part), "%.*s", end ? (int)(end - path) : (int)strlen(path),
                               path);
                if (gitignore_glob(glob, n, part, false))
                        return true;
        }
        return false;
}

/* ---------------------------------------------------------------------- the walk */

/* A folder that is read. */
struct walk_level {
        struct walking *walking;
        size_t length; /* of its path */
        unsigned depth;
        const struct tails *tails;
};

static int visit_entry(void *data, int folder, const struct dirent *entry);

/* The name that the first part of a glob's tail stands for alone; false: it has a wildcard. */
static bool literal_name(const char *tail, char *ret, size_t size) {
        size_t n = 0;

        for (; *tail && *tail != '/'; tail++) {
                if (strchr("*?[", *tail) || n + 1 >= size)
                        return false;
                if (*tail == '\\')
                        tail++;
                ret[n++] = *tail;
        }
        ret[n] = '\0';
        return true;
}

/* A folder that may be entered and not listed: what a glob says by its letters can be looked for there all
 * the same.  -EACCES: it may hold what another one names. */
static int walk_by_names(struct walk_level *level, int parent, const char *name) {
        _cleanup_close_ int fd = sys_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        const struct walk *walk = level->walking->walk;
        struct dirent entry = {.d_type = DT_UNKNOWN};
        int r = walk->n_inodes > 0 || walk->is_for_all ? -EACCES : 0;

        for (size_t i = 0; i < level->tails->n && r == 0; i++)
                if (!literal_name(level->tails->items[i], entry.d_name, sizeof(entry.d_name)))
                        r = -EACCES;
        for (size_t i = 0; i < level->tails->n && r == 0; i++) {
                (void)literal_name(level->tails->items[i], entry.d_name, sizeof(entry.d_name));
                r = fd < 0 ? -EACCES : visit_entry(level, fd, &entry);
        }
        return r;
}

static int compare_inodes(const void *a, const void *b) {
        const ino_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

static bool is_sought(const struct walk *walk, ino_t inode) {
        return walk->is_for_all || (walk->n_inodes > 0 && bsearch(&inode, walk->inodes, walk->n_inodes,
                                                                  sizeof(inode), compare_inodes));
}

static int walk_found(const struct walking *w, struct walk_entry *e) {
        e->path = w->path;
        /* It is gone meanwhile. */
        if (fstatat(e->folder, e->name, &e->st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        return w->walk->found(w->walk->data, e);
}

/* What is below a folder that no glob names. */
static int walk_below(struct walking *w, int parent, const char *name, size_t length, unsigned depth,
                      const struct tails *tails) {
        struct walk_entry closed = {.folder = parent, .name = name, .is_closed = true};
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (depth >= WALK_DEPTH_MAX)
                return walk_found(w, &closed);
        fd = sys_openat2(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_XDEV);
        r = fd == -EXDEV && w->walk->crosses ? w->walk->crosses(w->walk->data, parent, name) : 0;
        if (r < 0)
                return r;
        if (fd == -EXDEV || fd == -ENOSYS || fd == -EPERM)
                fd = sys_open(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd == -EACCES) {
                r = walk_by_names(&(struct walk_level){w, length, depth + 1, tails}, parent, name);
                w->path[length] = '\0';
                return r == -EACCES || r == -ENAMETOOLONG ? walk_found(w, &closed) : r;
        }
        if (fd < 0)
                return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
        r = folder_read(fd, visit_entry, &(struct walk_level){w, length, depth + 1, tails});
        if (r != -ENAMETOOLONG)
                return r;
        w->path[length] = '\0';
        return walk_found(w, &closed);
}

static int visit_entry(void *data, int folder, const struct dirent *entry) {
        const struct walk_level *level = data;
        const struct tails *tails = level->tails;
        struct walking *w = level->walking;
        size_t length = level->length;
        _cleanup_(clear_tails) struct tails next = {0};
        struct walk_entry e = {.folder = folder, .name = entry->d_name};
        enum named named = NAMED_NOT;
        unsigned char found = folder_type(folder, entry);
        enum type type = found == DT_DIR ? TYPE_FOLDER : found == DT_LNK ? TYPE_LINK : TYPE_OTHER;
        size_t n = strlen(entry->d_name);
        int r;

        if (w->n_entries++ >= w->walk->entries_max)
                return -E2BIG;
        if (found == DT_UNKNOWN)
                return errno == ENOENT ? 0 : -errno;
        for (size_t i = 0; i < tails->n; i++) {
                r = step(tails->items[i], entry->d_name, type, type == TYPE_FOLDER ? &next : NULL, &named);
                if (r < 0)
                        return r;
        }
        if (named == NAMED_NOT && type != TYPE_FOLDER && !is_sought(w->walk, entry->d_ino))
                return 0;
        if (length + 1 + n >= sizeof(w->path))
                return -ENAMETOOLONG;
        if (length > 0)
                w->path[length++] = '/';
        memcpy(w->path + length, entry->d_name, n + 1);
        e.is_link_to_folder = named == NAMED_AS_FOLDER;
        if (named != NAMED_NOT || type != TYPE_FOLDER)
                return walk_found(w, &e);
        return next.n > 0 || w->walk->n_inodes > 0 || w->walk->is_for_all
                       ? walk_below(w, folder, entry->d_name, length + n, level->depth, &next)
                       : 0;
}

int walk_names(const struct walk *walk, int folder) {
        _cleanup_(clear_tails) struct tails tails = {0};
        _cleanup_free_ struct walking *w = calloc(1, sizeof(*w));
        _cleanup_close_ int fd = -EBADF;

        if (!w)
                return -ENOMEM;
        w->walk = walk;
        STRV_FOREACH (glob, walk->globs)
                if (add_tail(&tails, *glob) < 0)
                        return -ENOMEM;
        fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == EACCES)
                return walk_by_names(&(struct walk_level){w, 0, 0, &tails}, folder, ".");
        return fd < 0 ? -errno : folder_read(fd, visit_entry, &(struct walk_level){w, 0, 0, &tails});
}
