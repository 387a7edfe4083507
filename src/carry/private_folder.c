/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See private_folder.h.  The upper folder is the command's: it is reached by descriptors, no symlink is
 * followed, and what is looked at is bounded. */
#include "private_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/remove_tree.h"
#include "kept/kept_copy.h"

#define UPPER "upper"
#define LOOK  "look"
/* Is there, where the upper folder began with the entry of that inode and change time, or was kept as it. */
#define SEEDED "seeded-%ju-%jd.%ld"
#define REASON "folder"

/* -------------------------------------------------------------- what is the same */

struct comparing {
        int with; /* the folder that is compared */
        unsigned left, depth;
};

static bool is_same_bytes(int a, int b) {
        char x[16 << 10], y[sizeof(x)];
        size_t n, m;

        do
                if (read_full(a, x, sizeof(x), &n) < 0 || read_full(b, y, sizeof(y), &m) < 0 || n != m ||
                    memcmp(x, y, n) != 0)
                        return false;
        while (n > 0);
        return true;
}

/* Whether two entries are the same plain file or symlink, by contents and by what their owner may do. */
static bool is_same_leaf(int a, int b, const char *name) {
        char x[PATH_MAX], y[PATH_MAX];
        _cleanup_close_ int from = -EBADF, with = -EBADF;
        struct stat s, t;
        ssize_t n;

        if (fstatat(a, name, &s, AT_SYMLINK_NOFOLLOW) < 0 || fstatat(b, name, &t, AT_SYMLINK_NOFOLLOW) < 0 ||
            (s.st_mode & (S_IFMT | 0100)) != (t.st_mode & (S_IFMT | 0100)) || s.st_size != t.st_size)
                return false;
        if (S_ISLNK(s.st_mode)) {
                n = readlinkat(a, name, x, sizeof(x));
                return n >= 0 && readlinkat(b, name, y, sizeof(y)) == n && memcmp(x, y, (size_t)n) == 0;
        }
        if (!S_ISREG(s.st_mode) || s.st_size > KEPT_BYTES)
                return false;
        from = openat(a, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        with = openat(b, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        return from >= 0 && with >= 0 && is_same_bytes(from, with);
}

static int open_below(int folder, const char *name) {
        return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* 0: all that is in the one folder is in the other. */
static int compare_private(void *data, int folder, const struct dirent *entry) {
        struct comparing *c = data;
        const char *name = entry->d_name;
        _cleanup_close_ int fd = -EBADF, with = -EBADF;
        int saved = c->with, r;

        if (c->left == 0 || c->depth == 0)
                return 1;
        c->left--;
        if (folder_type(folder, entry) == DT_CHR)
                return 0;
        if (folder_type(folder, entry) != DT_DIR)
                return is_same_leaf(folder, c->with, name) ? 0 : 1;
        fd = open_below(folder, name);
        with = open_below(c->with, name);
        if (fd < 0 || with < 0)
                return 1;
        c->with = with;
        c->depth--;
        r = folder_read(fd, compare_private, c);
        c->depth++;
        c->with = saved;
        return r;
}

static bool is_within(int folder, int with) {
        struct comparing c = {.with = with, .left = KEPT_FILES, .depth = KEPT_DEPTH};

        return folder_each(folder, compare_private, &c) == 0;
}

bool private_is_within(int from, const char *name, int with) {
        _cleanup_close_ int folder = open_below(from, name), other = open_below(with, name);

        return folder < 0 ? is_same_leaf(from, with, name) : other >= 0 && is_within(folder, other);
}

/* ------------------------------------------------------------ what differs from the host */

struct pruning {
        int host; /* the host's folder of that path; -EBADF: there is none */
        const char *path;
        char ***removed;
        unsigned *left, depth;
        int upper;     /* of an opaque folder */
        bool is_bound; /* there was no overlay: its marks are the command's making */
};

static bool is_opaque_folder(int fd) {
        char value;

        return fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static int add_removed(const struct pruning *p, const char *name) {
        return (*p->left)-- == 0 ? -EFBIG
                                 : strv_consume(p->removed, str_concat(p->path, *p->path ? "/" : "", name));
}

/* A folder that was made anew hides all of the host's. */
static int note_hidden_below(void *data, nsrun_unused int folder, const struct dirent *entry) {
        const struct pruning *p = data;

        return faccessat(p->upper, entry->d_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
                       ? 0
                       : add_removed(p, entry->d_name);
}

static int prune_entry(void *data, int folder, const struct dirent *entry);

static int prune_folder(const struct pruning *p, int folder, const char *name) {
        _cleanup_free_ char *path = str_concat(p->path, *p->path ? "/" : "", name);
        _cleanup_close_ int fd = open_for_removal(folder, name), host = -EBADF;
        struct pruning below = *p;
        int r;

        if (fd < 0 || !path || p->depth == 0)
                return !path ? -ENOMEM : fd < 0 ? fd : -EFBIG;
        below.host = host = p->host < 0 ? -EBADF : open_below(p->host, name);
        below.path = path;
        below.depth--;
        below.upper = fd;
        r = host >= 0 && !p->is_bound && is_opaque_folder(fd) ? folder_each(host, note_hidden_below, &below)
                                                              : 0;
        if (r >= 0)
                r = folder_each(fd, prune_entry, &below);
        /* Where nothing in it differs it is the host's. */
        if (r >= 0 && host >= 0)
                (void)unlinkat(folder, name, AT_REMOVEDIR);
        return r;
}

static int prune_entry(void *data, int folder, const struct dirent *entry) {
        const struct pruning *p = data;
        const char *name = entry->d_name;
        unsigned char type = folder_type(folder, entry);

        if (type == DT_DIR)
                return prune_folder(p, folder, name);
        if ((*p->left)-- == 0)
                return -EFBIG;
        if (type == DT_CHR) {
                (void)unlinkat(folder, name, 0);
                return p->host >= 0 && !p->is_bound ? add_removed(p, name) : 0;
        }
        if ((type != DT_REG && type != DT_LNK) || (p->host >= 0 && is_same_leaf(folder, p->host, name)))
                return unlinkat(folder, name, 0) < 0 ? -errno : 0;
        return 0;
}

/* --------------------------------------------------------------------- both ends */

static int open_layer_of(const struct private_folder *f, bool makes) {
        char name[32];

        (void)snprintf(name, sizeof(name), PLAN_PRIVATE_LAYER "%zu", f->number);
        if (makes && mkdirat(f->rundir, name, 0700) < 0)
                return -errno;
        return open_below(f->rundir, name);
}

/* kept_find(), of a folder that was copied: a file that was kept when the host had none of that name is no
 * part of it. */
static int find_kept_folder(const struct private_folder *f, struct kept *ret) {
        int kept = kept_find(f->kept_by->project, f->path, ret);
        struct stat st;

        if (kept >= 0 && (ret->is_moved || fstatat(kept, KEPT_ENTRY, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                          !S_ISDIR(st.st_mode))) {
                (void)close(kept);
                kept_clear(ret);
                return -ENOENT;
        }
        return kept;
}

/* 1, 0: there is no entry. */
static int name_seed(int kept, char to[64]) {
        struct stat st;

        if (kept < 0 || fstat(kept, &st) < 0)
                return 0;
        (void)snprintf(to, 64, SEEDED, (uintmax_t)st.st_ino, (intmax_t)st.st_ctim.tv_sec,
                       st.st_ctim.tv_nsec);
        return 1;
}

/* Makes overlayfs take a path for removed. */
static int make_whiteout(int upper, int host, const char *path) {
        _cleanup_close_ int to = fcntl(upper, F_DUPFD_CLOEXEC, 3), from = fcntl(host, F_DUPFD_CLOEXEC, 3);

        for (const char *slash; to >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
                _cleanup_free_ char *name = strndup(path, (size_t)(slash - path));
                _cleanup_close_ int parent = to, parent_from = from;
                struct stat st;

                if (!name)
                        return -ENOMEM;
                /* The host has none any more. */
                from = open_below(parent_from, name);
                if (from < 0 || fstat(from, &st) < 0) {
                        to = -EBADF;
                        return 0;
                }
                (void)mkdirat(parent, name, st.st_mode & 0777);
                to = open_below(parent, name);
        }
        return to < 0 || mknodat(to, path, S_IFCHR, makedev(0, 0)) == 0 || errno == EEXIST ? 0 : -errno;
}

int private_folder_begin(const struct private_folder *f, bool *ret_is_old) {
        struct kept k = {0};
        _cleanup_close_ int kept = find_kept_folder(f, &k), layer = -EBADF, upper = -EBADF, host = -EBADF;
        char seed[64];
        int r;

        if (kept < 0)
                return kept == -ENOMEM ? kept : 0;
        if (kept_is_old(&k)) {
                *ret_is_old = true;
                kept_clear(&k);
                return 0;
        }
        layer = open_layer_of(f, true);
        r = layer < 0 ? -errno : kept_copy(kept, KEPT_ENTRY, layer, UPPER, 0755);
        upper = r < 0 ? r : open_below(layer, UPPER);
        host = r < 0 ? r : open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        STRV_FOREACH (path, k.removed)
                if (r >= 0 && upper >= 0 && host >= 0)
                        r = make_whiteout(upper, host, *path);
        kept_clear(&k);
        /* Laid over one another, entries may be more than one may have. */
        if (r == -EFBIG)
                return remove_tree(layer, UPPER);
        return r < 0 || !name_seed(kept, seed) ? r : mkdirat(layer, seed, 0700) < 0 ? -errno : 0;
}

static bool is_kept_already(int kept, const struct kept *k, int upper, char *const *removed) {
        _cleanup_close_ int entry = kept < 0 ? -EBADF : open_below(kept, KEPT_ENTRY);
        size_t n = strv_length(removed);
        bool is = kept >= 0 && n == strv_length(k->removed);

        for (size_t i = 0; i < n && is; i++)
                is = strv_contains(k->removed, removed[i]);
        return is && entry >= 0 && is_within(upper, entry) && is_within(entry, upper);
}

static int stop_at_any(nsrun_unused void *data, nsrun_unused int folder,
                       nsrun_unused const struct dirent *entry) {
        return 1;
}

/* What is in the upper folder in the end, and differs from the host's; `removed`: likewise. */
static int keep_upper(const struct private_folder *f, int layer, const char *name, int upper,
                      bool is_too_much, char **removed) {
        struct kept k = {0};
        _cleanup_close_ int kept = find_kept_folder(f, &k);
        bool is_same = !is_too_much && is_kept_already(kept, &k, upper, removed), is_seeded;
        unsigned number = k.number;
        char seed[64];
        int r;

        /* Else another run has kept it meanwhile, and it stays. */
        is_seeded = name_seed(kept, seed) && faccessat(layer, seed, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        kept_clear(&k);
        if (is_same)
                return 0;
        if (!is_too_much && !removed && folder_each(upper, stop_at_any, NULL) == 0)
                return is_seeded ? kept_drop(f->kept_by->project, number) : 0;
        r = kept_by_put(f->kept_by,
                        &(struct kept){.path = (char *)(uintptr_t)f->path,
                                       .reason = (char *)(uintptr_t)REASON,
                                       .removed = removed,
                                       .adds = !is_seeded},
                        layer, name);
        /* What is the command's own alone is so in the end, too. */
        if (r < 0 || (kept >= 0 && !is_seeded))
                return r < 0 ? r : 1;
        close_fdp(&kept);
        kept = find_kept_folder(f, &k);
        if (name_seed(kept, seed) && is_kept_already(kept, &k, upper, removed))
                (void)mkdirat(layer, seed, 0700);
        kept_clear(&k);
        return 1;
}

static int keep_layer(const struct private_folder *f, int layer, const char *name) {
        _cleanup_close_ int upper = open_for_removal(layer, name), host = -EBADF;
        _cleanup_strv_ char **removed = NULL;
        unsigned left = KEPT_FILES;
        struct pruning p = {.path = "", .removed = &removed, .left = &left, .depth = KEPT_DEPTH};
        int r = 0;

        if (upper < 0)
                return upper == -ENOENT ? 0 : upper;
        p.host = host = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        p.is_bound = faccessat(layer, "work", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
        if (host >= 0 && !p.is_bound && is_opaque_folder(upper)) {
                p.upper = upper;
                r = folder_each(host, note_hidden_below, &p);
        }
        r = r < 0 ? r : folder_each(upper, prune_entry, &p);
        /* What is too much to be looked at is kept as it is. */
        return r < 0 && r != -EFBIG ? r : keep_upper(f, layer, name, upper, r < 0, removed);
}

int private_folder_end(const struct private_folder *f) {
        _cleanup_close_ int layer = open_layer_of(f, false);

        /* There was no overlay. */
        return layer >= 0 ? keep_layer(f, layer, UPPER) : errno == ENOENT ? 0 : -errno;
}

int private_folder_look(const struct private_folder *f) {
        _cleanup_close_ int layer = open_layer_of(f, false);
        int r = layer < 0 ? -errno : remove_tree(layer, LOOK);

        if (r >= 0)
                r = kept_copy(layer, UPPER, layer, LOOK, 0700);
        if (r >= 0)
                r = keep_layer(f, layer, LOOK);
        return r == -ENOENT ? 0 : r;
}
