/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store.  A project's folder is locked while it is written to: whoever has the lock removes what another
 * has left unfinished.  Readers take none: a number is there as a whole or not at all. */
#include "kept.h"

#include <limits.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/str.h"
#include "disk/exposed.h"
#include "disk/remove_tree.h"
#include "disk/rundir.h"
#include "kept_copy.h"

#define DRAFT ".new"
#define ABOUT "about.json"
#define PATH  "path" /* a symlink's text: that of the entry, if it is no UTF-8 */

enum {
        ABOUT_SIZE = 256 << 10,
};

/* The folder of all projects' entries, canonical, which need not exist.  -ENOENT: the environment names
 * none; -ENOMEM. */
static int kept_find_base(char **ret) {
        _cleanup_free_ char *state = NULL;
        int r = exposed_find_base(&state, NULL);

        if (r < 0)
                return r;
        *ret = path_join(state, "kept");
        return *ret ? 0 : -ENOMEM;
}

static int open_or_make(int folder, const char *name, bool makes) {
        if (makes && mkdirat(folder, name, 0700) < 0 && errno != EEXIST)
                return -errno;
        return responds_open(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* The folder of a project's entries. */
static int open_project(const char *project, bool makes) {
        _cleanup_free_ char *slug = *project == '/' ? path_slug(project) : strdup(project),
                            *below = slug ? str_concat("kept", "/", slug) : NULL;
        _cleanup_close_ int state = -EBADF, all = -EBADF;

        if (!below)
                return -ENOMEM;
        if (!makes)
                return rundir_open_in(exposed_find_state_home, below);
        state = exposed_open_base();
        if (state < 0)
                return state;
        all = open_or_make(state, "kept", true);
        return all < 0 ? all : open_or_make(all, slug, true);
}

bool kept_has(const char *project) {
        _cleanup_close_ int fd = open_project(project, false);

        return fd < 0 ? fd != -ENOENT : !folder_is_empty(fd);
}

static int lock_project(const char *project, bool makes) {
        _cleanup_close_ int fd = open_project(project, makes);
        int r;

        if (fd < 0)
                return fd;
        do
                r = flock(fd, LOCK_EX) < 0 ? -errno : 0;
        while (r == -EINTR);
        if (r >= 0)
                r = remove_tree(fd, DRAFT);
        return r < 0 ? r : TAKE_FD(fd);
}

/* --------------------------------------------------------------------- reading */

void kept_clear(struct kept *k) {
        free(k->path);
        free(k->reason);
        free(k->command);
        free(k->run);
        strv_free(k->removed);
        *k = (struct kept){0};
}

bool kept_is_old(const struct kept *k) {
        return time(NULL) - k->time > KEPT_DAYS * (time_t)86400;
}

void kept_free(struct kept *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                kept_clear(&list[i]);
        free(list);
}

static int take_text(const struct json_value *about, const char *key, char **ret) {
        const char *text = json_text(json_get(about, key));

        if (!text)
                return -EBADMSG;
        *ret = strdup(text);
        return *ret ? 0 : -ENOMEM;
}

/* What is known of the entry in a folder of the project's. */
static int read_about(int folder, struct kept *ret) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX];
        uint64_t when = 0;
        ssize_t length;
        int r = read_small_file(folder, ABOUT, O_NOFOLLOW, ABOUT_SIZE, &text);

        if (r >= 0)
                r = json_parse(&d, text, strlen(text), NULL, NULL);
        if (r >= 0)
                r = take_text(d.root, "path", &ret->path);
        if (r >= 0 && (length = readlinkat(folder, PATH, path, sizeof(path) - 1)) >= 0) {
                free(ret->path);
                ret->path = strndup(path, (size_t)length);
                r = ret->path ? 0 : -ENOMEM;
        }
        if (r >= 0)
                r = take_text(d.root, "reason", &ret->reason);
        if (r >= 0)
                r = take_text(d.root, "command", &ret->command);
        if (r >= 0)
                r = take_text(d.root, "session", &ret->run);
        if (r >= 0)
                r = json_number(json_get(d.root, "time"), &when) && when <= INT64_MAX ? 0 : -EBADMSG;
        ret->time = (time_t)when;
        ret->is_moved = json_is_true(json_get(d.root, "moved"));
        for (size_t i = 0; r >= 0 && i < json_length(json_get(d.root, "removed")); i++) {
                const char *name = json_text(json_at(json_get(d.root, "removed"), i));

                r = name ? strv_add(&ret->removed, name) : -EBADMSG;
        }
        if (r < 0)
                kept_clear(ret);
        return r;
}

/* The number that a folder's name is; 0: it is none. */
static unsigned number_of(const char *name) {
        uint64_t n = 0;

        return str_parse_number(name, false, &n) < 0 || n > INT32_MAX ? 0 : (unsigned)n;
}

struct kept_list {
        struct kept *items;
        size_t n;
        unsigned last; /* the greatest number, be it of a damaged one */
};

/* What a command has emptied, and nothing else, hides nothing that was kept before. */
static bool is_kept_folder(int fd, const struct kept *k) {
        _cleanup_close_ int entry = openat(fd, KEPT_ENTRY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return entry >= 0 && !k->is_moved && (k->removed || !folder_is_empty(entry));
}

static int list_kept_entry(void *data, int folder, const struct dirent *entry) {
        struct kept k = {.number = number_of(entry->d_name)};
        _cleanup_close_ int fd = k.number > 0 ? open_or_make(folder, entry->d_name, false) : -EBADF;
        struct kept_list *list = data;
        unsigned number = k.number;
        int r = fd < 0 ? -ENOENT : read_about(fd, &k);

        if (number > list->last)
                list->last = number;
        /* What is damaged is nothing that was kept. */
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        k.number = number;
        k.is_folder = is_kept_folder(fd, &k);
        if (ARRAY_GROW(list->items, list->n) < 0) {
                kept_clear(&k);
                return -ENOMEM;
        }
        list->items[list->n++] = k;
        return 0;
}

static int compare_kept(const void *a, const void *b) {
        const struct kept *x = a, *y = b;

        return x->number < y->number ? -1 : x->number > y->number;
}

static int list_in(int fd, struct kept_list *ret) {
        struct kept_list list = {0};
        int r = folder_each(fd, list_kept_entry, &list);

        if (r < 0) {
                kept_free(list.items, list.n);
                return r;
        }
        if (list.n > 0)
                qsort(list.items, list.n, sizeof(*list.items), compare_kept);
        *ret = list;
        return 0;
}

int kept_list(const char *project, struct kept **ret, size_t *ret_n) {
        _cleanup_close_ int fd = open_project(project, false);
        struct kept_list list = {0};
        int r = fd == -ENOENT ? 0 : fd < 0 ? fd : list_in(fd, &list);

        if (r < 0)
                return r;
        *ret = list.items;
        *ret_n = list.n;
        return 0;
}

/* Which of a project's: the last one of a path and reason, or else that of a number. */
struct kept_wanted {
        const char *path, *reason;
        bool is_folder;
        unsigned number;
};

static bool is_wanted_kept(const struct kept_wanted *w, const struct kept *k) {
        return !w->path ? k->number == w->number
                        : streq(k->path, w->path) && streq(k->reason, w->reason) &&
                                  (k->is_folder || !w->is_folder);
}

static int find_in(int fd, const struct kept_wanted *wanted, struct kept *ret) {
        struct kept_list list = {0};
        int r = list_in(fd, &list);

        if (r < 0)
                return r;
        r = -ENOENT;
        for (size_t i = list.n; i-- > 0 && r < 0;)
                if (is_wanted_kept(wanted, &list.items[i])) {
                        *ret = list.items[i];
                        list.items[i] = (struct kept){0};
                        r = 0;
                }
        kept_free(list.items, list.n);
        return r;
}

static int open_found(const char *project, const struct kept_wanted *wanted, struct kept *ret) {
        _cleanup_close_ int fd = open_project(project, false);
        struct kept k = {0};
        char name[16];
        int r = fd < 0 ? fd : find_in(fd, wanted, &k);

        if (r < 0)
                return r;
        (void)snprintf(name, sizeof(name), "%u", k.number);
        r = open_or_make(fd, name, false);
        if (r >= 0 && ret)
                *ret = k;
        else
                kept_clear(&k);
        return r;
}

int kept_find(const char *project, const char *path, const char *reason, struct kept *ret) {
        return open_found(project, &(struct kept_wanted){.path = path, .reason = reason}, ret);
}

int kept_find_folder(const char *project, const char *path, const char *reason, struct kept *ret) {
        return open_found(project, &(struct kept_wanted){path, reason, true, 0}, ret);
}

int kept_open(const char *project, unsigned number, struct kept *ret) {
        return open_found(project, &(struct kept_wanted){.number = number}, ret);
}

static int kept_add_project(void *data, nsrun_unused int folder, const struct dirent *entry) {
        return strv_add(data, entry->d_name);
}

int kept_projects(char ***ret) {
        _cleanup_free_ char *base = NULL;
        _cleanup_strv_ char **names = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = kept_find_base(&base);

        if (r >= 0)
                r = fd = open_or_make(AT_FDCWD, base, false);
        if (r >= 0)
                r = folder_each(fd, kept_add_project, &names);
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = TAKE_PTR(names);
        return 0;
}

/* --------------------------------------------------------------------- writing */

static int write_about(int folder, const struct kept *about, char **removed, bool is_moved) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *text = NULL;
        bool is_other;
        int r;

        json_add_string(&d, d.root, "path", about->path);
        is_other = d.is_other;
        d.is_other = false;
        json_add_string(&d, d.root, "reason", about->reason);
        json_add_string(&d, d.root, "command", about->command ? about->command : "");
        json_add_string(&d, d.root, "session", about->run ? about->run : "");
        json_add_number(&d, d.root, "time", (uint64_t)time(NULL));
        json_add_bool(&d, d.root, "moved", is_moved);
        json_add_strings(&d, d.root, "removed", removed);
        r = d.is_other ? -EILSEQ : json_finish(&d, true, &text, NULL);
        /* Nobody would read it. */
        if (r >= 0 && strlen(text) > ABOUT_SIZE)
                r = -EFBIG;
        if (r >= 0 && is_other && symlinkat(about->path, folder, PATH) < 0)
                r = -errno;
        if (r < 0)
                return r;
        fd = openat(folder, ABOUT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        r = fd < 0 ? -errno : write_full(fd, text, strlen(text));
        return r < 0 || fsync(fd) == 0 ? r : -errno;
}

static bool is_that(int fd, unsigned number, int folder) {
        struct stat a, b;
        char name[16];

        (void)snprintf(name, sizeof(name), "%u", number);
        return fstatat(fd, name, &a, AT_SYMLINK_NOFOLLOW) >= 0 && folder >= 0 && fstat(folder, &b) >= 0 &&
               a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Whether the draft takes an earlier one's place: what may be the user's own stays, if it is another. */
static bool is_replaced(int fd, int draft, const struct kept *about, const struct kept *earlier) {
        _cleanup_close_ int old = -EBADF;
        struct stat a, b;
        char name[16];

        if (!streq(earlier->path, about->path) || !streq(earlier->reason, about->reason))
                return false;
        if (about->earlier && *about->earlier >= 0)
                return is_that(fd, earlier->number, *about->earlier);
        (void)snprintf(name, sizeof(name), "%u", earlier->number);
        old = about->is_whole ? open_or_make(fd, name, false) : -EBADF;
        return !about->is_whole ||
               (fstatat(old, KEPT_ENTRY, &a, AT_SYMLINK_NOFOLLOW) >= 0 &&
                fstatat(draft, KEPT_ENTRY, &b, AT_SYMLINK_NOFOLLOW) >= 0 && a.st_mode == b.st_mode &&
                kept_is_within(old, KEPT_ENTRY, draft, KEPT_ENTRY) &&
                kept_is_within(draft, KEPT_ENTRY, old, KEPT_ENTRY));
}

/* Gives the draft its number: that of an earlier one which it replaces, or a new one. */
static int name_draft(int fd, int draft, const struct kept *about, unsigned *ret) {
        struct kept_list list = {0};
        unsigned number = 0;
        bool is_new = true;
        char name[16];
        size_t n;
        int r = list_in(fd, &list);

        if (r < 0)
                return r;
        for (size_t i = list.n; i-- > 0 && is_new;) {
                is_new = !is_replaced(fd, draft, about, &list.items[i]);
                number = list.items[i].number;
        }
        number = is_new ? list.last + 1 : number;
        n = list.n;
        kept_free(list.items, n);
        if (is_new && n >= KEPT_MOST)
                return -ENOSPC;
        (void)snprintf(name, sizeof(name), "%u", number);
        if (about->earlier && is_new != (*about->earlier < 0))
                return -EAGAIN;
        if (syscall(SYS_renameat2, fd, DRAFT, fd, name, is_new ? RENAME_NOREPLACE : RENAME_EXCHANGE) < 0)
                return -errno;
        *ret = number;
        return fsync(fd) < 0 ? -errno : is_new ? 0 : remove_tree(fd, DRAFT);
}

/* A folder that a command may have made; -EBADF: it is none. */
static int open_kept_folder(int folder, const char *name) {
        int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -EBADF : fd;
}

static bool has_path(int top, const char *path) {
        _cleanup_close_ int fd = top < 0 ? top : beneath_open(top, path, O_PATH | O_NOFOLLOW, 0);

        return fd >= 0;
}

static int take_from_entry(int top, const char *path) {
        const char *name = path_basename(path);
        _cleanup_free_ char *folder = strndup(path, name > path ? (size_t)(name - path - 1) : 0);
        _cleanup_close_ int fd = !folder ? -ENOMEM : beneath_open(top, folder, O_RDONLY | O_DIRECTORY, 0);

        return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd < 0 ? fd : remove_tree(fd, name);
}

/* The draft begins with a copy of the earlier folder, where the new one is to be laid over it: without what
 * that takes away.  *ret_removed: what either does, and the other doesn't bring. */
static int begin_draft(int fd, int draft, const struct kept *about, int parent, const char *name,
                       char ***ret_removed) {
        struct kept old = {0};
        _cleanup_close_ int earlier = -EBADF, entry = -EBADF, top = -EBADF;
        char number[16];
        int r = strv_copy(about->removed, ret_removed);

        if (r < 0 || !about->adds ||
            find_in(fd, &(struct kept_wanted){.path = about->path, .reason = about->reason}, &old) < 0)
                return r;
        (void)snprintf(number, sizeof(number), "%u", old.number);
        if (!old.is_moved)
                earlier = open_or_make(fd, number, false);
        if (earlier >= 0)
                r = kept_copy(KEPT_COPIED, earlier, KEPT_ENTRY, draft, KEPT_ENTRY, 0777);
        entry = r < 0 || earlier < 0 ? -EBADF : open_kept_folder(draft, KEPT_ENTRY);
        STRV_FOREACH (path, about->removed)
                if (r >= 0 && entry >= 0)
                        r = take_from_entry(entry, *path);
        top = open_kept_folder(parent, name);
        STRV_FOREACH (path, old.removed)
                if (r >= 0 && !has_path(top, *path) && !strv_contains(*ret_removed, *path))
                        r = strv_add(ret_removed, *path);
        kept_clear(&old);
        return r;
}

static int fill_draft(int fd, int draft, const struct kept *about, int parent, const char *name) {
        const enum kept_copied how = about->is_whole ? KEPT_COPIED_WHOLE : KEPT_COPIED;
        _cleanup_strv_ char **removed = NULL;
        int r = begin_draft(fd, draft, about, parent, name, &removed);

        if (r >= 0)
                r = kept_copy(how, parent, name, draft, KEPT_ENTRY, 0777);
        if (r == -EISDIR || r == -ENOTDIR || r == -ELOOP) {
                r = remove_tree(draft, KEPT_ENTRY);
                r = r < 0 ? r : kept_copy(how, parent, name, draft, KEPT_ENTRY, 0777);
        }
        if (r >= 0)
                r = write_about(draft, about, removed, false);
        if (r == -EFBIG && !about->is_whole && remove_tree(draft, KEPT_ENTRY) >= 0 &&
            write_about(draft, about, NULL, true) >= 0) {
                /* It may be in memory. */
                if (renameat(parent, name, draft, KEPT_ENTRY) >= 0)
                        r = 0;
                else if (errno == EXDEV)
                        r = kept_copy(KEPT_COPIED_LARGE, parent, name, draft, KEPT_ENTRY, 0777);
        }
        return r;
}

int kept_put(const char *project, const struct kept *about, int parent, const char *name, unsigned *ret) {
        _cleanup_close_ int fd = lock_project(project, true), draft = -EBADF;
        unsigned number = 0;
        int r;

        if (fd < 0)
                return fd == -ENOENT || fd == -ENOTDIR ? -EPERM : fd;
        draft = open_or_make(fd, DRAFT, true);
        r = draft < 0 ? draft : fill_draft(fd, draft, about, parent, name);
        if (r >= 0 && fsync(draft) < 0)
                r = -errno;
        if (r >= 0)
                r = name_draft(fd, draft, about, &number);
        if (r < 0)
                (void)remove_tree(fd, DRAFT);
        else if (ret)
                *ret = number;
        return r;
}

/* The folder in which a path is; `makes`: and those on the way that are missing, for the user alone. */
static int open_on_host(const char *path, bool makes) {
        _cleanup_close_ int above = -EBADF;
        _cleanup_free_ char *parent = path_parent(path);
        int r = parent ? beneath_open_canonical(parent, O_RDONLY | O_DIRECTORY) : -ENOMEM;

        if (r != -ENOENT || !makes)
                return r;
        above = open_on_host(parent, true);
        return above < 0 ? above : open_or_make(above, path_basename(parent), true);
}

int kept_give(int fd, const struct kept *kept, mode_t mode) {
        _cleanup_close_ int parent = open_on_host(kept->path, true),
                            entry = open_kept_folder(fd, KEPT_ENTRY);
        /* What can't be put there takes nothing away. */
        int r = parent < 0 ? parent
                           : kept_copy(KEPT_COPIED, fd, KEPT_ENTRY, parent, path_basename(kept->path), mode);

        STRV_FOREACH (name, kept->removed) {
                _cleanup_free_ char *path = str_concat(kept->path, "/", *name);
                _cleanup_close_ int folder = path ? open_on_host(path, false) : -ENOMEM;

                if (r >= 0 && !has_path(entry, *name) && folder != -ENOENT)
                        r = folder < 0 ? folder : remove_tree(folder, path_basename(path));
        }
        return r;
}

/* Takes an entry's number away as a whole before it is removed. */
static int drop_in(int fd, unsigned number) {
        char name[16];

        (void)snprintf(name, sizeof(name), "%u", number);
        if (renameat(fd, name, fd, DRAFT) < 0)
                return errno == ENOENT ? 0 : -errno;
        return remove_tree(fd, DRAFT);
}

int kept_drop(const char *project, unsigned number, int that) {
        _cleanup_close_ int fd = lock_project(project, false);

        return fd == -ENOENT                             ? 0
               : fd < 0                                  ? fd
               : that >= 0 && !is_that(fd, number, that) ? 0
                                                         : drop_in(fd, number);
}

int kept_drop_old(const char *project, void (*dropped)(void *data, const struct kept *k), void *data) {
        _cleanup_close_ int fd = lock_project(project, false);
        struct kept_list list = {0};
        int r = fd == -ENOENT ? 0 : fd < 0 ? fd : list_in(fd, &list);

        for (size_t i = 0; i < list.n && r >= 0; i++) {
                if (!kept_is_old(&list.items[i]))
                        continue;
                r = drop_in(fd, list.items[i].number);
                if (r >= 0 && dropped)
                        dropped(data, &list.items[i]);
        }
        kept_free(list.items, list.n);
        return r;
}
