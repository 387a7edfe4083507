/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which rows of the table of toolchain folders (toolchains.inc) are on this host.  Only folders that
 * exist are used, so that nobody gets an empty ~/.rustup.  Every run asks, so that a home folder is
 * listed once and a row costs a system call only where its name is in the list. */
#include "toolchains.h"

#include <fnmatch.h>

#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/str.h"
#include "glob.h"

/* A row is a letter and two texts, and each thing that is said of it a letter and its texts: every text ends
 * with a NUL.  There are no pointers, which every start would relocate. */
#define READABLE(tool, path)   "r" tool "\0" path "\0"
#define OVERLAY(tool, path)    "o" tool "\0" path "\0"
#define MOVED(variable, below) "m" variable "\0" below "\0"
#define NEEDS(name)            "n" name "\0"
#define UNLESS(names)          "u" names "\0"
#define A_FILE                 "f\0"
#define BESIDE(files)          "b" files "\0"

static const char table[] =
#include "toolchains.inc"
        ;

static const char *table_take(const char **at) {
        const char *text = *at;

        *at += strlen(text) + 1;
        return text;
}

bool toolchains_next(const char **at, struct toolchain_entry *ret) {
        size_t n = 0;

        if (!*at)
                *at = table;
        if (!**at)
                return false;
        *ret = (struct toolchain_entry){.access = **at == 'o' ? TOOLCHAIN_OVERLAY : TOOLCHAIN_READABLE};
        ret->tool = table_take(at) + 1;
        ret->path = **at ? *at : NULL;
        for ((void)table_take(at); **at && !strchr("ro", **at);) {
                const char *text = table_take(at);

                if (*text == 'm')
                        ret->moved[n++] = (struct toolchain_move){text + 1, table_take(at)};
                else if (*text == 'f')
                        ret->is_file = true;
                else
                        *(*text == 'n'   ? &ret->needs
                          : *text == 'u' ? &ret->unless
                                         : &ret->beside) = text + 1;
        }
        return true;
}

/* Variables whose value is a list of folders, of which a tool writes to the first. */
static const char *const list_variables[] = {"GOPATH", "JULIA_DEPOT_PATH", "R_LIBS_USER"};

/* ------------------------------------------------------------- what a folder holds */

/* The folders that are listed: most rows lie directly in one of them.  The lists are made when a row
 * first needs them; a folder must come after the one that it lies in. */
static const char *const listed[] = {"", ".cache", ".local/share"};

struct walk {
        const struct toolchain_host *host;
        struct name_list lists[ARRAY_SIZE(listed)];
        bool is_listed[ARRAY_SIZE(listed)];
        char *missing; /* the first two components of the last absolute row that isn't there */
        const struct toolchain_entry *entry;
        const char *variable, *base;
        bool is_canonical; /* the path that is looked at */
        int (*found)(void *data, const struct toolchain_place *place);
        void *data;
};

/* What the lists tell of a place below the home folder. */
struct listed_place {
        unsigned char type;   /* DT_*; DT_UNKNOWN: it is to be looked for */
        bool is_in_canonical; /* its folder has no symlink on the way */
};

/* Whether `below`, relative to the home folder, may exist by the lists: its components down to the first
 * folder that isn't listed.  -ENOMEM. */
static int may_exist(struct walk *w, const char *below, struct listed_place *ret) {
        *ret = (struct listed_place){.type = DT_UNKNOWN};
        for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
                size_t n = strlen(listed[i]), length;
                const char *name = below + n + (n > 0);
                const struct name_list *list;
                int type, r = 0;

                if (n > 0 && (strncmp(below, listed[i], n) != 0 || below[n] != '/'))
                        continue;
                length = strcspn(name, "/");
                if (memchr(name, '*', length))
                        return 1;
                if (!w->is_listed[i] && !(i == 0 && w->host->home_names)) {
                        _cleanup_free_ char *path = path_join(w->host->home, n > 0 ? listed[i] : ".");

                        r = path ? name_list_read(path, NAME_LIST_USUAL, &w->lists[i]) : -ENOMEM;
                        w->is_listed[i] = true;
                }
                if (r == -ENOMEM)
                        return r;
                list = i == 0 && w->host->home_names ? w->host->home_names : &w->lists[i];
                type = name_list_find(list, name, length);
                if (type < 0)
                        return 0;
                /* Of what lies in a folder that isn't listed, that one's type is known. */
                if (!name[length])
                        *ret = (struct listed_place){(unsigned char)type, list->is_canonical};
                else if (type == DT_DIR && !strchr(name + length + 1, '/'))
                        ret->is_in_canonical = list->is_canonical;
        }
        return 1;
}

/* --------------------------------------------------------------------- one place */

static int stop_at_first(void *data, nsrun_unused const char *name, nsrun_unused const struct stat *st) {
        *(bool *)data = true;
        return -EEXIST;
}

/* Whether the folder holds what one of the globs in `globs` names, or what can't be looked at. */
static int holds(const char *path, const char *glob, size_t length) {
        _cleanup_free_ char *copy = strndup(glob, length), *name = NULL;
        char *globs[] = {copy, NULL};
        _cleanup_close_ int fd = -EBADF;
        bool is_held = false;

        if (!copy)
                return -ENOMEM;
        if (!strchr(copy, '*')) {
                name = path_join(path, copy);
                fd = name ? responds_open(AT_FDCWD, name, O_PATH | O_NOFOLLOW, 0) : -ENOMEM;
                /* Any other error than these two leaves open whether the file exists. */
                return fd == -ENOMEM || fd == -ETIMEDOUT ? fd : fd != -ENOENT && fd != -ENOTDIR;
        }
        fd = responds_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        return fd == -ETIMEDOUT ? fd
                                : fd < 0 ||
                                          glob_find(fd, globs,
                                                    &(struct glob_search){.found = stop_at_first,
                                                                          .wants_type = true,
                                                                          .data = &is_held}) < 0 ||
                                          is_held;
}

static int tell_place(const struct walk *w, const char *path, enum toolchain_state state,
                      const char *detail) {
        const struct toolchain_place place = {
                .entry = w->entry,
                .path = path,
                .is_canonical = w->is_canonical,
                .variable = w->variable,
                .base = w->base,
                .state = state,
                .detail = detail,
        };

        return w->found(w->data, &place);
}

/* Tells of what is there. */
static int tell_present(const struct walk *w, const char *path, unsigned mode) {
        const struct toolchain_entry *entry = w->entry;

        if (entry->is_file ? !S_ISREG(mode) : !S_ISDIR(mode))
                return tell_place(w, path, TOOLCHAIN_NOT_A_FOLDER, NULL);
        if (entry->needs) {
                int r = holds(path, entry->needs, strlen(entry->needs));

                if (r <= 0)
                        return r < 0 ? r : tell_place(w, path, TOOLCHAIN_NOT_ITSELF, entry->needs);
        }
        for (const char *glob = entry->unless; glob && *glob;) {
                size_t n = strcspn(glob, " ");
                int r = holds(path, glob, n);

                if (r > 0) {
                        _cleanup_free_ char *name = strndup(glob, n);

                        return name ? tell_place(w, path, TOOLCHAIN_HOLDS, name) : -ENOMEM;
                }
                if (r < 0)
                        return r;
                glob += n + strspn(glob + n, " ");
        }
        return tell_place(w, path, TOOLCHAIN_FOUND, NULL);
}

/* Whether a variable promises that `path` is there: not one that many tools go by, nor one whose folder is
 * there and just lacks a part. */
static bool is_promised(const struct walk *w, const char *path) {
        return w->variable && !startswith(w->variable, "XDG_") &&
               (streq(w->base, path) || access(w->base, F_OK) < 0);
}

static int look_at(struct walk *w, const char *path, const struct listed_place *known) {
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = (unsigned)DTTOIF(known->type);
        int r = 0;

        w->is_canonical = known->is_in_canonical && (known->type == DT_DIR || known->type == DT_REG);
        if (!w->is_canonical) {
                r = known->is_in_canonical ? responds_below(w->host->home, path) : 0;
                if (r >= 0)
                        r = known->is_in_canonical ? path_canonical_in(path, &canonical, &mode)
                                                   : path_canonical(path, &canonical, &mode);
                w->is_canonical = r >= 0 && streq(canonical, path);
        }
        if (r >= 0 && (r = tell_present(w, path, mode)) != -ETIMEDOUT)
                return r;
        if (r == -ENOENT || r == -ENOTDIR)
                return is_promised(w, path) ? tell_place(w, path, TOOLCHAIN_NOWHERE, NULL) : 0;
        if (r == -ENOMEM)
                return r;
        return tell_place(w, path, r == -ETIMEDOUT ? TOOLCHAIN_SILENT : TOOLCHAIN_UNREADABLE, NULL);
}

static const struct listed_place unlisted = {.type = DT_UNKNOWN};

enum {
        MATCHED_MOST = 100000
}; /* names of a folder among which a star's are looked for */

/* `path` has a star in its last component. */
static int look_at_matches(struct walk *w, const char *path) {
        _cleanup_name_list_ struct name_list names = {0};
        _cleanup_free_ char *folder = path_parent(path);
        int r = folder ? name_list_read(folder, MATCHED_MOST, &names) : -ENOMEM;

        if (r == -ETIMEDOUT)
                return tell_place(w, folder, TOOLCHAIN_SILENT, NULL);
        for (size_t i = 0; i < names.n && r == 0; i++) {
                _cleanup_free_ char *match = NULL;

                if (fnmatch(path_basename(path), names.names[i], 0) != 0)
                        continue;
                match = path_join(folder, names.names[i]);
                r = match ? look_at(w, match, &unlisted) : -ENOMEM;
        }
        return r;
}

static int look_at_all(struct walk *w, const char *path, const struct listed_place *known) {
        return strchr(path_basename(path), '*') ? look_at_matches(w, path) : look_at(w, path, known);
}

/* --------------------------------------------------------------------- one row */

static bool is_list(const char *variable) {
        return STR_IS_ANY(variable, list_variables);
}

/* Finds the first variable of the row that is set.  0: none is. */
static int find_move(const struct walk *w, const struct toolchain_move **ret, char **ret_base) {
        const struct toolchain_host *host = w->host;

        for (size_t i = 0; i < TOOLCHAIN_MOVES && w->entry->moved[i].variable; i++) {
                const struct toolchain_move *move = &w->entry->moved[i];
                const char *value = host->variable(host->data, move->variable);

                if (!value || !*value || (is_list(move->variable) && *value == ':'))
                        continue;
                *ret = move;
                *ret_base = strndup(value, is_list(move->variable) ? strcspn(value, ":") : strlen(value));
                return *ret_base ? 1 : -ENOMEM;
        }
        return 0;
}

/* Looks where a variable says.  1: it says what the table says. */
static int look_where_moved(struct walk *w, const struct toolchain_move *move, const char *base,
                            const char *usual) {
        _cleanup_free_ char *place = NULL, *normal = NULL;
        int r;

        w->variable = move->variable;
        w->base = base;
        if (!path_is_absolute(base)) {
                r = tell_place(w, base, TOOLCHAIN_NOT_ABSOLUTE, NULL);
        } else {
                normal = path_normalise(base);
                place = normal ? path_join(normal, *move->below ? move->below : ".") : NULL;
                if (!place)
                        return -ENOMEM;
                w->base = normal;
                r = usual && streq(place, usual) ? 1 : look_at_all(w, place, &unlisted);
        }
        w->variable = w->base = NULL;
        return r;
}

/* Whether an absolute row of the table begins like the last one that isn't there; else remembers it if
 * it isn't there itself. */
static bool lies_in_missing(struct walk *w, const char *path) {
        size_t n = strcspn(path + 1, "/") + 1;
        _cleanup_free_ char *top = NULL, *canonical = NULL;

        if (!path[n])
                return false;
        n += strcspn(path + n + 1, "/") + 1;
        if (w->missing && path_is_beneath(path, w->missing))
                return true;
        top = strndup(path, n);
        if (!top || path_canonical(top, &canonical, NULL) != -ENOENT)
                return false;
        free(w->missing);
        w->missing = TAKE_PTR(top);
        return true;
}

static int look_for_entry(struct walk *w) {
        const struct toolchain_entry *entry = w->entry;
        const char *below = entry->path ? startswith(entry->path, "~/") : NULL, *home = w->host->home;
        _cleanup_free_ char *usual = NULL, *base = NULL;
        const struct toolchain_move *move = NULL;
        struct listed_place known = unlisted;
        int r = home ? find_move(w, &move, &base) : 0;

        if (r < 0 || (!move && (!entry->path || (below && !home))))
                return r;
        if (!move && below) {
                r = may_exist(w, below, &known);
                if (r <= 0)
                        return r;
        }
        if (entry->path) {
                usual = below ? home ? path_join(home, below) : NULL : strdup(entry->path);
                if (!usual)
                        return -ENOMEM;
        }
        if (move) {
                r = look_where_moved(w, move, base, usual);
                if (r <= 0)
                        return r;
        }
        if (below && move) {
                r = may_exist(w, below, &known);
                if (r <= 0)
                        return r;
        }
        return !below && lies_in_missing(w, usual) ? 0 : look_at_all(w, usual, &known);
}

static void walk_end(struct walk *w) {
        for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
                name_list_clear(&w->lists[i]);
        free(w->missing);
}

int toolchains_each(const struct toolchain_host *host,
                    int (*found)(void *data, const struct toolchain_place *place), void *data) {
        struct toolchain_entry entry;
        _cleanup_(walk_end) struct walk w = {.host = host, .entry = &entry, .found = found, .data = data};
        int r = 0;

        for (const char *at = NULL; r == 0 && toolchains_next(&at, &entry);)
                r = look_for_entry(&w);
        return r;
}

int toolchains_find(const struct toolchain_host *host, const struct toolchain_entry *entry,
                    int (*found)(void *data, const struct toolchain_place *place), void *data) {
        _cleanup_(walk_end) struct walk w = {.host = host, .entry = entry, .found = found, .data = data};

        return look_for_entry(&w);
}

bool toolchains_is_linked(const char *home, const char *path, const char *canonical) {
        const char *below = home ? path_below(path, home) : NULL;
        _cleanup_free_ char *real = NULL, *plain = NULL;

        if (!below || !*below || streq(path, canonical) || path_canonical(home, &real, NULL) < 0)
                return false;
        plain = path_join(real, below);
        return !plain || !streq(plain, canonical);
}
