/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See kept_copy.h.  What is copied is a command's: it is reached by descriptors, and may change meanwhile.
 */
#include "kept_copy.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "kept.h"

/* A name that nothing has for long, and nothing obeys. */
#define DRAFT ".nsrun-draft"

/* One copying, with what may still be taken. */
struct copying {
        unsigned files;
        size_t bytes;
        unsigned depth, top; /* the top's own depth */
        bool is_whole;       /* nothing may be left out */
        mode_t mode;         /* what anything may have of the bits that it has */
};

static int copy_entry(struct copying *c, int from, const char *name, int to, const char *as);

/* A hole stays one, and counts. */
static int skip_hole(struct copying *c, int from, int to) {
        off_t at = lseek(from, 0, SEEK_CUR), data = lseek(from, at, SEEK_DATA);

        if (data < 0)
                data = lseek(from, errno == ENXIO ? 0 : at, errno == ENXIO ? SEEK_END : SEEK_SET);
        if (data <= at)
                return data < 0 ? -errno : 0;
        if ((uintmax_t)(data - at) > c->bytes)
                return -EFBIG;
        c->bytes -= (size_t)(data - at);
        return lseek(from, data, SEEK_SET) < 0 || lseek(to, data, SEEK_SET) < 0 ? -errno : 0;
}

static int kept_copy_bytes(struct copying *c, int from, int to) {
        char buffer[16 << 10];
        size_t n = 0;
        int r;

        do {
                r = skip_hole(c, from, to);
                if (r >= 0)
                        r = read_full(from, buffer, sizeof(buffer), &n);
                if (r >= 0 && n > c->bytes)
                        r = -EFBIG;
                if (r >= 0)
                        r = write_full(to, buffer, n);
                c->bytes -= r < 0 ? 0 : n;
        } while (r >= 0 && n > 0);
        return r < 0 || ftruncate(to, lseek(to, 0, SEEK_CUR)) >= 0 ? r : -errno;
}

/* Opens what may be closed to its owner. */
static int open_to_copy(int from, const char *name, int flags) {
        int fd = openat(from, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        _cleanup_close_ int closed = -EBADF;
        struct stat st;

        if (fd >= 0 || errno != EACCES)
                return fd < 0 ? -errno : fd;
        closed = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (closed < 0 || fstat(closed, &st) < 0)
                return -errno;
        if ((!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
            chmod(fd_link(closed).path, (st.st_mode & 0777) | (S_ISDIR(st.st_mode) ? 0700 : 0400)) < 0)
                return -EACCES;
        fd = open(fd_link(closed).path, flags | O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* "x" is nobody's without the owner, and others get no more than they have of the file that is replaced. */
static mode_t mode_of_copy(const struct copying *c, int to, const char *as, mode_t mode) {
        struct stat st;

        mode &= c->mode & (mode & 0100 ? 0777 : 0666);
        if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISREG(st.st_mode))
                mode &= 0700 | st.st_mode | (st.st_mode & 0044) >> 2;
        return mode | 0600;
}

static int copy_file(struct copying *c, int from, const char *name, int to, const char *as) {
        _cleanup_close_ int source = open_to_copy(from, name, 0), copy = -EBADF;
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {0}};
        struct stat st;
        int r;

        if (source < 0)
                return source;
        if (fstat(source, &st) < 0)
                return -errno;
        times[1] = st.st_mtim;
        if (!S_ISREG(st.st_mode) || (c->is_whole && c->depth < c->top && st.st_nlink > 1))
                return -EINVAL;
        (void)unlinkat(to, DRAFT, 0);
        copy = openat(to, DRAFT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (copy < 0)
                return -errno;
        r = kept_copy_bytes(c, source, copy);
        if (r >= 0 && (fchmod(copy, mode_of_copy(c, to, as, st.st_mode)) < 0 || futimens(copy, times) < 0 ||
                       (c->depth == c->top && fsync(copy) < 0) || renameat(to, DRAFT, to, as) < 0))
                r = -errno;
        if (r < 0)
                (void)unlinkat(to, DRAFT, 0);
        return r;
}

static int kept_copy_link(int from, const char *name, int to, const char *as) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);
        int r;

        if (n < 0)
                return -errno;
        text[n] = '\0';
        (void)unlinkat(to, DRAFT, 0);
        if (symlinkat(text, to, DRAFT) < 0)
                return -errno;
        r = renameat(to, DRAFT, to, as) < 0 ? -errno : 0;
        if (r < 0)
                (void)unlinkat(to, DRAFT, 0);
        return r;
}

/* A folder's entries, where they are copied to. */
struct copied_folder {
        struct copying *copying;
        int to;
};

static int copy_one_of(void *data, int folder, const struct dirent *entry) {
        const struct copied_folder *f = data;
        int r = copy_entry(f->copying, folder, entry->d_name, f->to, entry->d_name);

        return (r == -EINVAL && !f->copying->is_whole) || r == -ENOENT ? 0 : r;
}

static int copy_folder(struct copying *c, int from, const char *name, int to, const char *as) {
        _cleanup_close_ int source = open_to_copy(from, name, O_DIRECTORY);
        struct copied_folder f = {.copying = c};
        _cleanup_close_ int copy = -EBADF;
        struct stat st;
        int r;

        if (source < 0)
                return source;
        if (c->depth == 0)
                return -EFBIG;
        if (fstat(source, &st) < 0 ||
            (mkdirat(to, as, (st.st_mode & c->mode & 0777) | 0700) < 0 && errno != EEXIST))
                return -errno;
        copy = openat(to, as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (copy < 0)
                return -errno;
        f.to = copy;
        c->depth--;
        r = folder_read(source, copy_one_of, &f);
        c->depth++;
        return r;
}

static int copy_entry(struct copying *c, int from, const char *name, int to, const char *as) {
        struct stat st;

        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
                return -EINVAL;
        if (c->files-- == 0)
                return -EFBIG;
        return S_ISREG(st.st_mode)   ? copy_file(c, from, name, to, as)
               : S_ISDIR(st.st_mode) ? copy_folder(c, from, name, to, as)
                                     : kept_copy_link(from, name, to, as);
}

int kept_copy(enum kept_copied how, int from, const char *name, int to, const char *as, mode_t mode) {
        static const struct copying bounds[] = {
                [KEPT_COPIED] = {KEPT_FILES, KEPT_BYTES, KEPT_DEPTH, KEPT_DEPTH, false, 0},
                [KEPT_COPIED_WHOLE] = {KEPT_FILES, KEPT_BYTES, KEPT_DEPTH, KEPT_DEPTH, true, 0},
                [KEPT_COPIED_LARGE] = {1U << 16, 1U << 30, KEPT_DEPTH, KEPT_DEPTH, false, 0},
                [KEPT_COPIED_SMALL] = {32, 256U << 10, 6, 6, true, 0},
        };
        struct copying c = bounds[how];

        c.mode = mode;
        return copy_entry(&c, from, name, to, as);
}

/* -------------------------------------------------------------- what is the same */

struct comparing {
        int with; /* the folder that is compared */
        unsigned left, depth;
        bool is_plain; /* no symlinks */
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
static bool is_same_leaf(int a, const char *name, int b, const char *as, bool is_plain) {
        char x[PATH_MAX], y[PATH_MAX];
        _cleanup_close_ int from = -EBADF, with = -EBADF;
        struct stat s, t;
        ssize_t n;

        if (fstatat(a, name, &s, AT_SYMLINK_NOFOLLOW) < 0 || fstatat(b, as, &t, AT_SYMLINK_NOFOLLOW) < 0 ||
            (s.st_mode & (S_IFMT | 0100)) != (t.st_mode & (S_IFMT | 0100)) || s.st_size != t.st_size)
                return false;
        if (S_ISLNK(s.st_mode) && !is_plain) {
                n = readlinkat(a, name, x, sizeof(x));
                return n >= 0 && readlinkat(b, as, y, sizeof(y)) == n && memcmp(x, y, (size_t)n) == 0;
        }
        if (!S_ISREG(s.st_mode) || s.st_size > KEPT_BYTES)
                return false;
        from = openat(a, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        with = openat(b, as, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        return from >= 0 && with >= 0 && is_same_bytes(from, with);
}

static int open_copied(int folder, const char *name) {
        return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* 0: all that is in the one folder is in the other. */
static int compare_kept_entry(void *data, int folder, const struct dirent *entry) {
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
                return is_same_leaf(folder, name, c->with, name, c->is_plain) ? 0 : 1;
        fd = open_copied(folder, name);
        with = open_copied(c->with, name);
        if (fd < 0 || with < 0)
                return 1;
        c->with = with;
        c->depth--;
        r = folder_read(fd, compare_kept_entry, c);
        c->depth++;
        c->with = saved;
        return r;
}

static bool is_in_folder(int folder, int with, bool is_plain) {
        struct comparing c = {.with = with, .left = KEPT_FILES, .depth = KEPT_DEPTH, .is_plain = is_plain};

        return folder_each(folder, compare_kept_entry, &c) == 0;
}

static bool is_within(int from, const char *name, int with, const char *as, bool is_plain) {
        _cleanup_close_ int folder = open_copied(from, name), other = open_copied(with, as);

        return folder < 0 ? is_same_leaf(from, name, with, as, is_plain)
                          : other >= 0 && is_in_folder(folder, other, is_plain);
}

bool kept_is_within(int from, const char *name, int with, const char *as) {
        return is_within(from, name, with, as, false);
}

bool kept_is_within_plain(int from, const char *name, int with, const char *as) {
        return is_within(from, name, with, as, true);
}

bool kept_is_opaque(int folder) {
        char value;

        return fgetxattr(folder, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}
