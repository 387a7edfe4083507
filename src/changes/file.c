/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contents and attributes of single files.  See file.h. */
#include "file.h"

#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "base/str.h"

#define ACCESS_ACL "system.posix_acl_access"

enum {
        BLOCK = 64 * 1024,
        COPIED_BY_HAND = 16 * 1024,
        PIECE = 4096,               /* of a content that is hashed */
        ATTRIBUTES_MAX = 64 * 1024, /* XATTR_LIST_MAX */
};

int file_open_stat(int dir, const char *name, struct stat *ret) {
        const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        /* A new atime for each file that is read would be written to the disk; its owner can go without. */
        _cleanup_close_ int fd = openat(dir, name, flags | O_NOATIME);

        if (fd < 0 && errno == EPERM)
                fd = openat(dir, name, flags);
        if (fd < 0 || fstat(fd, ret) < 0)
                return -errno;
        return S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int file_open(int dir, const char *name) {
        struct stat st;

        return file_open_stat(dir, name, &st);
}

/* Where the next data of the file is at or behind `at`, and `end` where there is none. */
static off_t next_data(int fd, off_t at, off_t end) {
        off_t data = lseek(fd, at, SEEK_DATA);

        if (data < 0)
                return errno == ENXIO ? end : at;
        return data < end ? data : end;
}

static ssize_t read_at(int fd, char *to, size_t n, off_t at) {
        size_t done = 0;

        while (done < n) {
                ssize_t m = pread(fd, to + done, n - done, at + (off_t)done);

                if (m < 0 && errno == EINTR)
                        continue;
                if (m < 0)
                        return -errno;
                if (m == 0)
                        break;
                done += (size_t)m;
        }
        return (ssize_t)done;
}

int file_same_content(int a, int b) {
        _cleanup_free_ char *buffer = malloc((size_t)BLOCK * 2);
        struct stat x, y;
        off_t at = 0;

        if (!buffer)
                return -ENOMEM;
        if (fstat(a, &x) < 0 || fstat(b, &y) < 0)
                return -errno;
        if (x.st_size != y.st_size)
                return 0;
        /* What is a hole in both files is not read: a command may make one of terabytes. */
        while (at < x.st_size) {
                off_t left = next_data(a, at, x.st_size), right = next_data(b, at, x.st_size);
                ssize_t n, m;

                at = left < right ? left : right;
                n = at < x.st_size ? read_at(a, buffer, BLOCK, at) : 0;
                m = n >= 0 && at < x.st_size ? read_at(b, buffer + BLOCK, BLOCK, at) : 0;
                if (n < 0 || m < 0)
                        return (int)(n < 0 ? n : m);
                if (n != m || memcmp(buffer, buffer + BLOCK, (size_t)n) != 0)
                        return 0;
                if (n == 0)
                        return 1;
                at += n;
        }
        return 1;
}

/* `at` is a multiple of a piece's size. */
static void hash_pieces(struct sha256 *sum, const char *bytes, size_t n, uint64_t at) {
        static const char zeros[PIECE];

        for (size_t i = 0; i < n; i += PIECE) {
                size_t take = n - i < PIECE ? n - i : PIECE;
                uint64_t number = (at + i) / PIECE;

                if (memcmp(bytes + i, zeros, take) == 0)
                        continue;
                sha256_add(sum, &number, sizeof(number));
                sha256_add(sum, bytes + i, take);
        }
}

int file_hash_content(int fd, struct sha256 *sum) {
        _cleanup_free_ char *buffer = malloc(BLOCK);
        struct stat st;
        uint64_t size;
        off_t at = 0;

        if (!buffer)
                return -ENOMEM;
        if (fstat(fd, &st) < 0)
                return -errno;
        while ((at = next_data(fd, at, st.st_size)) < st.st_size) {
                size_t want = BLOCK;
                ssize_t n;

                at -= at % PIECE;
                if (st.st_size - at < (off_t)want)
                        want = (size_t)(st.st_size - at);
                n = read_at(fd, buffer, want, at);
                if (n <= 0)
                        return n < 0 ? (int)n : -ESTALE; /* became shorter */
                hash_pieces(sum, buffer, (size_t)n, (uint64_t)at);
                at += n;
        }
        size = (uint64_t)st.st_size;
        sha256_add(sum, &size, sizeof(size));
        return 0;
}

void file_hash_text(const char *text, size_t n, struct sha256 *sum) {
        uint64_t size = n;

        hash_pieces(sum, text, n, 0);
        sha256_add(sum, &size, sizeof(size));
}

int file_link_text(int dir, const char *name, char **ret) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(dir, name, text, sizeof(text));
        char *copy;

        if (n < 0)
                return -errno;
        if ((size_t)n >= sizeof(text))
                return -ENAMETOOLONG;
        copy = strndup(text, (size_t)n);
        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

/* By hand, where the kernel can't copy between the two, or where the content is small. */
static int copy_bytes(int from, int to, off_t at, off_t end) {
        char block[16384];

        while (at < end) {
                size_t want = end - at < (off_t)sizeof(block) ? (size_t)(end - at) : sizeof(block);
                ssize_t n = pread(from, block, want, at);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0) /* became shorter */
                        return 0;
                for (ssize_t done = 0; done < n;) {
                        ssize_t w = pwrite(to, block + done, (size_t)(n - done), at + done);

                        if (w < 0 && errno != EINTR)
                                return -errno;
                        done += w < 0 ? 0 : w;
                }
                at += n;
        }
        return 0;
}

static int copy_range(int from, int to, off_t at, off_t end) {
        while (at < end) {
                off_t in = at, out = at;
                ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);

                if (n < 0 && errno == EINTR)
                        continue;
                /* Across file systems since 5.19, if at all. */
                if (n <= 0)
                        return n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
                                       ? -errno
                                       : copy_bytes(from, to, at, end);
                at += n;
        }
        return 0;
}

/* The content's pieces between holes. */
static int copy_data(int from, int to, off_t size) {
        for (off_t at = 0; at < size;) {
                off_t data = lseek(from, at, SEEK_DATA), hole;
                int r;

                if (data < 0 && errno == ENXIO) /* a hole up to the end */
                        break;
                if (data < 0)
                        data = at;
                hole = lseek(from, data, SEEK_HOLE);
                if (hole < 0 || hole > size)
                        hole = size;
                r = copy_range(from, to, data, hole);
                if (r < 0)
                        return r;
                at = hole;
        }
        return ftruncate(to, size) < 0 ? -errno : 0;
}

int file_copy(int from, int to, const struct stat *st) {
        /* A small content without a hole costs less than to ask for shared blocks, or for holes. */
        if (st->st_size <= COPIED_BY_HAND && (off_t)st->st_blocks * 512 >= st->st_size)
                return copy_bytes(from, to, 0, st->st_size);
        return ioctl(to, FICLONE, from) == 0 ? 0 : copy_data(from, to, st->st_size);
}

int file_has_attributes(int fd) {
        ssize_t n = flistxattr(fd, NULL, 0);

        return n < 0 && errno != EOPNOTSUPP ? -errno : n > 0;
}

ssize_t file_overlay_mark(int fd, const char *name, char *to, size_t size) {
        static const char *const spaces[] = {"user.overlay.", "trusted.overlay."};
        char full[64];

        for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
                ssize_t n;

                (void)snprintf(full, sizeof(full), "%s%s", spaces[i], name);
                n = fgetxattr(fd, full, to, size);
                if (n >= 0)
                        return n;
                if (errno != ENODATA && errno != EOPNOTSUPP && errno != EPERM)
                        return -errno;
        }
        return -ENODATA;
}

static bool is_users(const char *name) {
        return startswith(name, "user.") && !startswith(name, "user.overlay.");
}

/* The names, one NUL-ended after another. */
static ssize_t list_attributes(int fd, char **ret) {
        ssize_t n = flistxattr(fd, NULL, 0);
        char *names;

        if (n == 0 || (n < 0 && errno == EOPNOTSUPP))
                return 0;
        if (n < 0)
                return -errno;
        names = malloc(ATTRIBUTES_MAX);
        if (!names)
                return -ENOMEM;
        n = flistxattr(fd, names, ATTRIBUTES_MAX);
        if (n < 0) {
                n = -errno;
                free(names);
                return n;
        }
        *ret = names;
        return n;
}

/* The value; XATTR_SIZE_MAX is 64 KiB. */
static ssize_t get_attribute(int fd, const char *name, char *to) {
        ssize_t n = fgetxattr(fd, name, to, BLOCK);

        return n < 0 ? -errno : n;
}

/* Whether b has all of a's: 1, 0, or -errno. */
static int has_all(int a, int b) {
        _cleanup_free_ char *names = NULL, *values = NULL;
        ssize_t n = list_attributes(a, &names);

        if (n <= 0)
                return n < 0 ? (int)n : 1;
        values = malloc((size_t)BLOCK * 2);
        if (!values)
                return -ENOMEM;
        for (const char *name = names; name < names + n; name += strlen(name) + 1) {
                ssize_t x, y;

                if (!is_users(name))
                        continue;
                x = get_attribute(a, name, values);
                y = get_attribute(b, name, values + BLOCK);
                if (x == -ENODATA && y == -ENODATA)
                        continue;
                if (y == -ENODATA || y == -EOPNOTSUPP)
                        return 0;
                if (x < 0 || y < 0)
                        return (int)(x < 0 ? x : y);
                if (x != y || memcmp(values, values + BLOCK, (size_t)x) != 0)
                        return 0;
        }
        return 1;
}

int file_same_attributes(int a, int b) {
        int r = has_all(a, b);

        return r == 1 ? has_all(b, a) : r;
}

int file_hash_attributes(int fd, struct sha256 *sum) {
        _cleanup_free_ char *names = NULL, *value = NULL;
        _cleanup_free_ char **sorted = NULL;
        ssize_t size = list_attributes(fd, &names);
        size_t n = 0;

        if (size <= 0)
                return (int)size;
        value = malloc(BLOCK);
        sorted = calloc((size_t)size, sizeof(*sorted));
        if (!value || !sorted)
                return -ENOMEM;
        for (char *name = names; name < names + size; name += strlen(name) + 1)
                if (is_users(name))
                        sorted[n++] = name;
        strv_sort(sorted, n);
        for (size_t i = 0; i < n; i++) {
                ssize_t length = get_attribute(fd, sorted[i], value);
                uint64_t bytes = (uint64_t)length;

                if (length == -ENODATA)
                        continue;
                if (length < 0)
                        return (int)length;
                sha256_add(sum, sorted[i], strlen(sorted[i]) + 1);
                sha256_add(sum, &bytes, sizeof(bytes));
                sha256_add(sum, value, (size_t)length);
        }
        return 0;
}

static int remove_extra(int from, int to) {
        _cleanup_free_ char *names = NULL;
        ssize_t n = list_attributes(to, &names);

        for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
                if (is_users(name) && fgetxattr(from, name, NULL, 0) < 0 && errno == ENODATA &&
                    fremovexattr(to, name) < 0 && errno != ENODATA)
                        return -errno;
        return n < 0 ? (int)n : 0;
}

int file_copy_attributes(int from, int to, bool is_new) {
        _cleanup_free_ char *names = NULL, *value = NULL;
        ssize_t n = list_attributes(from, &names);
        int r;

        if (n < 0)
                return (int)n;
        r = is_new ? 0 : remove_extra(from, to);
        if (r < 0 || n == 0)
                return r;
        value = malloc(BLOCK);
        if (!value)
                return -ENOMEM;
        for (const char *name = names; name < names + n; name += strlen(name) + 1) {
                ssize_t length;

                if (!is_users(name))
                        continue;
                length = get_attribute(from, name, value);
                if (length == -ENODATA)
                        continue;
                if (length < 0)
                        return (int)length;
                if (fsetxattr(to, name, value, (size_t)length, 0) < 0)
                        return -errno;
        }
        return 0;
}

/* The length; 0: there is none. */
static ssize_t get_acl(int path_fd, char *to) {
        ssize_t n = getxattr(fd_link(path_fd).path, ACCESS_ACL, to, BLOCK);

        if (n < 0)
                return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
        return n;
}

int file_copy_acl(int from_path, int to_path) {
        _cleanup_free_ char *acl = malloc(BLOCK);
        ssize_t n = acl ? get_acl(from_path, acl) : -ENOMEM;

        if (n < 0)
                return (int)n;
        if (n > 0)
                return setxattr(fd_link(to_path).path, ACCESS_ACL, acl, (size_t)n, 0) < 0 ? -errno : 1;
        if (removexattr(fd_link(to_path).path, ACCESS_ACL) < 0 && errno != ENODATA && errno != EOPNOTSUPP)
                return -errno;
        return 0;
}

int file_same_acl(int a_path, int b_path) {
        _cleanup_free_ char *acls = malloc((size_t)BLOCK * 2);
        ssize_t n = acls ? get_acl(a_path, acls) : -ENOMEM;
        ssize_t m = n >= 0 ? get_acl(b_path, acls + BLOCK) : n;

        if (m < 0)
                return (int)m;
        return n == m && memcmp(acls, acls + BLOCK, (size_t)n) == 0;
}
