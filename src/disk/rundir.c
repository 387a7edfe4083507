/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes, locks, removes and reclaims run directories.  A folder is called "workspace-…" only while
 * its lock is held or after its owner has died; while it is being made or removed it is called
 * ".workspace-…", and is empty but for the lock.  What else is in a run directory is its users'
 * business. */
#include "rundir.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/path.h"
#include "host/user.h"
#include "remove_tree.h"

#define NAME_PREFIX  "workspace-" /* RUNDIR_NAME without its six random letters */
#define DRAFT_PREFIX "." NAME_PREFIX

enum {
        STALE_SECONDS = 7 * 24 * 60 * 60, /* the age at which a folder without a lock is removed */
        NAME_TRIES = 64,
};

static const char cache_hint[] = "set XDG_CACHE_HOME to a folder of your own on a local disk";

/* $XDG_CACHE_HOME counts only if it is absolute, as its specification says; so does $HOME, in whose
 * place passwd's home is taken. */
int rundir_find_cache_home(char **ret, struct nsrun_error *err) {
        const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
        struct user user = {0};
        char *path = NULL;
        int r = 0;

        if (cache && path_is_absolute(cache)) {
                path = strdup(cache);
        } else {
                if (!home || !path_is_absolute(home)) {
                        r = user_find(geteuid(), getegid(), &user);
                        home = user.home && path_is_absolute(user.home) ? user.home : NULL;
                }
                if (r >= 0 && home && asprintf(&path, "%s/.cache", home) < 0)
                        path = NULL;
        }
        user_clear(&user);
        if (path) {
                *ret = path;
                return 0;
        }
        if (r >= 0 && !home)
                return error_set(err, NSRUN_STAGE_WORKSPACE, -ENOENT, NULL,
                                 "neither HOME nor XDG_CACHE_HOME names a cache folder", cache_hint);
        return error_oom(err);
}

/* Makes a folder with mode 0700, whatever the umask is. */
static int rundir_make_folder(const char *path) {
        if (mkdir(path, 0700) < 0)
                return errno == EEXIST ? 0 : -errno;
        return chmod(path, 0700) < 0 ? -errno : 0;
}

/* Makes a folder and those above it, each 0700, as the XDG specification wants them. */
static int rundir_make_folders(char *path) {
        int r;

        for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
                *slash = '\0';
                r = rundir_make_folder(path);
                *slash = '/';
                if (r < 0)
                        return r;
        }
        return rundir_make_folder(path);
}

static int check_base(int fd, const char *path, struct nsrun_error *err) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, -errno, path, "the cache folder can't be read",
                                 NULL);
        if (st.st_uid != geteuid())
                return error_set(err, NSRUN_STAGE_WORKSPACE, -EPERM, path,
                                 "the cache folder belongs to another user", cache_hint);
        if (st.st_mode & 022)
                return error_set(err, NSRUN_STAGE_WORKSPACE, -EPERM, path,
                                 "others may write to the cache folder", "chmod go-w it");
        return 0;
}

int rundir_find_base(char **ret, struct nsrun_error *err) {
        _cleanup_free_ char *cache = NULL, *canonical = NULL;
        char *path;
        int r;

        r = rundir_find_cache_home(&cache, err);
        if (r < 0)
                return r;
        r = path_canonical_to_be(cache, &canonical);
        path = r < 0 ? NULL : path_join(canonical, "nsrun");
        if (!path)
                return error_oom(err);
        *ret = path;
        return 0;
}

int rundir_open_base(int *ret_fd, char **ret_path, struct nsrun_error *err) {
        _cleanup_free_ char *cache = NULL, *canonical = NULL, *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = rundir_find_cache_home(&cache, err);
        if (r < 0)
                return r;
        r = path_canonical(cache, &canonical, NULL);
        if (r == -ENOENT) {
                r = rundir_make_folders(cache);
                if (r == 0)
                        r = path_canonical(cache, &canonical, NULL);
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, r, cache, "the cache folder can't be made",
                                 cache_hint);
        path = path_join(canonical, "nsrun");
        if (!path)
                return error_oom(err);

        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) {
                r = rundir_make_folder(path);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_WORKSPACE, r, path,
                                         "the cache folder can't be made", cache_hint);
                fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (fd < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, -errno, path,
                                 "the cache folder can't be opened", cache_hint);
        r = check_base(fd, path, err);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 0;
}

/* Whether base_fd's entry `name` is still the file that is open as fd. */
static bool is_still(int base_fd, const char *name, int fd) {
        struct stat named, held;

        return fstatat(base_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
               held.st_nlink > 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

/* Empties a folder and removes it, the lock last: if this process dies half way the next sweep
 * finds a folder whose lock nobody holds.  The caller holds the lock. */
static int take_away(int base_fd, int dir_fd, const char *name) {
        char draft[sizeof(DRAFT_PREFIX) + NAME_MAX];
        int r;

        r = remove_contents(dir_fd, "lock");
        if (r < 0)
                return r;
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

/* Six random letters and digits.  They need to be new, not secret. */
static int rundir_random_name(char *name, size_t size) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        unsigned char b[6];

        if (getrandom(b, sizeof(b), GRND_INSECURE) !=
                    (ssize_t)sizeof(b) && /* since Linux 5.6; never waits for the random pool */
            getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
                return -errno;
        (void)snprintf(name, size, DRAFT_PREFIX "%c%c%c%c%c%c", letters[b[0] % 62], letters[b[1] % 62],
                       letters[b[2] % 62], letters[b[3] % 62], letters[b[4] % 62], letters[b[5] % 62]);
        return 0;
}

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

/* Makes one run directory: a draft, its lock, and then its name.  -EAGAIN: try another name.  On
 * failure the caller closes *ret_dir and removes the folder `name`. */
static int rundir_make_locked(int base_fd, char *name, size_t size, int *ret_dir, int *ret_lock) {
        int r = rundir_random_name(name, size);

        if (r < 0)
                return r;
        if (mkdirat(base_fd, name, 0700) < 0)
                return errno == EEXIST ? -EAGAIN : -errno;
        if (fchmodat(base_fd, name, 0700, 0) < 0)
                return errno == ENOENT ? -EAGAIN : -errno;
        *ret_dir = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (*ret_dir < 0) {
                r = errno == ENOENT ? -EAGAIN : -errno;
                (void)unlinkat(base_fd, name, AT_REMOVEDIR);
                return r;
        }
        r = make_lock(*ret_dir, ret_lock);
        if (r == 0 && renameat(base_fd, name, base_fd, name + 1) < 0)
                r = errno == ENOENT || errno == EEXIST || errno == ENOTEMPTY ? -EAGAIN : -errno;
        if (r < 0) {
                (void)take_away(base_fd, *ret_dir, name);
                close_fdp(ret_dir);
                close_fdp(ret_lock);
        }
        return r;
}

int rundir_make(struct rundir *ret, struct nsrun_error *err) {
        _cleanup_rundir_ struct rundir u = RUNDIR_INIT;
        _cleanup_free_ char *base = NULL, *path = NULL;
        char name[sizeof(DRAFT_PREFIX) + 6];
        int r;

        r = rundir_open_base(&u.base_fd, &base, err);
        if (r < 0)
                return r;
        rundir_sweep(u.base_fd);

        path = malloc(strlen(base) + 1 + sizeof(name));
        if (!path)
                return error_oom(err);
        r = -EAGAIN;
        for (unsigned i = 0; i < NAME_TRIES && r == -EAGAIN; i++)
                r = rundir_make_locked(u.base_fd, name, sizeof(name), &u.dir_fd, &u.lock_fd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, r, base,
                                 "a folder for this run can't be made and locked", cache_hint);
        (void)snprintf(path, strlen(base) + 1 + sizeof(name), "%s/%s", base, name + 1);
        u.path = TAKE_PTR(path);
        *ret = u;
        u = RUNDIR_INIT;
        return 0;
}

int rundir_make_scratch(const struct rundir *u, struct nsrun_error *err) {
        if (mkdirat(u->dir_fd, RUNDIR_SCRATCH, 0700) < 0 ||
            fchmodat(u->dir_fd, RUNDIR_SCRATCH, 01777, 0) < 0) /* sets the mode whatever the umask is */
                return error_set(err, NSRUN_STAGE_WORKSPACE, -errno, u->path,
                                 "a scratch folder can't be made in this run's folder", cache_hint);
        return 0;
}

void rundir_remove(struct rundir *u) {
        if (!u)
                return;
        if (u->dir_fd >= 0 && u->path && is_still(u->base_fd, path_basename(u->path), u->dir_fd))
                (void)take_away(u->base_fd, u->dir_fd, path_basename(u->path));
        close_fdp(&u->lock_fd);
        close_fdp(&u->dir_fd);
        close_fdp(&u->base_fd);
        free(u->path);
        *u = RUNDIR_INIT;
}

/* Takes the lock of a folder whose owner is dead.  -EBUSY: the owner may live; -ENOENT: there is no
 * lock. */
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

static void rundir_sweep_one(int base_fd, const char *name) {
        _cleanup_close_ int dir_fd = open_for_removal(base_fd, name), lock_fd = -EBADF;
        struct stat st;
        int r;

        if (dir_fd < 0 || fstat(dir_fd, &st) < 0 || st.st_uid != geteuid())
                return;
        r = lock_dead(dir_fd, &lock_fd);
        if (r == -ENOENT && name[0] == '.')
                /* A draft without a lock is empty, or unlinkat(2) does nothing.  If its maker lives
                 * it takes another name. */
                (void)unlinkat(base_fd, name, AT_REMOVEDIR);
        if (r == -ENOENT && time(NULL) - st.st_mtim.tv_sec > STALE_SECONDS)
                r = 0; /* no folder of nsrun's own: removed when it is old */
        if (r == 0 && is_still(base_fd, name, dir_fd))
                (void)take_away(base_fd, dir_fd, name);
}

void rundir_sweep(int base_fd) {
        int fd = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *entry;
        DIR *dir;

        if (fd < 0)
                return;
        dir = fdopendir(fd);
        if (!dir) {
                (void)close(fd);
                return;
        }
        while ((entry = readdir(dir)))
                if (startswith(entry->d_name, NAME_PREFIX) || startswith(entry->d_name, DRAFT_PREFIX))
                        rundir_sweep_one(base_fd, entry->d_name);
        (void)closedir(dir);
}

int rundir_sweep_all(struct nsrun_error *err) {
        _cleanup_free_ char *base = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = rundir_find_base(&base, err);
        if (r < 0)
                return r;
        fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
                return 0;
        if (fd < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, -errno, base,
                                 "the cache folder can't be opened", cache_hint);
        r = check_base(fd, base, err);
        if (r >= 0)
                rundir_sweep(fd);
        return r;
}
