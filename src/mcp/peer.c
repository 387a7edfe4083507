/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who speaks to a server may do all that its host allows it, a commit among that.  So no command of a
 * sandbox may: who is another user's, or runs in another user namespace, as every command does, is turned
 * away. */
#include "peer.h"

#include <sys/socket.h>

#include "base/sys.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* 6.5 */
#endif

/* Whether a process is in this process's user namespace.  The pid was the client's when it connected; the
 * pidfd, where there is one, says that no other process has got it since.  -ESRCH: it has ended. */
static int is_in_own_namespace(int fd, pid_t pid) {
        _cleanup_close_ int pidfd = -EBADF;
        socklen_t n = sizeof(pidfd);
        struct stat own, its;
        char path[64];

        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0 && errno != ENOPROTOOPT)
                return errno == EINVAL ? -ESRCH : -errno;
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
        if (stat("/proc/self/ns/user", &own) < 0)
                return -errno;
        if (stat(path, &its) < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        if (pidfd >= 0 && sys_pidfd_send_signal(pidfd, 0) < 0)
                return -ESRCH;
        return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

const char *peer_judge(int fd) {
        struct ucred peer;
        socklen_t n = sizeof(peer);
        int r;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.uid != geteuid())
                return "the client is another user's";
        r = peer.pid > 0 ? is_in_own_namespace(fd, peer.pid) : 0;
        if (r <= 0)
                return r == -ESRCH ? "" : "the client runs in a sandbox or container, or can't be looked at";
        return NULL;
}
