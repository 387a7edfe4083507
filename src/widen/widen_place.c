/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See widen_place.h.  The command may turn all of it meanwhile but what can't be moved: each step is looked
 * at by a descriptor, from which the next one is taken. */
#include "widen_place.h"

#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"

static int place_refuse(struct nsrun_error *err, int r, const char *path, const char *what,
                        const char *hint) {
        return error_set(err, NSRUN_STAGE_MOUNT, r, path, what, hint);
}

/* Whether the host has the device mounted somewhere. */
static int is_hosts_device(dev_t device) {
        _cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        if (!f)
                return -errno;
        while (getline(&line, &size, f) >= 0) {
                unsigned major_number = 0, minor_number = 0;

                if (sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) == 2 &&
                    makedev(major_number, minor_number) == device)
                        return 1;
        }
        return ferror(f) ? -EIO : 0;
}

/* Whether a folder lies on a tmpfs that was made for the sandbox. */
static int is_sandboxs_own(int folder) {
        struct statfs fs;
        struct stat st;
        int r = sys_fstatfs(folder, &fs), found;

        if (r >= 0)
                r = sys_fstat(folder, &st);
        if (r < 0 || fs.f_type != TMPFS_MAGIC)
                return r < 0 ? r : 0;
        found = is_hosts_device(st.st_dev);
        return found < 0 ? found : !found;
}

/* Whether the command could rename what was opened in the folder: a mount point keeps its name (EBUSY). */
static int can_be_moved(int folder, int fd) {
        unsigned long flags = 0;
        struct sys_mount mount = {0};
        int r = sys_mount_of(fd, &mount);

        if (r >= 0 && !mount.is_root)
                r = sys_mount_flags(folder, NULL, &flags);
        return r < 0 ? r : !mount.is_root && !(flags & MS_RDONLY);
}

static int refuse_step(int r, const char *path, struct nsrun_error *err) {
        if (r == -ELOOP)
                return place_refuse(err, r, path, "a symlink stands in the way of a mount point",
                                    "the command may have made it");
        if (r == -ENOTDIR)
                return place_refuse(err, r, path, "a file stands in the way of a mount point",
                                    "the command may have made it");
        return place_refuse(err, r, path, "the mount point can't be looked at", NULL);
}

static int judge_step(int folder, int fd, const char *path, struct nsrun_error *err) {
        int r = can_be_moved(folder, fd);

        if (r < 0)
                return refuse_step(r, path, err);
        return r > 0 ? place_refuse(err, UNSAID(-EPERM), path,
                                    "the command could move this folder, and what is mounted in it",
                                    "name a path beside it, or start the sandbox with the option")
                     : 0;
}

static int judge_missing(int folder, const char *path, struct nsrun_error *err) {
        int r = is_sandboxs_own(folder);

        if (r < 0)
                return refuse_step(r, path, err);
        return r == 0 ? place_refuse(
                                err, UNSAID(-ENOENT), path,
                                "the sandbox has nothing there, in a folder of the host's",
                                "nsrun leaves no mount points in those: start the sandbox with the option")
                      : 0;
}

int widen_place_made(int root, const char *shown) {
        _cleanup_free_ char *parent = path_parent(shown);
        _cleanup_close_ int fd = parent ? beneath_open(root, parent + 1, O_PATH | O_DIRECTORY, 0) : -ENOMEM;

        return fd < 0 ? fd : is_sandboxs_own(fd) > 0 ? TAKE_FD(fd) : -ENOENT;
}

int widen_place_find(int root, const char *path, struct widen_place *ret, struct nsrun_error *err) {
        _cleanup_close_ int folder = fcntl(root, F_DUPFD_CLOEXEC, 3);
        bool is_missing = false;
        const char *end = path;
        int r = folder < 0 ? -errno : 0;

        while (r >= 0 && *end && !is_missing) {
                const char *name = end + 1;
                _cleanup_free_ char *part = NULL, *whole = NULL;
                _cleanup_close_ int fd = -EBADF;

                end = name + strcspn(name, "/");
                part = strndup(name, (size_t)(end - name));
                whole = strndup(path, (size_t)(end - path));
                if (!part || !whole)
                        return error_oom(err);
                fd = beneath_open(folder, part, O_PATH | (*end ? O_DIRECTORY : 0), 0);
                is_missing = fd == -ENOENT;
                if (fd < 0 && !is_missing)
                        return refuse_step(fd, whole, err);
                r = is_missing ? judge_missing(folder, whole, err) : 0;
                /* Nothing moves the last one once something is mounted there. */
                if (r >= 0 && *end && !is_missing)
                        r = judge_step(folder, fd, whole, err);
                if (r >= 0 && (is_missing || !*end))
                        *ret = (struct widen_place){
                                .folder = TAKE_FD(folder), .shown = TAKE_PTR(whole), .makes = is_missing};
                close_fdp(&folder);
                folder = TAKE_FD(fd);
        }
        return r;
}
