/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "glob.h"

#include <fnmatch.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "walk.h"

enum {
        ENTRIES_MAX = 100000,
        LOOKED_UP_MAX = 3, /* so many names without wildcards are looked up, of more the folder is read */
        READ_MAX = 1000,   /* unless it has more entries than this */
};

/* Globs, or what is left of them below a folder; the strings are the caller's. */
struct globs {
        const char **items;
        size_t n;
};

struct search {
        int root;
        const struct glob_search *asked;
        unsigned n_entries;
};

bool glob_is_expandable(const char *glob) {
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

char *glob_escape(const char *name) {
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
static int find_link(const struct search *s, const char *name) {
        _cleanup_free_ char *path = strdup(name);
        struct stat st;

        if (!path)
                return -ENOMEM;
        for (char *slash = path; slash;) {
                slash = strchr(slash + (slash != path), '/');
                if (slash)
                        *slash = '\0';
                if (fstatat(s->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return errno == ENOENT ? 0 : -errno;
                if (S_ISLNK(st.st_mode))
                        return s->asked->found(s->asked->data, path, &st);
                if (slash)
                        *slash = '/';
        }
        return 0;
}

/* Opens what is below the root.  1: *ret is it; 0: there is nothing, or a symlink, which is told; or it is
 * closed, and what is asked for goes on without. */
static int open_name(const struct search *s, const char *name, int flags, int *ret) {
        const struct glob_search *asked = s->asked;
        int fd, r = beneath_cross(s->root, name, flags, asked->crosses, asked->data, &fd);

        if (r < 0)
                return r;
        while (fd == -EACCES && asked->closed) {
                r = asked->closed(asked->data, name);
                if (r <= 0)
                        return r;
                fd = beneath_open(s->root, name, flags, 0);
        }
        if (fd == -ELOOP)
                return find_link(s, name);
        if (fd < 0)
                return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
        *ret = fd;
        return 1;
}

static int find_name(const struct search *s, const char *name) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r = open_name(s, name, O_PATH, &fd);

        if (r <= 0 || fd < 0)
                return r;
        return fstat(fd, &st) < 0 ? -errno : s->asked->found(s->asked->data, name, &st);
}

static bool has_wildcard(const char *text, size_t n) {
        size_t wildcard = strcspn(text, "*?[\\");

        return wildcard < n && text[wildcard];
}

static bool component_matches(const char *glob, const char *name) {
        /* Nearly always they differ right here. */
        return (*glob == *name || strchr("*?[\\", *glob)) &&
               walk_part_matches(glob, strcspn(glob, "/"), name);
}

static int find_below(struct search *s, const char *folder, const struct globs *globs);

/* Each of the globs by its own. */
static int look_up(struct search *s, const char *folder, const struct globs *globs) {
        int r = 0;

        for (size_t i = 0; i < globs->n && r == 0; i++) {
                const char *glob = globs->items[i];
                size_t wildcard = strcspn(glob, "*?[\\"), n = 0;
                _cleanup_free_ char *path = NULL, *first = NULL;

                /* The components before the one with the wildcard. */
                for (size_t at = 0; at < wildcard; at++)
                        if (glob[at] == '/')
                                n = at;
                if (!glob[wildcard])
                        n = wildcard;
                first = strndup(glob, n);
                path = first ? path_append(folder, first) : NULL;
                if (!path)
                        return -ENOMEM;
                r = glob[n] ? find_below(s, path, &(struct globs){(const char *[]){glob + n + 1}, 1})
                            : find_name(s, path);
        }
        return r;
}

/* How names begin that globs could match: by the first byte, of the second a bit that is its lowest six.  Of
 * a folder's thousands it leaves a few that have to be held against each of some seventy globs. */
struct beginnings {
        uint64_t seconds[256];
};

static void add_beginning(struct beginnings *b, const char *glob) {
        size_t n = strcspn(glob, "/");

        if (has_wildcard(glob, 1))
                memset(b, 0xff, sizeof(*b));
        else if (has_wildcard(glob, 2))
                b->seconds[(unsigned char)*glob] = UINT64_MAX;
        else
                b->seconds[(unsigned char)*glob] |= UINT64_C(1)
                                                    << (n > 1 ? (unsigned char)glob[1] & 63U : 0);
}

static bool may_be_meant(const struct beginnings *b, const char *name) {
        return b->seconds[(unsigned char)name[0]] >> ((unsigned char)name[1] & 63U) & 1;
}

/* A folder that is read: the entries that match a glob's first component. */
struct reading_names {
        struct search *search;
        const struct globs *globs;
        struct beginnings beginnings;
        bool may_give_up; /* no glob has a wildcard */
        unsigned n_entries;
        struct strbuf
                matches; /* each with the type before its name, as in struct dirent, and a NUL behind */
};

static int take_entry(void *data, nsrun_unused int folder, const struct dirent *entry) {
        struct reading_names *in = data;

        if (in->may_give_up && in->n_entries++ >= READ_MAX)
                return 1;
        if (in->search->n_entries++ >= ENTRIES_MAX)
                return -E2BIG;
        if (!may_be_meant(&in->beginnings, entry->d_name))
                return 0;
        for (size_t i = 0; i < in->globs->n; i++)
                if (component_matches(in->globs->items[i], entry->d_name)) {
                        const char type[] = {(char)('0' + entry->d_type), '\0'};

                        strbuf_add(&in->matches, type);
                        strbuf_add_bytes(&in->matches, entry->d_name, strlen(entry->d_name) + 1);
                        break;
                }
        return 0;
}

/* On what is no folder a symlink may be mounted, of which the folder that is read says nothing. */
static int stat_entry(const struct search *s, int fd, const char *name, unsigned type, struct stat *ret) {
        bool is_unread = type == DT_REG && s->asked->unread && fnmatch(s->asked->unread, name, 0) == 0;

        if (s->asked->wants_type && (type == DT_DIR || is_unread)) {
                *ret = (struct stat){.st_mode = DTTOIF(type)};
                return 0;
        }
        if (fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        /* A folder that may be read and not entered. */
        if (errno != EACCES || !s->asked->wants_type || type == DT_UNKNOWN)
                return -errno;
        *ret = (struct stat){.st_mode = DTTOIF(type)};
        return 0;
}

/* One entry: that itself, where a glob ends here, and what is below it. */
static int find_entry(struct search *s, int fd, const char *folder, const char *match,
                      const struct globs *globs) {
        const char *name = match + 1;
        _cleanup_free_ char *path = path_append(folder, name);
        _cleanup_free_ const char **rest = calloc(globs->n, sizeof(*rest));
        struct globs below = {.items = rest};
        struct stat st;
        bool is_meant = false;
        int r = 0;

        if (!path || !rest)
                return -ENOMEM;
        for (size_t i = 0; i < globs->n; i++) {
                const char *glob = globs->items[i], *slash = strchr(glob, '/');

                if (!component_matches(glob, name))
                        continue;
                is_meant |= !slash;
                if (slash)
                        rest[below.n++] = slash + 1;
        }
        if (is_meant)
                r = stat_entry(s, fd, name, (unsigned)(*match - '0'), &st);
        /* The folder may be read, and not entered. */
        if (r == -EACCES && s->asked->closed) {
                int opened = s->asked->closed(s->asked->data, folder);

                r = opened > 0   ? stat_entry(s, fd, name, (unsigned)(*match - '0'), &st)
                    : opened < 0 ? opened
                                 : r;
        }
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (is_meant)
                r = s->asked->found(s->asked->data, path, &st);
        /* A symlink is told once. */
        if (r != 0 || below.n == 0 || (is_meant && S_ISLNK(st.st_mode)))
                return r;
        return find_below(s, path, &below);
}

static int read_matches(struct search *s, const char *folder, const struct globs *globs, bool may_give_up) {
        struct reading_names in = {.search = s, .globs = globs, .may_give_up = may_give_up};
        _cleanup_close_ int fd = -EBADF;
        int r = open_name(s, folder, O_RDONLY | O_DIRECTORY, &fd);

        if (r <= 0 || fd < 0)
                return r;
        for (size_t i = 0; i < globs->n; i++)
                add_beginning(&in.beginnings, globs->items[i]);
        /* What is found may be renamed: so first the folder is read to its end. */
        r = folder_read(fd, take_entry, &in);
        if (r == 1)
                r = look_up(s, folder, globs);
        else if (in.matches.length > 0) {
                size_t n = in.matches.length;
                _cleanup_free_ char *matches = strbuf_finish(&in.matches);

                r = matches ? r : -ENOMEM;
                for (const char *match = matches; r == 0 && match < matches + n; match += strlen(match) + 1)
                        r = find_entry(s, fd, folder, match, globs);
        }
        strbuf_clear(&in.matches);
        return r;
}

static int find_below(struct search *s, const char *folder, const struct globs *globs) {
        bool has_wildcards = false;

        for (size_t i = 0; i < globs->n; i++)
                has_wildcards |= has_wildcard(globs->items[i], strcspn(globs->items[i], "/"));
        return has_wildcards || globs->n > LOOKED_UP_MAX ? read_matches(s, folder, globs, !has_wildcards)
                                                         : look_up(s, folder, globs);
}

int glob_find(int folder, char *const *globs, const struct glob_search *search) {
        struct search s = {.root = folder, .asked = search};

        return find_below(&s, "", &(struct globs){(const char **)(uintptr_t)globs, strv_length(globs)});
}
