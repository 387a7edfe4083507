/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of the cache: a header, the instructions. */
#include "cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/file.h"

#define MOST_ENTRIES 64

/* The last digit changes with whatever the compiler makes of a policy. */
static const char magic[8] = {'n', 's', 'r', 'u', 'n', 'b', 'p', '1'};

struct header {
        char magic[8];
        uint32_t n;
        uint32_t flags;
        unsigned char key[SHA256_SIZE];
        unsigned char seal[SHA256_SIZE];
};

int cache_key(const char *text, size_t n, unsigned char ret[SHA256_SIZE]) {
        static const char version[] = PACKAGE_VERSION;
        const char *arch = syscall_arch_name(SYSCALL_ARCH_NATIVE);
        struct utsname kernel;
        struct sha256 s;

        if (uname(&kernel) < 0)
                return -errno;
        sha256_begin(&s);
        sha256_add_part(&s, magic, sizeof(magic));
        sha256_add_part(&s, version, strlen(version));
        sha256_add_part(&s, kernel.release, strlen(kernel.release));
        sha256_add_part(&s, arch, strlen(arch));
        sha256_add_part(&s, text, n);
        sha256_end(&s, ret);
        return 0;
}

static void seal(const struct header *header, const struct sock_filter *code,
                 unsigned char ret[SHA256_SIZE]) {
        struct sha256 s;

        sha256_begin(&s);
        sha256_add(&s, header, offsetof(struct header, seal));
        sha256_add(&s, code, header->n * sizeof(*code));
        sha256_end(&s, ret);
}

/* Nobody else may have written it. */
static bool is_private(int fd, mode_t type, off_t size) {
        struct stat st;

        return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
               (st.st_mode & 022) == 0 && (size < 0 || (st.st_size == size && st.st_nlink == 1));
}

static int open_folder(const char *path, int *ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        if (!is_private(fd, S_IFDIR, -1))
                return -EPERM;
        *ret = TAKE_FD(fd);
        return 0;
}

static int read_whole(int fd, void *to, size_t n) {
        for (char *at = to; n > 0;) {
                ssize_t got = read(fd, at, n);

                if (got <= 0)
                        return got < 0 ? -errno : -ENOENT;
                at += got;
                n -= (size_t)got;
        }
        return 0;
}

static int read_entry(int fd, const unsigned char *key, struct cache_entry *ret) {
        _cleanup_free_ struct sock_filter *code = NULL;
        unsigned char expected[SHA256_SIZE];
        struct header header;
        int r;

        r = read_whole(fd, &header, sizeof(header));
        if (r < 0)
                return r;
        if (memcmp(header.magic, magic, sizeof(magic)) != 0 || memcmp(header.key, key, SHA256_SIZE) != 0 ||
            header.n == 0 || header.n > BPF_MAXINSNS ||
            !is_private(fd, S_IFREG, (off_t)(sizeof(header) + header.n * sizeof(*code))))
                return -ENOENT;
        code = malloc(header.n * sizeof(*code));
        if (!code)
                return -ENOMEM;
        r = read_whole(fd, code, header.n * sizeof(*code));
        if (r < 0)
                return r;
        seal(&header, code, expected);
        if (memcmp(expected, header.seal, SHA256_SIZE) != 0)
                return -ENOENT;
        *ret = (struct cache_entry){.filter = {.code = TAKE_PTR(code), .n = header.n},
                                    .flags = header.flags};
        return 0;
}

int cache_load(const char *folder, const unsigned char key[SHA256_SIZE], struct cache_entry *ret) {
        _cleanup_close_ int folder_fd = -EBADF, fd = -EBADF;
        char name[2 * SHA256_SIZE + 1];
        int r;

        r = open_folder(folder, &folder_fd);
        if (r < 0)
                return -ENOENT;
        sha256_format(key, name);
        fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return -ENOENT;
        r = read_entry(fd, key, ret);
        return r == -ENOMEM || r == 0 ? r : -ENOENT;
}

/* Takes the oldest away until there is room for one more. */
static void evict(int folder) {
        for (;;) {
                _cleanup_free_ char *oldest = NULL;
                struct timespec oldest_time = {0};
                struct dirent *entry;
                size_t n = 0;
                DIR *list;
                int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                list = fd < 0 ? NULL : fdopendir(fd);
                if (!list) {
                        close_fdp(&fd);
                        return;
                }
                while ((entry = readdir(list))) {
                        struct stat st;

                        if (streq(entry->d_name, ".") || streq(entry->d_name, "..") ||
                            fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                                continue;
                        n++;
                        if (oldest && (st.st_mtim.tv_sec > oldest_time.tv_sec ||
                                       (st.st_mtim.tv_sec == oldest_time.tv_sec &&
                                        st.st_mtim.tv_nsec >= oldest_time.tv_nsec)))
                                continue;
                        free(oldest);
                        oldest = strdup(entry->d_name);
                        oldest_time = st.st_mtim;
                }
                (void)closedir(list);
                if (n < MOST_ENTRIES || !oldest || unlinkat(folder, oldest, 0) < 0)
                        return;
        }
}

static int write_entry(int folder, const char *name, const struct header *header,
                       const struct seccomp_filter *filter) {
        _cleanup_close_ int fd = -EBADF;
        uint64_t random = 0;
        char draft[48];
        int r;

        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
                return -errno;
        (void)snprintf(draft, sizeof(draft), ".%016jx", (uintmax_t)random);
        fd = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = write_full(fd, header, sizeof(*header));
        if (r >= 0)
                r = write_full(fd, filter->code, filter->n * sizeof(*filter->code));
        if (r >= 0 && renameat(folder, draft, folder, name) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(folder, draft, 0);
        return r;
}

/* mkdir -p: a new account has no ~/.cache either. */
static int make_folders(const char *path) {
        _cleanup_free_ char *copy = strdup(path);

        if (!copy)
                return -ENOMEM;
        for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
                *slash = '\0';
                if (mkdir(copy, 0700) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int cache_store(const char *folder, const unsigned char key[SHA256_SIZE], const struct cache_entry *entry) {
        struct header header = {.n = (uint32_t)entry->filter.n, .flags = entry->flags};
        _cleanup_close_ int fd = -EBADF;
        char name[2 * SHA256_SIZE + 1];
        int r;

        r = open_folder(folder, &fd);
        if (r == -ENOENT) {
                r = make_folders(folder);
                if (r >= 0)
                        r = open_folder(folder, &fd);
        }
        if (r < 0)
                return r;
        memcpy(header.magic, magic, sizeof(magic));
        memcpy(header.key, key, SHA256_SIZE);
        seal(&header, entry->filter.code, header.seal);
        sha256_format(key, name);
        evict(fd);
        return write_entry(fd, name, &header, &entry->filter);
}
