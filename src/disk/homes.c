/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "homes.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"

bool home_is_name(const char *name) {
        static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

        return *name && *name != '.' && *name != '-' && strlen(name) <= 64 && !name[strspn(name, may)];
}

char *named_home_path(const char *user_home, const char *data, const char *name) {
        bool has_data = data && path_is_absolute(data);

        return str_format("%s/%s%s%s", has_data ? data : user_home,
                          has_data ? NAMED_HOMES : ".local/share/" NAMED_HOMES, name ? "/" : "",
                          name ? name : "");
}

/* A command may lock its own home otherwise: then it is locked. */
int home_hold(const char *path) {
        int fd = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

        if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
                close_fdp(&fd);
                return -EWOULDBLOCK;
        }
        return fd;
}

int home_lock(int fd) {
        return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}
