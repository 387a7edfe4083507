/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See null.h. */
#include "null.h"

#include <fcntl.h>

#include "causes.h"
#include "file.h"
#include "sys.h"

int null_fail(int r, struct nsrun_error *err) {
        struct stat st;

        if (r == -ENOENT)
                return error_cause(err, CAUSE_NO_NULL, r, "/dev/null");
        /* A mode that lets everybody open it doesn't say no. */
        if (r == -EACCES || r == -EPERM)
                return error_cause(err,
                                   sys_stat("/dev/null", &st) >= 0 && (st.st_mode & 0666) == 0666
                                           ? CAUSE_NODEV_NULL
                                           : CAUSE_CLOSED_NULL,
                                   r, "/dev/null");
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, "/dev/null", causes[CAUSE_NO_NULL].what, NULL);
}

int null_open(int flags, struct nsrun_error *err) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, "/dev/null", flags | O_NOCTTY, 0);
        int r = fd < 0 ? fd : fd_lift(&fd);

        return r < 0 ? null_fail(r, err) : TAKE_FD(fd);
}
