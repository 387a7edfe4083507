/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes, locks, removes and reclaims locked folders.  While one is being made or removed its name begins
 * with a dot, and it is empty but for the lock. */
#include "locked.h"

#include <limits.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "base/responds.h"
#include "base/sys.h"
#include "remove_tree.h"

enum {
        DRAFT_GRACE = 7 * 24 * 60 * 60, /* seconds */
        NAME_TRIES = 100,
        SPARES = 4,
};

int locked_random(char *to, size_t n) {
        static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
        unsigned char bytes[16];

        if (getrandom(bytes, n, GRND_INSECURE) != (ssize_t)n && /* since Linux 5.6; never waits */
            getrandom(bytes, n, 0) != (ssize_t)n)
                return -errno;
        for (size_t i = 0; i < n; i++)
                to[i] = letters[bytes[i] % (i == 0 ? 24 : 32)];
        to[n] = '\0';
        return 0;
}

/* Whether base_fd's entry `name` is still the file that is open as fd. */
static bool is_still(int base_fd, const char *name, int fd) {
        struct stat named, held;

        return fstatat(base_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
               held.st_nlink > 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

/* Removes a folder that is empty but for the lock, the lock last: if this process dies half way the next
 * sweep finds a folder whose lock nobody holds.  The caller holds the lock. */
static int take_emptied(int base_fd, int dir_fd, const char *name) {
        char draft[1 + NAME_MAX + 1];

        if (name[0] != '.') {
                (void)snprintf(draft, sizeof(draft), ".%s", name);
                if (renameat(base_fd, name, base_fd, draft) < 0)
                        return -errno;
                name = draft;
        }
        if (unlinkat(dir_fd, "lock", 0) < 0 && errno != ENOENT)
                return -errno;
        return unlinkat(base_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int take_away(int base_fd, int dir_fd, const char *name) {
        int r = remove_contents(dir_fd, "lock");

        return r < 0 ? r : take_emptied(base_fd, dir_fd, name);
}

void locked_remove(int base_fd, const char *name, int dir_fd) {
        if (is_still(base_fd, name, dir_fd))
                (void)take_away(base_fd, dir_fd, name);
}

/* Takes the lock of a folder whose owner is dead.  -EAGAIN: the owner lives; -EBUSY: another sweeper has
 * removed the folder; -ENOENT: there is no lock. */
static int lock_dead(int dir_fd, int *ret_fd) {
        _cleanup_close_ int fd = openat(dir_fd, "lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        /* Another sweeper may have removed the lock file between the open(2) and the flock(2). */
        if (!is_still(dir_fd, "lock", fd))
                return -EBUSY;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int locked_take_over(int base_fd, const char *name, int *ret_dir, int *ret_lock) {
        _cleanup_close_ int dir_fd = open_for_removal(base_fd, name);
        struct stat st;
        int r = dir_fd < 0 ? dir_fd : fstat(dir_fd, &st) < 0 ? -errno : st.st_uid != geteuid() ? -EPERM : 0;

        if (r >= 0)
                r = lock_dead(dir_fd, ret_lock);
        if (r >= 0)
                *ret_dir = TAKE_FD(dir_fd);
        return r;
}

bool locked_is_held(int base_fd, const char *name, time_t grace) {
        _cleanup_close_ int dir_fd = open_for_removal(base_fd, name), lock_fd = -EBADF;
        struct stat st;
        int r;

        if (dir_fd < 0 || fstat(dir_fd, &st) < 0 || st.st_uid != geteuid())
                return false;
        r = lock_dead(dir_fd, &lock_fd);
        if (r == -ENOENT && name[0] == '.') {
                /* A draft without a lock is empty, or unlinkat(2) does nothing.  If its maker lives
                 * it takes another name. */
                (void)unlinkat(base_fd, name, AT_REMOVEDIR);
                grace = DRAFT_GRACE;
        }
        if (r == -ENOENT && (grace < 0 || time(NULL) - st.st_mtim.tv_sec > grace))
                r = 0; /* no folder of nsrun's own: removed when it is old */
        if (r == 0)
                locked_remove(base_fd, name, dir_fd);
        return r == -EAGAIN;
}

int locked_has_owner(const char *path) {
        _cleanup_close_ int dir_fd = responds_open(AT_FDCWD, path,
                                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0),
                            lock_fd = -EBADF;
        int r = dir_fd < 0 ? dir_fd : lock_dead(dir_fd, &lock_fd);

        return r == -EAGAIN ? 1 : r == -EACCES ? r : 0;
}

/* ------------------------------------------------------------- left for the next */

void locked_leave_spare(int base_fd, const char *name, int dir_fd) {
        char spare[sizeof(LOCKED_SPARE) + 8];

        if (!is_still(base_fd, name, dir_fd) || remove_contents(dir_fd, "lock") < 0)
                return;
        for (unsigned i = 0; i < SPARES; i++) {
                (void)snprintf(spare, sizeof(spare), LOCKED_SPARE "%u", i);
                if (syscall(SYS_renameat2, base_fd, name, base_fd, spare, RENAME_NOREPLACE) == 0)
                        return;
                if (errno != EEXIST)
                        break;
        }
        (void)take_emptied(base_fd, dir_fd, name);
}

static int refuse_entry(nsrun_unused void *data, nsrun_unused int folder, const struct dirent *entry) {
        return streq(entry->d_name, "lock") ? 0 : -EPERM;
}

/* -EPERM, unless the folder has nothing that one has not that make_once() has just made: no access list and
 * no attribute but a label of SELinux's, which that has, too; no flags but those by which ext4 stores
 * folders. */
static int expect_as_new(int dir_fd, int lock_fd) {
        static const char label[] = "security.selinux";
        struct stat dir, lock;
        char names[sizeof(label) + 1];
        unsigned flags = 0;
        int r;
        ssize_t n = flistxattr(dir_fd, names, sizeof(names));

        if (n < 0 && errno == EOPNOTSUPP)
                n = 0;
        if (n != 0 && (n != sizeof(label) || !streq(names, label)))
                return -EPERM;
        r = sys_ioctl(dir_fd, FS_IOC_GETFLAGS, &flags);
        if (r < 0 && r != -ENOTTY && r != -EOPNOTSUPP)
                return -EPERM;
        if ((flags & ~(unsigned)(FS_EXTENT_FL | FS_INLINE_DATA_FL)) || fstat(dir_fd, &dir) < 0 ||
            dir.st_uid != geteuid() || dir.st_mode != (S_IFDIR | 0700))
                return -EPERM;
        if (fstat(lock_fd, &lock) < 0 || lock.st_uid != dir.st_uid || lock.st_mode != (S_IFREG | 0600) ||
            lock.st_nlink != 1 || lock.st_size != 0)
                return -EPERM;
        return folder_read(dir_fd, refuse_entry, NULL);
}

int locked_take_spare(int base_fd, const char *spare, char *name, int *ret_dir, int *ret_lock) {
        _cleanup_close_ int dir_fd = openat(base_fd, spare, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_close_ int lock_fd = -EBADF;
        char taken[] = "workspace-XXXXXX";
        int r = dir_fd < 0 ? -errno : lock_dead(dir_fd, &lock_fd);

        if (r >= 0)
                r = expect_as_new(dir_fd, lock_fd);
        /* Since the open(2) another may have had it for a whole run, and left it by another number. */
        if (r >= 0 && !is_still(base_fd, spare, dir_fd))
                r = -EAGAIN;
        if (r >= 0)
                r = locked_random(taken + strlen("workspace-"), 6);
        if (r >= 0 && syscall(SYS_renameat2, base_fd, spare, base_fd, taken, RENAME_NOREPLACE) < 0)
                r = -errno;
        if (r < 0)
                return r;
        /* The lock tells since when its owner has it. */
        (void)futimens(lock_fd, NULL);
        strcpy(name, taken);
        *ret_dir = TAKE_FD(dir_fd);
        *ret_lock = TAKE_FD(lock_fd);
        return 0;
}

/* ------------------------------------------------------------------------- made new */

/* Makes and takes the lock.  -EAGAIN: a sweeper removed the folder, which had no lock yet, as a
 * dead maker's. */
static int make_lock(int dir_fd, int *ret_fd) {
        _cleanup_close_ int fd =
                openat(dir_fd, "lock", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        struct stat st;

        if (fd < 0)
                return errno == ENOENT ? -EAGAIN : -errno;
        if (fchmod(fd, 0600) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (st.st_nlink == 0)
                return -EAGAIN;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* Makes a draft, its lock, and then gives it its name.  -EAGAIN: try another draft. */
static int make_once(int base_fd, const char *draft, const char *name, int *ret_dir, int *ret_lock) {
        _cleanup_close_ int dir_fd = -EBADF, lock_fd = -EBADF;
        int r;

        if (mkdirat(base_fd, draft, 0700) < 0)
                return errno == EEXIST ? -EAGAIN : -errno;
        if (fchmodat(base_fd, draft, 0700, 0) < 0)
                return errno == ENOENT ? -EAGAIN : -errno;
        dir_fd = openat(base_fd, draft, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir_fd < 0) {
                r = errno == ENOENT ? -EAGAIN : -errno;
                (void)unlinkat(base_fd, draft, AT_REMOVEDIR);
                return r;
        }
        r = make_lock(dir_fd, &lock_fd);
        /* rename(2) replaces only an empty folder, which has no lock any more. */
        if (r == 0 && renameat(base_fd, draft, base_fd, name) < 0)
                r = errno == ENOENT ? -EAGAIN : errno == ENOTEMPTY ? -EEXIST : -errno;
        if (r < 0) {
                (void)take_away(base_fd, dir_fd, draft);
                return r;
        }
        *ret_dir = TAKE_FD(dir_fd);
        *ret_lock = TAKE_FD(lock_fd);
        return 0;
}

int locked_make(int base_fd, const char *prefix, char *name, int *ret_dir, int *ret_lock) {
        const bool is_chosen = *name == '\0';
        char draft[NAME_MAX + 1];
        int length = snprintf(draft, sizeof(draft), "%s", prefix), r = -EAGAIN;

        for (unsigned i = 0; i < NAME_TRIES && r == -EAGAIN; i++) {
                r = locked_random(draft + length, 6);
                if (r < 0)
                        return r;
                if (!is_chosen)
                        (void)locked_is_held(base_fd, name, -1);
                r = make_once(base_fd, draft, is_chosen ? draft + 1 : name, ret_dir, ret_lock);
                if (r == -EEXIST && is_chosen)
                        r = -EAGAIN;
        }
        if (r >= 0 && is_chosen)
                strcpy(name, draft + 1);
        return r;
}

/* ------------------------------------------------------------------ bare ones */

static int sweep_bare(void *data, int base_fd, const struct dirent *entry) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!startswith(entry->d_name, data))
                return 0;
        fd = openat(base_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* rmdir(2) refuses one that isn't empty. */
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
                (void)unlinkat(base_fd, entry->d_name, AT_REMOVEDIR);
        return 0;
}

/* -EAGAIN: a sweeper removed the folder, which was not locked yet; try another name. */
static int make_bare_once(int base_fd, const char *name, int *ret_fd) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (mkdirat(base_fd, name, 0755) < 0)
                return errno == EEXIST ? -EAGAIN : -errno;
        fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
                r = errno == ENOENT ? -EAGAIN : -errno;
                (void)unlinkat(base_fd, name, AT_REMOVEDIR);
                return r;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_still(base_fd, name, fd))
                return -EAGAIN;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int locked_make_bare(int base_fd, const char *prefix, char *name, int *ret_fd) {
        size_t length = strlen(prefix);
        int r = -EAGAIN;

        (void)folder_each(base_fd, sweep_bare, (char *)prefix);
        memcpy(name, prefix, length);
        for (unsigned i = 0; i < NAME_TRIES && r == -EAGAIN; i++) {
                r = locked_random(name + length, 8);
                if (r >= 0)
                        r = make_bare_once(base_fd, name, ret_fd);
        }
        if (r < 0)
                name[0] = '\0';
        return r;
}
