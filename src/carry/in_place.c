/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git puts a new file in the old one's place by rename(2).  Here that would take away what other sandboxes
 * have mounted on the old one (the kernel detaches it with the name), and let their commands write the new
 * one; they could open NAME.lock before it gets its name, too.  So the old one is written to, at once, by a
 * process of its own: whoever kills nsrun meanwhile leaves the file old or new, and no lock. */
#include "in_place.h"

#include <sys/wait.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"

struct replacing {
        int folder;
        const char *name, *lock;
        const char *from, *to; /* `to` is padded with newlines to from's length */
        size_t n, m;
        char *read; /* room for n + 1 bytes */
};

static int check_old(const struct replacing *x, int fd) {
        struct stat st;
        size_t n = 0;
        int r = sys_fstat(fd, &st);

        if (r >= 0 && (!S_ISREG(st.st_mode) || st.st_nlink != 1))
                r = S_ISREG(st.st_mode) && st.st_nlink > 1 ? -EMLINK : -EAGAIN;
        if (r >= 0)
                r = read_full(fd, x->read, x->n + 1, &n);
        return r < 0 ? r : n == x->n && memcmp(x->read, x->from, n) == 0 ? 0 : -EAGAIN;
}

/* One call, for which a disk that is full, or a quota, leaves room or fails before anything is written; what
 * a limit cuts short (RLIMIT_FSIZE) is made as it was. */
static int write_at_once(const struct replacing *x, int fd, size_t all) {
        ssize_t n;
        int r;

        if (all > x->n && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)all) < 0 && errno != EOPNOTSUPP)
                return -errno;
        n = pwrite(fd, x->to, all, 0);
        if (n == (ssize_t)all)
                return 0;
        r = n < 0 ? -errno : -EFBIG;
        (void)pwrite(fd, x->from, x->n, 0);
        (void)ftruncate(fd, (off_t)x->n);
        return r;
}

/* With the lock held.  One call writes it all, be it shorter: between that and ftruncate(2) there are empty
 * lines at its end. */
static int write_new(const struct replacing *x) {
        _cleanup_close_ int fd =
                sys_open(x->folder, x->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
        size_t all = x->m > x->n ? x->m : x->n;
        struct stat st, now;
        int r = fd < 0 ? fd : check_old(x, fd);

        if (r < 0)
                return r;
        r = write_at_once(x, fd, all);
        if (r >= 0 && x->m < all && ftruncate(fd, (off_t)x->m) < 0)
                r = -errno;
        if (r < 0)
                return r;
        (void)fsync(fd);
        /* Somebody without regard to the lock may have put another one there. */
        return fstat(fd, &st) < 0 || fstatat(x->folder, x->name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
                               now.st_ino != st.st_ino
                       ? -EAGAIN
                       : 0;
}

/* Safe after fork(2) of a process with threads. */
nsrun_no_asan static int replace_locked(const struct replacing *x) {
        int lock = sys_open(x->folder, x->lock, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600), r;

        if (lock < 0)
                return lock == -EEXIST ? -EBUSY : lock;
        r = write_new(x);
        (void)sys_unlinkat(x->folder, x->lock);
        (void)sys_close(lock);
        return r;
}

static int replace_apart(const struct replacing *x) {
        pid_t pid = fork(), r;
        int status = 0;
        sigset_t all;

        if (pid < 0)
                return -errno;
        if (pid == 0) {
                (void)sigfillset(&all);
                (void)sys_sigmask(SIG_SETMASK, &all, NULL);
                (void)setsid();
                _exit(-replace_locked(x));
        }
        do
                r = waitpid(pid, &status, 0);
        while (r < 0 && errno == EINTR);
        return r == pid && WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int in_place_replace(const char *path, const char *from, size_t n, const char *to, size_t m) {
        _cleanup_free_ char *lock = str_concat(path_basename(path), ".lock", ""),
                            *padded = malloc((m > n ? m : n) + 1), *read = malloc(n + 1);
        _cleanup_close_ int fd = beneath_open_parent(path);
        struct replacing x = {.name = path_basename(path),
                              .lock = lock,
                              .from = from,
                              .to = padded,
                              .n = n,
                              .m = m,
                              .read = read};

        if (!lock || !padded || !read)
                return -ENOMEM;
        if (fd < 0)
                return fd;
        x.folder = fd;
        memset(padded, '\n', m > n ? m : n);
        memcpy(padded, to, m);
        return replace_apart(&x);
}
