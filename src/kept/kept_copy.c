/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See kept_copy.h.  What is copied is a command's: it is reached by descriptors, and may change meanwhile.
 */
#include "kept_copy.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/file.h"
#include "kept.h"

/* A name that nothing has for long, and nothing obeys. */
#define DRAFT ".nsrun-draft"

/* One copying, with what may still be taken. */
struct copying {
        unsigned files;
        size_t bytes;
        unsigned depth;
        bool is_whole; /* nothing may be left out */
        mode_t mode;   /* of folders; files have what of it a file has, "x" where their owner has it */
};

static int copy_entry(struct copying *c, int from, const char *name, int to, const char *as);

static int kept_copy_bytes(struct copying *c, int from, int to) {
        char buffer[16 << 10];
        size_t n;
        int r;

        for (;;) {
                r = read_full(from, buffer, sizeof(buffer), &n);
                if (r < 0 || n == 0)
                        return r;
                if (n > c->bytes)
                        return -EFBIG;
                c->bytes -= n;
                r = write_full(to, buffer, n);
                if (r < 0)
                        return r;
        }
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

static int copy_file(struct copying *c, int from, const char *name, int to, const char *as) {
        _cleanup_close_ int source = open_to_copy(from, name, 0), copy = -EBADF;
        struct stat st;
        int r;

        if (source < 0)
                return source;
        if (fstat(source, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || (c->is_whole && c->depth < KEPT_DEPTH && st.st_nlink > 1))
                return -EINVAL;
        (void)unlinkat(to, DRAFT, 0);
        copy = openat(to, DRAFT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (copy < 0)
                return -errno;
        r = kept_copy_bytes(c, source, copy);
        if (r >= 0 && (fchmod(copy, c->mode & (st.st_mode & 0100 ? 0777 : 0666)) < 0 ||
                       (c->depth == KEPT_DEPTH && fsync(copy) < 0) || renameat(to, DRAFT, to, as) < 0))
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
        int r;

        if (source < 0)
                return source;
        if (c->depth == 0)
                return -EFBIG;
        if (mkdirat(to, as, c->mode) < 0 && errno != EEXIST)
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

int kept_copy(int from, const char *name, int to, const char *as, mode_t mode) {
        struct copying c = {.files = KEPT_FILES, .bytes = KEPT_BYTES, .depth = KEPT_DEPTH, .mode = mode};

        return copy_entry(&c, from, name, to, as);
}

int kept_copy_whole(int from, const char *name, int to, const char *as, mode_t mode) {
        struct copying c = {.files = KEPT_FILES,
                            .bytes = KEPT_BYTES,
                            .depth = KEPT_DEPTH,
                            .mode = mode,
                            .is_whole = true};

        return copy_entry(&c, from, name, to, as);
}
