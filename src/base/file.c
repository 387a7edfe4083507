/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files as wholes: reading small ones of unknown making, and writing our own. */
#include "file.h"

#include <limits.h>
#include <sys/syscall.h>

#include "sys.h"

enum {
        ENTRIES_SIZE = 16 << 10, /* bytes of a folder's entries that are read at once */
};

int fd_lift(int *fd) {
        int r;

        if (*fd > 2)
                return 0;
        r = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
        if (r < 0)
                return -errno;
        close_fdp(fd);
        *fd = r;
        return 0;
}

int file_open_of_process(pid_t pid, const char *name) {
        char path[64];
        int fd, r;

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        r = fd < 0 ? fd : fd_lift(&fd);
        if (r < 0)
                close_fdp(&fd);
        return r < 0 ? r : fd;
}

struct fd_link fd_link(int fd) {
        struct fd_link link;

        (void)snprintf(link.path, sizeof(link.path), "/proc/self/fd/%d", fd);
        return link;
}

char *fd_name(int fd) {
        char name[PATH_MAX];
        ssize_t n = readlink(fd_link(fd).path, name, sizeof(name));

        return n < 0 || n == (ssize_t)sizeof(name) ? NULL : strndup(name, (size_t)n);
}

int folder_open_to_owner(int folder) {
        struct stat st;

        if (fstat(folder, &st) < 0)
                return -errno;
        return (st.st_mode & 0700) == 0700 || chmod(fd_link(folder).path, (st.st_mode & 07777) | 0700) == 0
                       ? 0
                       : -errno;
}

int read_full(int fd, char *to, size_t size, size_t *ret) {
        size_t n = 0;

        while (n < size) {
                ssize_t r = read(fd, to + n, size - n);

                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                if (r == 0)
                        break;
                n += (size_t)r;
        }
        *ret = n;
        return 0;
}

int write_waiting(int fd, const void *from, size_t n, int ms) {
        for (const char *at = from; n > 0;) {
                struct pollfd room = {.fd = fd, .events = POLLOUT};
                ssize_t r = sys_write(fd, at, n);

                if (r == -EAGAIN && ms != 0) {
                        int ready = sys_poll(&room, 1, ms);

                        if (ready > 0 || ready == -EINTR)
                                continue;
                }
                if (r < 0)
                        return (int)r;
                at += r;
                n -= (size_t)r;
        }
        return 0;
}

int write_full(int fd, const void *from, size_t n) {
        return write_waiting(fd, from, n, 0);
}

ssize_t read_kernel_file(int dir, const char *path, char *to, size_t size) {
        _cleanup_close_ int fd = sys_open(dir, path, O_RDONLY, 0);
        ssize_t n = fd < 0 ? fd : sys_read(fd, to, size - 1);

        to[n > 0 ? n : 0] = '\0';
        return n;
}

ssize_t read_process_file(pid_t pid, const char *name, char *to, size_t size) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        return read_kernel_file(AT_FDCWD, path, to, size);
}

void read_process_name(pid_t pid, char *to, size_t size) {
        ssize_t n = read_process_file(pid, "comm", to, size);

        if (n > 0 && to[n - 1] == '\n')
                to[n - 1] = '\0';
}

pid_t read_process_parent(pid_t pid) {
        char text[512];
        const char *end;
        int parent = 0;

        (void)read_process_file(pid, "stat", text, sizeof(text));
        /* The process chose its name, which stands in parentheses before. */
        end = strrchr(text, ')');
        return end && sscanf(end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

int read_bytes_fd(int fd, size_t limit, char **ret, size_t *ret_n) {
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0;
        int r;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if ((uintmax_t)st.st_size > limit)
                return -EFBIG;
        /* The file may grow after fstat(2): no more is read than there was. */
        text = malloc((size_t)st.st_size + 1);
        if (!text)
                return -ENOMEM;
        r = read_full(fd, text, (size_t)st.st_size, &n);
        if (r < 0)
                return r;
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

int read_small_fd(int fd, size_t limit, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r = read_bytes_fd(fd, limit, &text, &n);

        if (r < 0 || memchr(text, '\0', n))
                return r < 0 ? r : -EBADMSG;
        *ret = TAKE_PTR(text);
        return 0;
}

int read_small_file(int dir, const char *path, int flags, size_t limit, char **ret) {
        _cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);

        return fd < 0 ? -errno : read_small_fd(fd, limit, ret);
}

_Static_assert(offsetof(struct dirent, d_name) == 19 && offsetof(struct dirent, d_reclen) == 16,
               "struct dirent must be what getdents64(2) writes");

int folder_read(int fd, int (*each)(void *data, int folder, const struct dirent *entry), void *data) {
        _cleanup_free_ char *buffer = malloc(ENTRIES_SIZE);
        long n;

        if (!buffer)
                return -ENOMEM;
        while ((n = syscall(SYS_getdents64, fd, buffer, ENTRIES_SIZE)) > 0)
                for (long at = 0; at < n;) {
                        const struct dirent *entry = (const void *)(buffer + at);
                        int r = 0;

                        at += entry->d_reclen;
                        if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
                                r = each(data, fd, entry);
                        if (r != 0)
                                return r;
                }
        return n < 0 ? -errno : 0;
}

int folder_each(int folder, int (*each)(void *data, int folder, const struct dirent *entry), void *data) {
        _cleanup_close_ int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : folder_read(fd, each, data);
}

static int stop_at_entry(nsrun_unused void *data, nsrun_unused int folder,
                         nsrun_unused const struct dirent *entry) {
        return 1;
}

bool folder_is_empty(int folder) {
        return folder_each(folder, stop_at_entry, NULL) == 0;
}

unsigned char folder_type(int folder, const struct dirent *entry) {
        struct stat st;

        if (entry->d_type != DT_UNKNOWN)
                return entry->d_type;
        return fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0
                       ? DT_UNKNOWN
                       : (unsigned char)IFTODT(st.st_mode);
}

bool file_has_writer(int fd) {
        /* Whoever opens it for writing right now has the kernel tell by this signal, which does nothing. */
        bool has = fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;

        (void)fcntl(fd, F_SETLEASE, F_UNLCK);
        return has;
}
