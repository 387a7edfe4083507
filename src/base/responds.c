/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See responds.h.  A child asks, since a call that waits for a server can't always be ended: one that the
 * server has read and doesn't answer can't even be killed. */
#include "responds.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "causes.h"
#include "str.h"
#include "sys.h"

enum {
        PATIENCE_MS = 1500, /* a refusal comes within two seconds */
        END_MS = 50,        /* for the child that was killed, if it can be */
};

/* Of a local file system the kernel tells that its files may be immutable, and asks nobody for that; that of
 * no other.  Only what the kernel has in memory is looked up (RESOLVE_CACHED, 5.12): the path, or as much of
 * it as is there, behind which nothing else may be mounted. */
static bool is_known_local(int dir, const char *path) {
        _cleanup_free_ char *known = strdup(path);
        _cleanup_close_ int fd = -EBADF;
        char *end = known ? known + strlen(known) : NULL;

        while (end && end != known) {
                *end = '\0';
                fd = sys_openat2(dir, known, O_PATH, 0, RESOLVE_CACHED);
                if (fd >= 0) {
                        const char *rest = path + (end - known) + strspn(path + (end - known), "/");
                        bool is_local = sys_is_local(fd);
                        _cleanup_close_ int last =
                                is_local && *rest ? sys_openat2(fd, rest, O_PATH, 0, RESOLVE_NO_XDEV)
                                                  : -ENOENT;

                        return is_local && last != -EXDEV;
                }
                end = strrchr(known, '/');
        }
        return false;
}

/* Looks it up, has it mounted where it is mounted at need, and reads what is in it. */
nsrun_no_asan static void ask_server(int dir, const char *path) {
        char entries[1024];
        struct stat st;
        int fd;

        /* A child that stays must hold nothing open that somebody else waits for the end of. */
        if (dir >= 0 && sys_dup_to(dir, 0) >= 0)
                dir = 0;
        (void)sys_close_range(dir == 0, ~0U);
        fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
        (void)(fd < 0 ? fstatat(dir, path, &st, 0) : syscall(SYS_getdents64, fd, entries, sizeof(entries)));
        _exit(0);
}

/* 0: it has answered, or there is no child that could ask. */
static int wait_for_answer(int dir, const char *path) {
        _cleanup_close_ int pidfd = -EBADF;
        struct pollfd end = {.events = POLLIN};
        siginfo_t info;
        int r, pid = sys_clone_namespaces(0, &pidfd);

        if (pid == 0)
                ask_server(dir, path);
        if (pid < 0)
                return 0;
        end.fd = pidfd;
        while ((r = sys_poll(&end, 1, PATIENCE_MS)) == -EINTR)
                ;
        if (r == 0) {
                (void)sys_pidfd_send_signal(pidfd, SIGKILL);
                (void)sys_poll(&end, 1, END_MS);
                r = -ETIMEDOUT;
        }
        (void)sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
        return r == -ETIMEDOUT ? r : 0;
}

int responds_in_time(int dir, const char *path, const char *shown, struct nsrun_error *err) {
        _cleanup_close_ int fd = sys_openat2(dir, path, O_PATH, 0, RESOLVE_NO_XDEV);
        _cleanup_free_ char *whole = NULL;

        if (fd != -EXDEV || is_known_local(dir, path) || wait_for_answer(dir, path) == 0)
                return 0;
        whole = shown ? str_concat(shown, "/", path) : strdup(path);
        return whole ? error_cause(err, NSRUN_ERROR_NO_ANSWER, -ETIMEDOUT, whole) : error_oom(err);
}
