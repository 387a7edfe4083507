/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See null.h. */
#include "null.h"

#include <fcntl.h>
#include <sys/mount.h>

#include "causes.h"
#include "file.h"
#include "sys.h"

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

        if (fd < 0 || sys_mount_flags(fd, &flags) < 0 || !(flags & MS_NODEV) ||
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
