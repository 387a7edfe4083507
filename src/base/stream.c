/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See stream.h.  The stream is fopencookie(3)'s. */
#include "stream.h"

#include <sys/mount.h>

#include "causes.h"
#include "file.h"
#include "str.h"
#include "sys.h"

/* A terminal, and the beginning of a UTF-8 character whose other bytes come with the next write. */
struct visible_stream {
        int fd;
        char part[4];
        size_t n_part;
};

/* How many bytes at the end of s[n] begin a UTF-8 character that needs more than there are. */
static size_t stream_unfinished(const char *s, size_t n) {
        for (size_t back = 1; back <= 3 && back <= n; back++) {
                unsigned char c = (unsigned char)s[n - back];

                if ((c & 0xc0) == 0x80)
                        continue;
                return c >= 0xc0 && back < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? back : 0;
        }
        return 0;
}

static int write_all_visible(int fd, char *bytes, size_t n) {
        const char next = bytes[n];
        _cleanup_free_ char *visible = NULL;

        bytes[n] = '\0';
        visible = str_visible_bytes(bytes, n);
        bytes[n] = next;
        return visible ? write_full(fd, visible, strlen(visible)) : -ENOMEM;
}

static ssize_t visible_stream_write(void *cookie, const char *bytes, size_t n) {
        struct visible_stream *v = cookie;
        _cleanup_free_ char *all = malloc(v->n_part + n + 1);
        size_t length = v->n_part + n, rest;
        int r;

        if (!all) {
                errno = ENOMEM;
                return 0;
        }
        memcpy(all, v->part, v->n_part);
        memcpy(all + v->n_part, bytes, n);
        rest = stream_unfinished(all, length);
        r = write_all_visible(v->fd, all, length - rest);
        if (r < 0) {
                errno = -r;
                return 0;
        }
        memcpy(v->part, all + length - rest, rest);
        v->n_part = rest;
        return (ssize_t)n;
}

static int visible_stream_close(void *cookie) {
        struct visible_stream *v = cookie;
        int r = write_all_visible(v->fd, v->part, v->n_part);

        (void)close(v->fd);
        free(v);
        if (r < 0)
                errno = -r;
        return r < 0 ? -1 : 0;
}

int stream_open(int fd, FILE **ret) {
        _cleanup_close_ int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        const cookie_io_functions_t functions = {.write = visible_stream_write,
                                                 .close = visible_stream_close};
        struct visible_stream *v;
        FILE *stream;

        if (copy < 0)
                return -errno;
        if (!isatty(copy)) {
                stream = fdopen(copy, "w");
                if (!stream)
                        return -errno;
                TAKE_FD(copy);
                *ret = stream;
                return 0;
        }
        v = calloc(1, sizeof(*v));
        if (!v)
                return -ENOMEM;
        v->fd = copy;
        stream = fopencookie(v, "w", functions);
        if (!stream) {
                free(v);
                return -ENOMEM;
        }
        TAKE_FD(copy);
        *ret = stream;
        return 0;
}

/* What remounts the mount with nodev on which the null device lies, if that is so; else NULL. */
static const char *find_nodev_fix(void) {
        static const struct {
                const char *path, *fix;
        } mounts[] = {
                {"/dev/null", "it is mounted nodev: sudo mount -o remount,bind,dev /dev/null"},
                {"/dev", "it is mounted nodev: sudo mount -o remount,bind,dev /dev"},
                {"/", "it is mounted nodev: sudo mount -o remount,bind,dev /"},
        };
        struct sys_file device, above;
        unsigned long flags;
        _cleanup_close_ int fd = sys_open(AT_FDCWD, "/dev/null", O_PATH, 0);
        size_t i = 0;

        if (fd < 0 || sys_mount_flags(fd, NULL, &flags) < 0 || !(flags & MS_NODEV) ||
            sys_statx(AT_FDCWD, "/dev/null", &device) < 0)
                return NULL;
        /* The outermost path that lies on the same mount is where that is mounted. */
        while (i + 1 < ARRAY_SIZE(mounts) && sys_statx(AT_FDCWD, mounts[i + 1].path, &above) >= 0 &&
               above.mount == device.mount)
                i++;
        return mounts[i].fix;
}

int null_fail(int r, struct nsrun_error *err) {
        const char *fix;
        struct stat st;

        if (r == -ENOENT)
                return error_cause(err, NSRUN_ERROR_NO_NULL, r, "/dev/null");
        if (r == -EACCES && sys_stat("/dev/null", &st) == -EACCES)
                return error_cause_with(err, NSRUN_ERROR_CLOSED_NULL, r, "/dev/null",
                                        "sudo chmod 755 /dev, which may not be entered");
        /* A mode that lets everybody open it doesn't say no. */
        if ((r == -EACCES || r == -EPERM) && (sys_stat("/dev/null", &st) < 0 || (st.st_mode & 0666) != 0666))
                return error_cause(err, NSRUN_ERROR_CLOSED_NULL, r, "/dev/null");
        fix = r == -EACCES || r == -EPERM ? find_nodev_fix() : NULL;
        return error_cause_with(err, NSRUN_ERROR_NO_NULL, r, "/dev/null", fix);
}

int null_open(int flags, struct nsrun_error *err) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, "/dev/null", flags | O_NOCTTY, 0);
        int r = fd < 0 ? fd : fd_lift(&fd);

        return r < 0 ? null_fail(r, err) : TAKE_FD(fd);
}
