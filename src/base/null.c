/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See null.h. */
#include "null.h"

#include <fcntl.h>

#include "file.h"
#include "sys.h"

int null_fail(int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, "/dev/null", "the null device can't be opened",
                         r == -ENOENT                  ? "sudo mknod -m 666 /dev/null c 1 3"
                         : r == -EACCES || r == -EPERM ? "sudo chmod 666 /dev/null; or /dev is mounted "
                                                         "nodev: sudo mount -o remount,dev /dev"
                                                       : NULL);
}

int null_open(int flags, struct nsrun_error *err) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, "/dev/null", flags | O_NOCTTY, 0);
        int r = fd < 0 ? fd : fd_lift(&fd);

        return r < 0 ? null_fail(r, err) : TAKE_FD(fd);
}
