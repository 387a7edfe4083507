/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walk over the upper folder and the one beneath it.  Folders yet to be looked
 * into lie on a heap, so that depth costs neither stack nor descriptors.  Reads; never writes. */
#include <fcntl.h>

#include "base/array.h"
#include "base/path.h"
#include "base/str.h"
#include "file.h"
#include "index.h"
#include "internal.h"
#include "tree.h"

/* A folder to look into. */
struct frame {
        char *path;
        bool has_upper, has_base;
        bool is_opaque;  /* opaque: what the base has here and the upper folder hasn't is deleted */
        bool is_pure;    /* new in the overlay, but the host has a folder of this name by now: only what a
                            commit of this session put there counts as deleted */
        bool has_moved;  /* the base's folder isn't the one that was there */
        bool is_foreign; /* entries of the base's folder may have come or gone */
        size_t change;   /* its own, of which this many are in the list up to it; 0: it has none */
};

struct scan {
        struct tree upper, base;
        const struct host *host;
        struct frame *todo;
        size_t n_todo;
        struct changes found;
        struct nsrun_error *err;
};

/* The number of the change that was found last if it is that of the path, else 0. */
static size_t last_change(const struct scan *s, const char *path) {
        return s->found.n > 0 && streq(s->found.list[s->found.n - 1].path, path) ? s->found.n : 0;
}

static int add_frame(struct scan *s, const struct frame *f) {
        if (ARRAY_GROW(s->todo, s->n_todo) < 0)
                return -ENOMEM;
        s->todo[s->n_todo] = *f;
        s->todo[s->n_todo].path = strdup(f->path);
        s->todo[s->n_todo].change = last_change(s, f->path);
        return s->todo[s->n_todo++].path ? 0 : -ENOMEM;
}

/* upper and base: what is on each side, or NULL. */
static int scan_add_change(struct scan *s, const char *path, enum change_kind kind, unsigned what,
                           const struct stat *upper, const struct stat *base, struct change **ret) {
        struct change *c;

        if (ARRAY_GROW(s->found.list, s->found.n) < 0)
                return -ENOMEM;
        c = &s->found.list[s->found.n];
        *c = (struct change){.kind = kind, .what = what, .path = strdup(path)};
        if (!c->path)
                return -ENOMEM;
        s->found.n++;
        if (upper) {
                c->upper = *upper;
                c->new_mode = upper->st_mode;
                c->new_size = (uint64_t)upper->st_size;
                c->is_special = S_ISREG(upper->st_mode) && (upper->st_mode & 06000) != 0;
        }
        if (base) {
                c->base = *base;
                c->old_mode = base->st_mode;
                c->old_size = (uint64_t)base->st_size;
                c->has_conflict = host_has_changed(s->host, base);
        }
        *ret = c;
        return 0;
}

/* A path that can't be looked at: listed, and not gone into. */
static int add_unreadable(struct scan *s, const char *path, const struct stat *upper,
                          const struct stat *base, int r) {
        struct change *c;
        enum change_kind kind = !base ? CHANGE_ADDED : upper ? CHANGE_MODIFIED : CHANGE_DELETED;

        if (r == -ENOMEM || scan_add_change(s, path, kind, 0, upper, base, &c) < 0)
                return -ENOMEM;
        c->error = -r;
        return 0;
}

/* Both are regular files.  What differs, or -errno. */
static int scan_compare_files(int upper_dir, int base_dir, const char *name, const struct stat *upper,
                              const struct stat *base, unsigned *what) {
        _cleanup_close_ int a = file_open(upper_dir, name), b = file_open(base_dir, name);
        int r;

        if (upper->st_size != base->st_size)
                *what |= CHANGE_CONTENT;
        if (a == -EACCES || b == -EACCES) {
                /* A file without read permission can't be compared: another mtime counts as another content,
                 * though its owner can set the mtime.  So does what a commit may put there as a whole: a
                 * file that can be read now, or has more names, of which another may be committed. */
                if ((*what & CHANGE_MTIME) || a >= 0 || upper->st_nlink > 1)
                        *what |= CHANGE_CONTENT;
                if (a >= 0)
                        *what |= CHANGE_XATTR;
                return 0;
        }
        if (a < 0 || b < 0)
                return a < 0 ? a : b;
        r = (*what & CHANGE_CONTENT) ? 0 : file_same_content(a, b);
        if (r == 0)
                *what |= CHANGE_CONTENT;
        if (r >= 0)
                r = file_same_attributes(a, b);
        if (r == 0)
                *what |= CHANGE_XATTR;
        return r < 0 ? r : 0;
}

static int scan_compare_links(int upper_dir, int base_dir, const char *name, unsigned *what) {
        _cleanup_free_ char *a = NULL, *b = NULL;
        int r = file_link_text(upper_dir, name, &a);

        if (r >= 0)
                r = file_link_text(base_dir, name, &b);
        if (r >= 0 && !streq(a, b))
                *what |= CHANGE_CONTENT;
        return r;
}

/* Whether a mode makes a difference.  A setuid or setgid bit that is new does not: no
 * commit would set it.  One that is gone does.  Folders inherit theirs. */
static bool modes_differ(mode_t upper, mode_t base) {
        if (S_ISDIR(upper))
                return ((upper ^ base) & 01777) != 0;
        return ((upper ^ base) & 0777) != 0 || (base & ~upper & 06000) != 0;
}

static int compare_entry(struct scan *s, const struct frame *f, const char *name, const char *path, int u,
                         int b, const struct stat *upper, const struct stat *base) {
        unsigned what = 0;
        struct change *c;
        int r = 0;

        if (S_ISDIR(upper->st_mode) && S_ISDIR(base->st_mode))
                return 0; /* compared when they are looked into */
        if ((upper->st_mode & S_IFMT) != (base->st_mode & S_IFMT))
                what = CHANGE_TYPE;
        else if (!S_ISLNK(upper->st_mode)) {
                if (modes_differ(upper->st_mode, base->st_mode))
                        what |= CHANGE_MODE;
                if (S_ISREG(upper->st_mode) && (upper->st_mtim.tv_sec != base->st_mtim.tv_sec ||
                                                upper->st_mtim.tv_nsec != base->st_mtim.tv_nsec))
                        what |= CHANGE_MTIME;
        }
        if (what & CHANGE_TYPE)
                ;
        else if (S_ISREG(upper->st_mode))
                r = scan_compare_files(u, b, name, upper, base, &what);
        else if (S_ISLNK(upper->st_mode))
                r = scan_compare_links(u, b, name, &what);
        if (r < 0 || what == 0)
                return r;
        r = scan_add_change(s, path, CHANGE_MODIFIED, what, upper, base, &c);
        if (r >= 0 && f->has_moved)
                c->has_conflict = true;
        return r;
}

/* A whiteout is a device 0/0; or, in a folder marked so, an empty file marked so (6.7). */
static bool is_whiteout(int dir, const char *name, const struct stat *st, bool has_marked_files) {
        _cleanup_close_ int fd = -EBADF;
        char value[8];

        if (S_ISCHR(st->st_mode) && st->st_rdev == 0)
                return true;
        if (!has_marked_files || !S_ISREG(st->st_mode) || st->st_size != 0)
                return false;
        fd = file_open(dir, name);
        return fd >= 0 && file_overlay_mark(fd, "whiteout", value, sizeof(value)) >= 0;
}

/* 'y': opaque; 'x': has whiteouts that are files; 0: neither; -errno. */
static int opaque_mark(struct scan *s, const char *path, int fd) {
        char value[8];
        ssize_t n = file_overlay_mark(fd, "opaque", value, sizeof(value));

        if (n < 0 && n != -ENODATA)
                return (int)n;
        if (file_overlay_mark(fd, "redirect", NULL, 0) >= 0)
                return error_set(s->err, NSRUN_STAGE_OVERLAY, -EOPNOTSUPP, path,
                                 "the overlay has a redirected folder, which none of nsrun's has", NULL);
        return n == 1 ? value[0] : 0;
}

/* What is added, but was copied up, is no new thing: it was renamed (rename.c looks for that,
 * and no folder can be), or the host's has been removed since. */
static int note_origin(struct scan *s, const struct frame *f, int dir, const char *name, struct change *c) {
        const bool is_folder = S_ISDIR(c->new_mode);
        _cleanup_close_ int fd = -EBADF;

        if (!is_folder && !S_ISREG(c->new_mode))
                return 0;
        fd = is_folder ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                       : file_open(dir, name);
        if (fd < 0 || file_has_attributes(fd) == 0)
                return 0;
        if (file_overlay_mark(fd, "metacopy", NULL, 0) >= 0)
                return error_set(s->err, NSRUN_STAGE_OVERLAY, -EOPNOTSUPP, c->path,
                                 "the overlay has a file without its content, which none of nsrun's has",
                                 NULL);
        /* In a user namespace user.overlay.origin is empty: it tells that the file was copied up, not from
         * where. */
        if (file_overlay_mark(fd, "origin", NULL, 0) < 0)
                return 0;
        c->has_conflict = is_folder || (f->has_base && (f->is_foreign || f->has_moved));
        return 0;
}

static int visit_upper_entry(struct scan *s, const struct frame *f, const char *name, const char *path,
                             int u, int b, const struct stat *upper, const struct stat *base) {
        struct frame below = {.path = (char *)path, .has_upper = S_ISDIR(upper->st_mode)};
        struct change *c;
        int r;

        if (base) {
                r = compare_entry(s, f, name, path, u, b, upper, base);
                below.has_base = S_ISDIR(base->st_mode);
                below.is_opaque = f->is_opaque;
                below.has_moved = f->has_moved || (below.has_base && host_has_moved(s->host, base));
                below.is_foreign = below.has_base && host_has_new_entries(s->host, base);
        } else {
                r = scan_add_change(s, path, CHANGE_ADDED, 0, upper, NULL, &c);
                if (r >= 0)
                        r = note_origin(s, f, u, name, c);
        }
        if (r >= 0 && (below.has_upper || below.has_base))
                r = add_frame(s, &below);
        return r;
}

static int visit_deleted(struct scan *s, const struct frame *f, const char *path, const struct stat *base) {
        struct frame below = {.path = (char *)path, .has_base = true, .has_moved = f->has_moved};
        struct change *c;
        int r = scan_add_change(s, path, CHANGE_DELETED, 0, NULL, base, &c);

        if (r < 0)
                return r;
        c->has_conflict |= f->has_moved;
        if (!S_ISDIR(base->st_mode))
                return 0;
        below.has_moved |= host_has_moved(s->host, base);
        return add_frame(s, &below);
}

/* One name of either side. */
static int visit_name(struct scan *s, const struct frame *f, const char *name, int u, int b,
                      bool is_in_upper, bool has_marked_files) {
        _cleanup_free_ char *path = path_append(f->path, name);
        struct stat upper, base;
        bool has_base;
        int r;

        if (!path)
                return -ENOMEM;
        if (is_in_upper && fstatat(u, name, &upper, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        has_base = b >= 0 && fstatat(b, name, &base, AT_SYMLINK_NOFOLLOW) == 0;
        if (!is_in_upper)
                return has_base && (!f->is_pure || host_is_ours(s->host, &base))
                               ? visit_deleted(s, f, path, &base)
                               : 0;
        if (is_whiteout(u, name, &upper, has_marked_files))
                return has_base ? visit_deleted(s, f, path, &base) : 0;
        if (strlen(path) > TREE_PATH_MAX)
                return add_unreadable(s, path, &upper, has_base ? &base : NULL, -ENAMETOOLONG);
        r = visit_upper_entry(s, f, name, path, u, b, &upper, has_base ? &base : NULL);
        if (r == -ENOMEM || r == -EOPNOTSUPP || r >= 0 || r == -ENOENT)
                return r == -ENOENT ? 0 : r;
        return add_unreadable(s, path, &upper, has_base ? &base : NULL, r);
}

/* The metadata of a folder that both sides have. */
static int compare_folders(struct scan *s, const struct frame *f, int u, int b) {
        struct stat upper, base;
        unsigned what = 0;
        struct change *c;
        int r;

        if (fstat(u, &upper) < 0 || fstat(b, &base) < 0)
                return -errno;
        if (modes_differ(upper.st_mode, base.st_mode))
                what |= CHANGE_MODE;
        r = file_same_attributes(u, b);
        if (r < 0)
                return r;
        if (r == 0)
                what |= CHANGE_XATTR;
        if (what == 0)
                return 0;
        r = scan_add_change(s, f->path, CHANGE_MODIFIED, what, &upper, &base, &c);
        if (r >= 0)
                c->has_conflict |= f->has_moved;
        return r;
}

/* Everything in the upper folder; then what the base alone has, where that is hidden. */
static int visit_names(struct scan *s, const struct frame *f, int u, int b, bool has_marked_files) {
        _cleanup_strv_ char **ours = NULL, **theirs = NULL;
        int r = u >= 0 ? tree_names(u, &ours) : 0;

        if (r >= 0 && b >= 0 && (f->is_opaque || f->is_pure || u < 0))
                r = tree_names(b, &theirs);
        for (char **name = ours; r >= 0 && name && *name; name++)
                r = visit_name(s, f, *name, u, b, true, has_marked_files);
        for (char **name = theirs, **other = ours; r >= 0 && name && *name; name++) {
                while (other && *other && strcmp(*other, *name) < 0)
                        other++;
                if (!other || !*other || !streq(*other, *name))
                        r = visit_name(s, f, *name, u, b, false, false);
        }
        return r;
}

static int visit(struct scan *s, struct frame *f) {
        int u = -EBADF, b = -EBADF, mark = 0, r = 0;

        if (f->has_upper) {
                u = tree_folder(&s->upper, f->path);
                mark = u < 0 ? u : opaque_mark(s, f->path, u);
                if (mark < 0)
                        return mark;
        }
        if (f->has_base) {
                b = tree_folder(&s->base, f->path);
                if (b < 0)
                        return b;
        }
        if (mark == 'y')
                f->is_opaque = true;
        /* The folder was new in the overlay, so overlayfs makes no whiteouts in it, even where a commit has
         * put the same folder on the host since. */
        f->is_pure =
                u >= 0 && b >= 0 && *f->path && !f->is_opaque && file_overlay_mark(u, "origin", NULL, 0) < 0;
        if (u >= 0 && b >= 0)
                r = compare_folders(s, f, u, b);
        return r < 0 ? r : visit_names(s, f, u, b, mark == 'x');
}

/* A folder that can't be read, or has gone since it was seen. */
static int visit_failed(struct scan *s, const struct frame *f, int r) {
        struct stat upper, base;
        bool has_upper = f->has_upper && tree_stat(&s->upper, f->path, &upper) >= 0;
        bool has_base = f->has_base && tree_stat(&s->base, f->path, &base) >= 0;
        size_t change;

        if (r == -ENOENT || (!has_upper && !has_base))
                return 0;
        if (*f->path == '\0')
                return r;
        change = f->change > 0 ? f->change : last_change(s, f->path);
        if (change > 0) {
                s->found.list[change - 1].error = -r;
                return 0;
        }
        return add_unreadable(s, f->path, has_upper ? &upper : NULL, has_base ? &base : NULL, r);
}

static int scan_walk(struct scan *s) {
        struct stat st;
        int r;

        if (fstat(s->base.root, &st) < 0)
                return -errno;
        r = add_frame(s, &(struct frame){.path = (char *)"",
                                         .has_upper = true,
                                         .has_base = true,
                                         .is_foreign = host_has_new_entries(s->host, &st)});
        while (r >= 0 && s->n_todo > 0) {
                struct frame f = s->todo[--s->n_todo];

                r = visit(s, &f);
                if (r < 0 && r != -ENOMEM && r != -EOPNOTSUPP)
                        r = visit_failed(s, &f, r);
                free(f.path);
        }
        return r;
}

static int compare_changes(const void *a, const void *b) {
        const struct change *x = a, *y = b;

        return tree_compare(x->path, y->path);
}

static void scan_clear(struct scan *s) {
        tree_forget(&s->upper);
        tree_forget(&s->base);
        while (s->n_todo > 0)
                free(s->todo[--s->n_todo].path);
        free(s->todo);
        changes_clear(&s->found);
}

void changes_clear(struct changes *c) {
        for (size_t i = 0; i < c->n; i++) {
                free(c->list[i].path);
                free(c->list[i].from);
        }
        free(c->list);
        *c = (struct changes){0};
}

static void changes_sort(struct changes *c) {
        if (c->n > 0)
                qsort(c->list, c->n, sizeof(*c->list), compare_changes);
}

int scan_with(const struct changes_layer *layer, const struct host *host, struct changes *ret,
              struct nsrun_error *err) {
        _cleanup_(scan_clear) struct scan s = {
                .upper = {.root = layer->upper_fd, .fd = -EBADF},
                .base = {.root = layer->base_fd, .fd = -EBADF},
                .host = host,
                .err = err,
        };
        int r = scan_walk(&s);

        if (r < 0)
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_OVERLAY, r, NULL,
                                                "the overlay's changes can't be looked at", NULL);
        changes_sort(&s.found);
        for (size_t i = 0; i < s.found.n; i++) {
                struct change *c = &s.found.list[i];

                if (c->has_conflict && c->kind == CHANGE_MODIFIED && streq(c->path, INDEX_PATH))
                        c->has_conflict = !index_is_remembered(layer->base_fd, layer->record_fd);
        }
        r = changes_pair(layer, &s.found);
        if (r < 0)
                return error_oom(err);
        *ret = s.found;
        s.found = (struct changes){0};
        return 0;
}

int changes_scan(const struct changes_layer *layer, struct changes *ret, struct nsrun_error *err) {
        _cleanup_host_ struct host host = {0};
        int r = host_load(layer->record_fd, &layer->since, &host);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, r, NULL,
                                 "the session's record of commits can't be read", NULL);
        return scan_with(layer, &host, ret, err);
}
