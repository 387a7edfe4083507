/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folders of sessions' records: made, locked, found, listed, removed.  A name is taken while its
 * lock is held; nothing in a dead monitor's record is believed. */
#include "records.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "remove_tree.h"
#include "rundir.h"

enum {
        NAME_MOST = 64,
        MAKE_TRIES = 100,
        RECORD_MOST = 64 * 1024 * 1024, /* bytes; the record of a plan with 100,000 rules has some 20 MiB */
};

static const char folder_hint[] =
        "set XDG_RUNTIME_DIR to a folder of your own that nobody else may write to";

/* $XDG_RUNTIME_DIR counts only if it is absolute, as its specification says. */
int records_find_base(char **ret, struct nsrun_error *err) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        _cleanup_free_ char *parent = NULL;
        char *path;
        int r;

        if (runtime && path_is_absolute(runtime)) {
                _cleanup_free_ char *canonical = NULL;

                r = path_canonical_to_be(runtime, &canonical);
                if (r < 0)
                        return error_oom(err);
                parent = path_join(canonical, "nsrun");
        } else {
                r = rundir_find_base(&parent, err);
                if (r < 0)
                        return r;
        }
        path = parent ? path_join(parent, "sessions") : NULL;
        if (!path)
                return error_oom(err);
        *ret = path;
        return 0;
}

/* Opens the folder `name` in `dir`; with `makes` a missing one is made.  Fails unless it is this
 * user's and nobody else can write to it. */
static int records_enter(int dir, const char *path, const char *name, bool makes, struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (makes && mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, path,
                                 "the folder of sessions can't be made", folder_hint);
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && !makes)
                return -ENOENT;
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, path,
                                 "the folder of sessions can't be opened", folder_hint);
        if (st.st_uid != geteuid() || (st.st_mode & 022))
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EPERM, path,
                                 st.st_uid != geteuid() ? "the folder of sessions belongs to another user"
                                                        : "others may write to the folder of sessions",
                                 folder_hint);
        return TAKE_FD(fd);
}

/* Opens the folder in which the folder of all records lies. */
static int open_parent(const char *parent, bool makes, struct nsrun_error *err) {
        _cleanup_free_ char *above = path_parent(parent), *cache = NULL;
        _cleanup_close_ int top = -EBADF;
        int fd = -EBADF, r;

        if (!above)
                return error_oom(err);
        /* If it is nsrun's cache folder it is made as for run directories. */
        if (makes && rundir_find_base(&cache, NULL) >= 0 && streq(cache, parent)) {
                _cleanup_free_ char *path = NULL;

                r = rundir_open_base(&fd, &path, err);
                return r < 0 ? r : fd;
        }
        top = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (top < 0 && errno == ENOENT && !makes)
                return -ENOENT;
        if (top < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, above,
                                 "the folder of sessions can't be opened", folder_hint);
        return records_enter(top, parent, path_basename(parent), makes, err);
}

/* Opens the folder of all records.  -ENOENT without *err filled: it doesn't exist, and `makes` is
 * false. */
static int open_base(bool makes, int *ret, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL, *parent = NULL;
        _cleanup_close_ int middle = -EBADF;
        int r;

        r = records_find_base(&path, err);
        if (r < 0)
                return r;
        parent = path_parent(path);
        if (!parent)
                return error_oom(err);
        middle = open_parent(parent, makes, err);
        if (middle < 0)
                return middle;
        r = records_enter(middle, path, path_basename(path), makes, err);
        if (r >= 0)
                *ret = r;
        return r < 0 ? r : 0;
}

/* Whether a session may have that name: 1 to 64 letters, digits, '.', '_' and '-', not beginning
 * with one of the last three. */
static bool records_is_name(const char *name) {
        static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
        size_t n = strlen(name);

        return n > 0 && n <= NAME_MOST && strspn(name, allowed) == n && !strchr("._-", name[0]);
}

/* Whether another process holds the lock. */
static bool lock_is_held(int lock_fd) {
        if (flock(lock_fd, LOCK_SH | LOCK_NB) < 0)
                return errno == EWOULDBLOCK;
        (void)flock(lock_fd, LOCK_UN);
        return false;
}

static int open_lock(int dir_fd) {
        int fd = openat(dir_fd, "lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* Removes a record whose monitor is dead.  A record's maker holds its lock before the folder gets
 * its name, so that no living session's record is removed. */
static void remove_stale(int base_fd, const char *name) {
        _cleanup_close_ int dir_fd = open_for_removal(base_fd, name), lock_fd = -EBADF;
        struct stat named, held;

        if (dir_fd < 0)
                return;
        lock_fd = open_lock(dir_fd);
        if (lock_fd < 0 ? lock_fd != -ENOENT : flock(lock_fd, LOCK_EX | LOCK_NB) < 0)
                return;
        if (fstatat(base_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || fstat(dir_fd, &held) < 0 ||
            named.st_ino != held.st_ino || named.st_dev != held.st_dev)
                return;
        if (remove_contents(dir_fd, "lock") == 0 && (unlinkat(dir_fd, "lock", 0) == 0 || errno == ENOENT))
                (void)unlinkat(base_fd, name, AT_REMOVEDIR);
}

static int records_random_name(char to[9]) {
        static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
        unsigned char bytes[8];

        if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
                return -errno;
        for (size_t i = 0; i < sizeof(bytes); i++)
                to[i] = letters[bytes[i] % 32];
        /* The first character is a letter, so that a name is never taken for a process id. */
        to[0] = letters[bytes[0] % 24];
        to[8] = '\0';
        return 0;
}

static int records_make_file(int dir_fd, const char *name) {
        int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        return fd < 0 ? -errno : fd;
}

/* Makes a draft under another name, complete and locked, and renames it to `name`: a record is
 * never seen without its lock. */
static int records_make_locked(struct record_folder *f, const char *name) {
        char draft[16] = ".new-";
        int r;

        r = records_random_name(draft + 5);
        if (r < 0)
                return r;
        if (mkdirat(f->base_fd, draft, 0700) < 0)
                return -errno;
        f->dir_fd = openat(f->base_fd, draft, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = f->dir_fd < 0 ? -errno : 0;
        if (r >= 0)
                r = f->lock_fd = records_make_file(f->dir_fd, "lock");
        if (r >= 0 && flock(f->lock_fd, LOCK_EX | LOCK_NB) < 0)
                r = -errno;
        if (r >= 0)
                r = f->activity_fd = records_make_file(f->dir_fd, "activity");
        if (r >= 0) {
                remove_stale(f->base_fd, name);
                if (syscall(SYS_renameat2, f->base_fd, draft, f->base_fd, name, RENAME_NOREPLACE) < 0)
                        r = -errno;
        }
        if (r < 0) {
                if (f->dir_fd >= 0)
                        (void)remove_contents(f->dir_fd, NULL);
                (void)unlinkat(f->base_fd, draft, AT_REMOVEDIR);
                close_fdp(&f->activity_fd);
                close_fdp(&f->lock_fd);
                close_fdp(&f->dir_fd);
        }
        return r < 0 ? r : 0;
}

static int look_at_all(int base_fd, char ***names);

int records_refuse_name(const char *name, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, name, "no name for a session",
                         "1 to 64 letters, digits, '.', '_' and '-', a letter or digit first");
}

int records_make(const char *name, struct record_folder *ret, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder f = RECORD_FOLDER_INIT;
        char own[9];
        int r;

        if (name && !records_is_name(name))
                return records_refuse_name(name, err);
        r = open_base(true, &f.base_fd, err);
        if (r < 0)
                return r;
        /* Removes the records of dead monitors, as making a run directory removes dead run
         * directories. */
        (void)look_at_all(f.base_fd, NULL);
        r = name ? 0 : records_random_name(own);
        if (r >= 0)
                r = records_make_locked(&f, name ? name : own);
        /* -ENOENT: another process listed the folder and removed the draft, which had no lock yet. */
        for (int i = 0; r == -ENOENT && i < MAKE_TRIES; i++)
                r = records_make_locked(&f, name ? name : own);
        if (r == -EEXIST)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, name ? name : own,
                                 "there is a session of this name", "stop it, or choose another name");
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, name ? name : own,
                                 "the session can't be written down", folder_hint);
        f.id = strdup(name ? name : own);
        if (!f.id) {
                records_remove(&f);
                return error_oom(err);
        }
        *ret = f;
        f = RECORD_FOLDER_INIT;
        return 0;
}

int records_write(const struct record_folder *f, const char *bytes, size_t n, struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        int r = 0;

        (void)unlinkat(f->dir_fd, "record.new", 0);
        fd = records_make_file(f->dir_fd, "record.new");
        if (fd < 0)
                r = fd;
        if (r >= 0)
                r = write_full(fd, bytes, n);
        if (r >= 0 && renameat(f->dir_fd, "record.new", f->dir_fd, "record") < 0)
                r = -errno;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, f->id, "the session can't be written down",
                                 folder_hint);
        return 0;
}

static int no_session(const char *name, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, -ENOENT, name, "no such session",
                         "'nsrun session list' shows those there are");
}

int records_open(const char *name, struct record_folder *ret, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder f = RECORD_FOLDER_INIT;
        int r;

        if (!records_is_name(name))
                return no_session(name, err);
        r = open_base(false, &f.base_fd, err);
        if (r < 0)
                return r == -ENOENT ? no_session(name, err) : r;
        f.dir_fd = openat(f.base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (f.dir_fd < 0)
                return no_session(name, err);
        f.lock_fd = open_lock(f.dir_fd);
        f.activity_fd = openat(f.dir_fd, "activity", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (f.lock_fd < 0 || f.activity_fd < 0 || !lock_is_held(f.lock_fd))
                return no_session(name, err);
        f.id = strdup(name);
        if (!f.id)
                return error_oom(err);
        *ret = f;
        f = RECORD_FOLDER_INIT;
        return 0;
}

int records_read(const struct record_folder *f, char **ret, size_t *ret_n, struct nsrun_error *err) {
        _cleanup_close_ int fd = openat(f->dir_fd, "record", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        _cleanup_free_ char *bytes = NULL;
        size_t n = 0;
        struct stat st;
        int r;

        /* Without the file the session's monitor holds the lock and hasn't written the record yet. */
        if (fd < 0 && errno == ENOENT)
                return no_session(f->id, err);
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > RECORD_MOST)
                return error_set(err, NSRUN_STAGE_SUPERVISE, fd < 0 ? -errno : -EBADMSG, f->id,
                                 "what was written down of the session can't be read", NULL);
        bytes = malloc((size_t)st.st_size + 1);
        if (!bytes)
                return error_oom(err);
        r = read_full(fd, bytes, (size_t)st.st_size, &n);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, f->id,
                                 "what was written down of the session can't be read", NULL);
        *ret = TAKE_PTR(bytes);
        *ret_n = n;
        return 0;
}

static int records_compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Looks at one record.  1: its session runs and can be named; 0: the session is only being started,
 * or was dead and the record is removed. */
static int look_at(int base_fd, const char *name) {
        _cleanup_close_ int dir_fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_close_ int lock_fd = dir_fd < 0 ? -EBADF : open_lock(dir_fd);

        if (lock_fd >= 0 && lock_is_held(lock_fd))
                return name[0] != '.' && faccessat(dir_fd, "record", F_OK, 0) == 0;
        /* A draft without a lock may be one that is being made.  Removing it harms nobody: its
         * maker then tries again. */
        if (lock_fd >= 0 || name[0] != '.')
                remove_stale(base_fd, name);
        else
                (void)unlinkat(base_fd, name, AT_REMOVEDIR);
        return 0;
}

/* Looks at all records.  If `names` isn't NULL the names of running sessions are added to it. */
static int look_at_all(int base_fd, char ***names) {
        int fd = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        struct dirent *entry;
        DIR *dir;

        if (fd < 0)
                return -errno;
        dir = fdopendir(fd);
        if (!dir) {
                (void)close(fd);
                return -ENOMEM;
        }
        while ((entry = readdir(dir)) && r >= 0)
                if (!streq(entry->d_name, ".") && !streq(entry->d_name, "..") &&
                    look_at(base_fd, entry->d_name) && names)
                        r = strv_add(names, entry->d_name);
        (void)closedir(dir);
        return r;
}

int records_list(char ***ret, struct nsrun_error *err) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_close_ int base_fd = -EBADF;
        int r;

        r = open_base(false, &base_fd, err);
        if (r == -ENOENT && (!err || err->stage == NSRUN_STAGE_NONE)) {
                *ret = NULL;
                return 0;
        }
        if (r < 0)
                return r;
        r = look_at_all(base_fd, &names);
        if (r < 0)
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                                "the folder of sessions can't be read", folder_hint);
        if (names)
                qsort(names, strv_length(names), sizeof(*names), records_compare_names);
        *ret = TAKE_PTR(names);
        return 0;
}

void records_remove(struct record_folder *f) {
        struct stat named, held;

        if (f->dir_fd >= 0 && f->id && fstatat(f->base_fd, f->id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            fstat(f->dir_fd, &held) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev &&
            remove_contents(f->dir_fd, "lock") == 0 && unlinkat(f->dir_fd, "lock", 0) == 0)
                (void)unlinkat(f->base_fd, f->id, AT_REMOVEDIR);
        records_close(f);
}

void records_close(struct record_folder *f) {
        close_fdp(&f->activity_fd);
        close_fdp(&f->lock_fd);
        close_fdp(&f->dir_fd);
        close_fdp(&f->base_fd);
        free(f->id);
        *f = RECORD_FOLDER_INIT;
}

int records_end(const struct record_folder *f, bool if_idle) {
        _cleanup_close_ int fd = -EBADF;

        if (if_idle && flock(f->activity_fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        fd = records_make_file(f->dir_fd, "ending");
        if (if_idle)
                (void)flock(f->activity_fd, LOCK_UN);
        return 0;
}

int records_hold(const struct record_folder *f, struct nsrun_error *err) {
        int r;

        do
                r = flock(f->activity_fd, LOCK_SH) < 0 ? -errno : 0;
        while (r == -EINTR);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, f->id, "the session can't be held",
                                 folder_hint);
        if (faccessat(f->dir_fd, "ending", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -ESRCH, f->id, "the session is ending",
                                 "start another one");
        return 0;
}

void records_touch(const struct record_folder *f) {
        (void)futimens(f->activity_fd, NULL);
}

uint64_t records_idle_seconds(const struct record_folder *f) {
        struct timespec now;
        struct stat st;

        if (flock(f->activity_fd, LOCK_EX | LOCK_NB) < 0)
                return 0;
        (void)flock(f->activity_fd, LOCK_UN);
        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (fstat(f->activity_fd, &st) < 0 || st.st_mtim.tv_sec >= now.tv_sec)
                return 0;
        return (uint64_t)(now.tv_sec - st.st_mtim.tv_sec);
}
