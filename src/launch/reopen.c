/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reopen.h"

#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/sys.h"
#include "boundary/decimal.h"
#include "launch.h"

/* What the new description of a file takes from the caller's. */
#define KEPT_FLAGS (O_NONBLOCK | O_DIRECT | O_NOATIME)

/* A file that is to be opened anew.  The process that does it shares the table of descriptors with the
 * caller, and nothing else. */
struct reopening {
        const char *path;
        struct stat st;
        int flags;
        int to; /* a descriptor of the caller's that becomes the new file's */
};

static int open_same(const struct reopening *f) {
        struct stat found;
        int fd = sys_openat2(AT_FDCWD, f->path, O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS), r;

        if (fd < 0)
                return fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR ? -EXDEV : fd;
        r = sys_fstat(fd, &found);
        if (r >= 0 && (found.st_dev != f->st.st_dev || found.st_ino != f->st.st_ino))
                r = -EXDEV;
        if (r >= 0)
                return fd;
        (void)sys_close(fd);
        return r;
}

/* In the process with namespaces of its own: lays the file over itself, makes that mount read-only and opens
 * the file there.  The mount lives as long as the open file. */
static int open_read_only(const struct reopening *f) {
        _cleanup_close_ int below = open_same(f), above = -EBADF, fd = -EBADF;
        char number[24], path[48] = "/proc/self/fd/";
        int r = below < 0 ? below : sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);

        if (r >= 0)
                r = sys_chdir("/proc/self/fd");
        if (r >= 0)
                r = sys_mount(number_format(number, (uint64_t)below), f->path, NULL, MS_BIND, NULL);
        if (r < 0)
                return r;
        above = open_same(f);
        if (above < 0)
                return above;
        r = sys_mount_setattr(above, 0, MOUNT_ATTR_RDONLY);
        if (r < 0)
                return r;
        strcat(path, number_format(number, (uint64_t)above));
        fd = sys_open(AT_FDCWD, path, O_RDONLY | O_NOCTTY | (f->flags & KEPT_FLAGS), 0);
        if (fd < 0)
                return fd;
        return dup3(fd, f->to, O_CLOEXEC) < 0 ? -errno : 0;
}

/* Runs open_read_only() in a process of its own; 0 or its -errno, or the clone's with *ret_is_clone. */
static int reopen_elsewhere(const struct reopening *f, bool *ret_is_clone) {
        siginfo_t info = {.si_status = 0};
        int pidfd = -EBADF, pid, r;
        sigset_t all, own;

        /* The caller's handlers are not for that process. */
        (void)sigfillset(&all);
        r = sys_sigmask(SIG_SETMASK, &all, &own);
        if (r < 0)
                return r;
        pid = sys_clone_namespaces(CLONE_NEWUSER | CLONE_NEWNS | CLONE_FILES, &pidfd);
        if (pid == 0)
                _exit(-open_read_only(f) & 0xff);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        *ret_is_clone = pid < 0;
        if (pid < 0)
                return pid;
        r = sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
        (void)sys_close(pidfd);
        return r < 0 ? r : info.si_code != CLD_EXITED ? -EIO : -info.si_status;
}

static int reopen_fail(int r, int fd, bool is_clone, struct nsrun_error *err) {
        static const char *const names[] = {"standard input", "standard output", "standard error"};

        if (is_clone)
                return launch_explain_namespaces(r, err);
        return error_setf(err, NSRUN_STAGE_POLICY, r, NULL,
                          "hand it over through a pipe: cat FILE | nsrun …",
                          "%s is a file that can't be opened anew, so that the command couldn't write to it",
                          names[fd]);
}

/* 1: *f is to be opened anew; 0: it isn't; -errno. */
static int reopen_judge(int fd, const struct stream_seen *seen, char *path, size_t size,
                        struct reopening *f) {
        char link[48] = "/proc/self/fd/", number[24];
        ssize_t n;

        f->st = seen->st;
        f->flags = seen->flags;
        /* The caller may have closed it. */
        if (f->flags == -EBADF || (f->flags >= 0 && (!S_ISREG(f->st.st_mode) || f->st.st_nlink == 0)))
                return 0;
        if (f->flags < 0)
                return f->flags;
        if ((f->flags & FILE_ACCESS) != O_RDONLY || (f->flags & O_PATH))
                return 0;
        strcat(link, number_format(number, (uint64_t)fd));
        n = readlink(link, path, size - 1);
        if (n < 0)
                return -errno;
        path[n] = '\0';
        f->path = path;
        return path[0] == '/' ? 1 : -EXDEV;
}

static int reopen(int fd, const struct stream_seen *seen, int *ret, bool *ret_is_clone) {
        struct reopening f = {.to = -EBADF};
        char path[PATH_MAX];
        off_t at;
        int r = reopen_judge(fd, seen, path, sizeof(path), &f);

        if (r <= 0)
                return r;
        f.to = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        r = f.to < 0 ? -errno : reopen_elsewhere(&f, ret_is_clone);
        if (r < 0) {
                close_fdp(&f.to);
                return r;
        }
        at = lseek(fd, 0, SEEK_CUR);
        if (at > 0)
                (void)lseek(f.to, at, SEEK_SET);
        *ret = f.to;
        return 1;
}

int reopen_streams(const int *given, const struct stream_seen seen[3], struct reopened *ret,
                   struct nsrun_error *err) {
        struct reopened opened = REOPENED_INIT;
        int n = 0;

        for (int i = 0; i <= 2; i++) {
                int fd = given && given[i] >= 0 ? given[i] : i, file = -EBADF, r;
                bool is_clone = false;

                if (given)
                        opened.stdio[i] = given[i];
                r = reopen(fd, &seen[i], &file, &is_clone);
                if (r < 0) {
                        reopened_end(&opened);
                        return reopen_fail(r, i, is_clone, err);
                }
                if (r > 0) {
                        opened.stdio[i] = file;
                        opened.caller[i] = fd;
                        n++;
                }
        }
        *ret = opened;
        return n;
}

void reopened_end(struct reopened *r) {
        for (int i = 0; i <= 2; i++) {
                off_t at = r->caller[i] < 0 ? -1 : lseek(r->stdio[i], 0, SEEK_CUR);

                if (at >= 0)
                        (void)lseek(r->caller[i], at, SEEK_SET);
                if (r->caller[i] >= 0)
                        (void)close(r->stdio[i]);
        }
        *r = REOPENED_INIT;
}
