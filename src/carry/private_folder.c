/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See private_folder.h.  The upper folder is the command's: it is reached by descriptors, no symlink is
 * followed, and what is looked at is bounded. */
#include "private_folder.h"

#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/remove_tree.h"
#include "host/walk.h"
#include "kept/kept_copy.h"
#include "killed.h"

/* ------------------------------------------------------ hidden names */

/* What is kept aside may have names that a run hides. */

struct kept_names {
        const struct nsrun_plan *plan;
        const char *path; /* of the folder that is looked at */
        char **globs;     /* as walk_normalise() has them */
};

/* Globs are of each folder that is shown. */
static bool is_named_hidden(const struct kept_names *n, const char *path) {
        STRV_FOREACH (glob, n->plan->hide)
                if (path_is_beneath(path, *glob))
                        return true;
        for (size_t i = 0; i < n->plan->n_ops; i++) {
                const struct plan_op *op = &n->plan->ops[i];
                const char *below = (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY) && op->is_directory
                                            ? path_below(path, op->source)
                                            : NULL;

                STRV_FOREACH (glob, n->globs)
                        if (below && *below && walk_covers(*glob, below))
                                return true;
        }
        return false;
}

/* 1: something is hidden. */
static int look_at_name(void *data, int folder, const struct dirent *entry) {
        const struct kept_names *n = data;
        _cleanup_free_ char *path = path_join(n->path, entry->d_name);
        struct kept_names below = *n;
        _cleanup_close_ int fd = -EBADF;

        if (!path)
                return -ENOMEM;
        if (is_named_hidden(n, path))
                return -ESTALE;
        below.path = path;
        fd = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? 0 : folder_each(fd, look_at_name, &below);
}

/* Whether --hide names something in an entry's open folder (kept/kept.h), or of `removed`, which would be at
 * and below `path`; true also where that can't be known. */
static bool kept_has_hidden(const struct nsrun_plan *plan, const char *path, int kept,
                            char *const *removed) {
        struct kept_names n = {.plan = plan, .path = path};
        _cleanup_close_ int entry = -EBADF;
        int r = 0;

        STRV_FOREACH (glob, plan->hide) {
                char *normal = NULL;

                if (r >= 0)
                        r = walk_normalise(*glob, &normal);
                if (r >= 0)
                        r = strv_consume(&n.globs, normal);
        }
        STRV_FOREACH (name, removed) {
                _cleanup_free_ char *gone = path_join(path, *name);

                if (!gone || (n.globs && is_named_hidden(&n, gone)))
                        r = -ESTALE;
        }
        if (n.globs && r >= 0) {
                r = entry = openat(kept, KEPT_ENTRY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (r >= 0)
                        r = folder_each(entry, look_at_name, &n);
        }
        strv_free(n.globs);
        return r < 0;
}

#define UPPER "upper"
#define LOOK  "look"
#define WORK  "work" /* is there, where the layer is an overlay's (boundary/mount_overlay.c) */
/* A symlink whose text is the number, inode and change time of the entry with which the upper folder began,
 * or as which it was kept. */
#define SEED   "seed"
#define PLACED "placed" /* is there, where the host had no such folder, */
#define FIRST  "first"  /* and what the upper folder was when that was last looked at */
#define REASON "folder" /* why it is kept aside, but of that */

static int open_below(int folder, const char *name) {
        return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
        r = host >= 0 && !p->is_bound && kept_is_opaque(fd) ? folder_each(host, note_hidden_below, &below)
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
        if ((type != DT_REG && type != DT_LNK) ||
            (p->host >= 0 && kept_is_within(folder, name, p->host, name)))
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

/* `layer`: -EBADF where there is none yet. */
static const char *reason_of(int layer) {
        return layer >= 0 && faccessat(layer, PLACED, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? KEPT_PROTECTED
                                                                                      : REASON;
}

/* Whether there is an entry. */
static bool describe_seed(int kept, unsigned number, char to[96]) {
        struct stat st;

        if (kept < 0 || fstat(kept, &st) < 0)
                return false;
        (void)snprintf(to, 96, "%u %ju %jd.%ld", number, (uintmax_t)st.st_ino, (intmax_t)st.st_ctim.tv_sec,
                       st.st_ctim.tv_nsec);
        return true;
}

static int mark_seed(int layer, int kept, unsigned number) {
        char text[96];

        (void)unlinkat(layer, SEED, 0);
        return describe_seed(kept, number, text) && symlinkat(text, layer, SEED) < 0 ? -errno : 0;
}

/* The entry with which the upper folder began, if that is as it was.  -ENOENT. */
static int find_seed(const struct private_folder *f, int layer, struct kept *ret) {
        char text[96] = "", now[96];
        int kept = readlinkat(layer, SEED, text, sizeof(text) - 1) < 0
                           ? -ENOENT
                           : kept_open(f->kept_by->project, (unsigned)strtoul(text, NULL, 10), ret);

        if (kept < 0 || (describe_seed(kept, ret->number, now) && streq(now, text)))
                return kept;
        (void)close(kept);
        kept_clear(ret);
        return -ENOENT;
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

/* The upper folder begins as the entry `kept`; `is_placed`: the host had none. */
static int fill_layer(const struct private_folder *f, int kept, const struct kept *k, bool is_placed) {
        _cleanup_close_ int layer = open_layer_of(f, true), upper = -EBADF, host = -EBADF;
        int r = layer < 0 || mkdirat(layer, WORK, 0700) < 0 ||
                                (is_placed && mkdirat(layer, PLACED, 0700) < 0)
                        ? -errno
                        : kept_copy(KEPT_COPIED, kept, KEPT_ENTRY, layer, UPPER, 0777);

        upper = r < 0 ? r : open_below(layer, UPPER);
        host = r < 0 ? r : beneath_open_canonical(f->path, O_RDONLY | O_DIRECTORY);
        STRV_FOREACH (path, k->removed)
                if (r >= 0 && upper >= 0 && host >= 0)
                        r = make_whiteout(upper, host, *path);
        /* Laid over one another, entries may be more than one may have. */
        if (r == -EFBIG)
                return remove_tree(layer, UPPER);
        if (r >= 0 && is_placed)
                r = kept_copy(KEPT_COPIED, layer, UPPER, layer, FIRST, 0777);
        return r < 0 ? r : mark_seed(layer, kept, k->number);
}

/* The placeholder appears as one. */
static int put_placeholder(const struct private_folder *f, const char *rundir, mode_t mode) {
        _cleanup_close_ int parent = beneath_open_parent(f->path);
        const char *name = path_basename(f->path);
        int r = parent < 0 ? parent : killed_make_placeholder(rundir, f->rundir, LOOK, mode);

        /* A dead one's goes. */
        if (r >= 0)
                (void)killed_end_placeholder(NULL, parent, name);
        if (r >= 0 && syscall(SYS_renameat2, f->rundir, LOOK, parent, name, RENAME_NOREPLACE) < 0)
                r = -errno;
        (void)unlinkat(f->rundir, LOOK, AT_REMOVEDIR);
        return r;
}

int private_folder_place(const struct private_folder *f, const char *rundir, bool *ret_is_old) {
        struct kept k = {0};
        _cleanup_close_ int kept = kept_find_folder(f->kept_by->project, f->path, KEPT_PROTECTED, &k);
        struct stat st;
        int r = kept;

        if (r >= 0 && kept_is_old(&k)) {
                *ret_is_old = true;
                r = -ENOENT;
        }
        if (r >= 0 && kept_has_hidden(f->plan, f->path, kept, k.removed))
                r = -ESTALE;
        if (r >= 0 && fstatat(kept, KEPT_ENTRY, &st, AT_SYMLINK_NOFOLLOW) < 0)
                r = -errno;
        if (r >= 0)
                r = put_placeholder(f, rundir, st.st_mode & 0777);
        if (r >= 0) {
                r = fill_layer(f, kept, &k, true);
                if (r < 0)
                        (void)killed_remove_placeholder(rundir, f->path);
        }
        kept_clear(&k);
        return r;
}

int private_folder_begin(const struct private_folder *f, bool *ret_is_old) {
        struct kept k = {0};
        _cleanup_close_ int kept = kept_find_folder(f->kept_by->project, f->path, REASON, &k);
        int r;

        if (kept < 0)
                return kept == -ENOMEM ? kept : 0;
        *ret_is_old |= kept_is_old(&k);
        r = kept_is_old(&k)                                      ? 0
            : kept_has_hidden(f->plan, f->path, kept, k.removed) ? -ESTALE
                                                                 : fill_layer(f, kept, &k, false);
        kept_clear(&k);
        return r;
}

static bool is_kept_already(int kept, const struct kept *k, int layer, const char *name,
                            char *const *removed) {
        size_t n = strv_length(removed);
        bool is = kept >= 0 && n == strv_length(k->removed);

        for (size_t i = 0; i < n && is; i++)
                is = strv_contains(k->removed, removed[i]);
        return is && kept_is_within(layer, name, kept, KEPT_ENTRY) &&
               kept_is_within(kept, KEPT_ENTRY, layer, name);
}

/* `kept` is the entry that it began with, or what began to be kept meanwhile, which stays. */
static int put_upper(const struct private_folder *f, const struct kept *about, bool is_seeded, int kept,
                     int layer, const char *name) {
        struct kept all = *about;
        int r;

        if (is_seeded) {
                all.earlier = &kept;
                r = kept_by_put(f->kept_by, &all, layer, name);
                if (r != -EAGAIN)
                        return r;
        }
        all.earlier = NULL;
        /* Of what the host hadn't there may be several, each of them a folder that a command has made. */
        all.is_whole = streq(about->reason, KEPT_PROTECTED);
        all.adds = !all.is_whole;
        return kept_by_put(f->kept_by, &all, layer, name);
}

static bool is_as_first(int layer, const char *name) {
        return kept_is_within(layer, name, layer, FIRST) && kept_is_within(layer, FIRST, layer, name);
}

/* What is in the upper folder in the end, and differs from the host's; `removed`: likewise. */
static int keep_upper(const struct private_folder *f, int layer, const char *name, int upper,
                      bool is_too_much, char **removed) {
        const char *project = f->kept_by->project, *reason = reason_of(layer);
        struct kept k = {0};
        _cleanup_close_ int kept = find_seed(f, layer, &k);
        /* Else another run has kept it meanwhile, and it stays. */
        bool is_seeded = kept >= 0, is_placed = streq(reason, KEPT_PROTECTED), is_same;
        unsigned number;
        int r;

        if (!is_seeded)
                kept = kept_find_folder(project, f->path, reason, &k);
        number = k.number;
        is_same = !is_too_much &&
                  (is_placed ? is_as_first(layer, name) : is_kept_already(kept, &k, layer, name, removed));
        kept_clear(&k);
        if (is_same)
                return 0;
        if (!is_too_much && !removed && folder_is_empty(upper))
                return is_seeded ? kept_drop(project, number, kept) : 0;
        r = put_upper(f,
                      &(struct kept){.path = (char *)(uintptr_t)f->path,
                                     .reason = (char *)(uintptr_t)reason,
                                     .removed = removed},
                      is_seeded, kept, layer, name);
        /* What is the command's own alone is so in the end, too. */
        if (r < 0 || (kept >= 0 && !is_seeded && !is_placed))
                return r < 0 ? r : 1;
        close_fdp(&kept);
        kept = kept_open(project, f->kept_by->last, &k);
        if (is_kept_already(kept, &k, layer, name, removed)) {
                (void)mark_seed(layer, kept, k.number);
                if (is_placed && remove_tree(layer, FIRST) >= 0)
                        (void)kept_copy(KEPT_COPIED, layer, name, layer, FIRST, 0777);
        }
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
        p.host = host = beneath_open_canonical(f->path, O_RDONLY | O_DIRECTORY);
        p.is_bound = faccessat(layer, WORK, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
        if (host >= 0 && !p.is_bound && kept_is_opaque(upper)) {
                p.upper = upper;
                r = folder_each(host, note_hidden_below, &p);
        }
        r = r < 0 ? r : folder_each(upper, prune_entry, &p);
        /* What is too much to be looked at is kept as it is. */
        return r < 0 && r != -EFBIG ? r : keep_upper(f, layer, name, upper, r < 0, removed);
}

int private_folder_end(const struct private_folder *f) {
        _cleanup_close_ int layer = open_layer_of(f, false), upper = -EBADF;

        upper = layer < 0 ? layer : open_below(layer, UPPER);
        if (f->began_empty && upper >= 0 && folder_is_empty(upper))
                return 0;
        /* There was no overlay. */
        return layer >= 0 ? keep_layer(f, layer, UPPER) : errno == ENOENT ? 0 : -errno;
}

int private_folder_look(const struct private_folder *f) {
        _cleanup_close_ int layer = open_layer_of(f, false);
        int r = layer < 0 ? -errno : remove_tree(layer, LOOK);

        if (r >= 0)
                r = kept_copy(KEPT_COPIED, layer, UPPER, layer, LOOK, 0777);
        if (r >= 0)
                r = keep_layer(f, layer, LOOK);
        return r == -ENOENT ? 0 : r;
}
