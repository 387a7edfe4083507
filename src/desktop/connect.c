/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "connect.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/sys.h"

int desktop_place(const char *path) {
        int place = sys_openat2(AT_FDCWD, path, O_PATH, 0, RESOLVE_NO_SYMLINKS);

        return place == -ENOSYS || place == -EPERM ? sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0)
                                                   : place;
}

int desktop_connect(const char *path) {
        _cleanup_close_ int place = desktop_place(path), fd = sys_socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};

        if (place < 0 || fd < 0)
                return place < 0 ? place : fd;
        (void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d", place);
        return connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : TAKE_FD(fd);
}
