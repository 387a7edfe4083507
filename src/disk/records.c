/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folders of sessions' records: made, locked, found, listed, removed; the record's file, read and written.
 * A name is taken while its lock is held; nothing in a dead monitor's record is believed. */
#include "records.h"

#include <limits.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/str.h"
#include "exposed.h"
#include "host/user.h"
#include "locked.h"
#include "rundir.h"

enum {
        NAME_MOST = 64,
        TOLD_MOST = 64 * 1024,
        RECORD_MOST = 64 * 1024 * 1024, /* bytes; the record of a plan with 100,000 rules has some 20 MiB */
};

static const char folder_hint[] =
        "set XDG_RUNTIME_DIR to a folder of your own that nobody else may write to";

/* $XDG_RUNTIME_DIR counts only if it is absolute, as its specification says; else it is in the folder of run
 * directories, which may be known. */
static int find_base(const char *runs, char **ret, struct nsrun_error *err) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        _cleanup_free_ char *parent = NULL;
        char *path;
        int r;

        if (runtime && path_is_absolute(runtime)) {
                _cleanup_free_ char *canonical = NULL;

                r = path_canonical_to_be(runtime, &canonical);
                if (r < 0)
                        return responds_fail(r, runtime, err);
                parent = path_join(canonical, "nsrun");
        } else if (runs) {
                parent = strdup(runs);
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

int records_find_base(char **ret, struct nsrun_error *err) {
        return find_base(NULL, ret, err);
}

int records_find_folders(char **ret_runs, char **ret_state, char **ret_records) {
        int r = rundir_find_base(ret_runs, NULL);

        if (r != -ENOMEM)
                r = exposed_find_base(ret_state, NULL);
        if (r != -ENOMEM)
                r = find_base(*ret_runs, ret_records, NULL);
        return r == -ENOMEM ? r : 0;
}

/* Refuses a folder of sessions that others can change: whoever forges a record has the user's commands enter
 * namespaces of his. */
static int refuse_shared(int fd, const struct stat *st, const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *quoted = NULL, *fix = NULL;
        char words[USER_WRITERS_SIZE];
        const char *writers = user_writers(fd, st, words);

        if (st->st_uid == geteuid() && !writers)
                return 0;
        if (st->st_uid != geteuid())
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EPERM), path,
                                 "the folder of sessions belongs to another user", folder_hint);
        /* One like /tmp is for everybody, and stays so. */
        if (!(st->st_mode & S_ISVTX) && (quoted = str_shell_quote(path)))
                fix = str_concat("chmod go-w ", quoted, "");
        return error_setf(err, NSRUN_STAGE_SUPERVISE, UNSAID(-EPERM), path, fix ? fix : folder_hint,
                          "%s may write to the folder of sessions", writers);
}

/* Refuses XDG_RUNTIME_DIR, or what it is below it, where a command of an earlier run could have written.
 * The usual folder was never any command's (policy/session.c). */
static int refuse_exposed(const char *path, struct nsrun_error *err) {
        _cleanup_exposed_ struct exposed known = {0};
        char usual[64];
        int r;

        (void)snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned)geteuid());
        if (path_is_beneath(path, usual))
                return 0;
        r = exposed_read(&known);
        if (r < 0)
                return error_oom(err);
        return exposed_is_known(&known, path)
                       ? error_set(err, NSRUN_STAGE_SUPERVISE, -EPERM, path,
                                   "the folder of sessions lies where an earlier run could write",
                                   folder_hint)
                       : 0;
}

static int refuse_failed(int r, const char *path, const char *what, struct nsrun_error *err) {
        _cleanup_free_ char *fix = rundir_mode_fix(r, path);

        return error_set(
                err, NSRUN_STAGE_SUPERVISE, r, path, what,
                fix ? fix
                : r == -ENOSPC || r == -EDQUOT
                        ? "make room there, or set XDG_RUNTIME_DIR to another folder of your own that nobody else "
                          "may write to"
                : r == -EROFS ? RUNDIR_READ_ONLY_FIX
                              : folder_hint);
}

/* Opens the folder `name` in `dir`; with `makes` a missing one is made.  Fails unless it is this
 * user's and nobody else can write to it. */
static int records_enter(int dir, const char *path, const char *name, bool makes, struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (makes && mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
                return refuse_failed(-errno, path, "the folder of sessions can't be made", err);
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && !makes)
                return -ENOENT;
        if (fd < 0 || fstat(fd, &st) < 0)
                return refuse_failed(-errno, path, "the folder of sessions can't be opened", err);
        r = refuse_shared(fd, &st, path, err);
        return r < 0 ? r : TAKE_FD(fd);
}

/* Opens the folder in which the folder of all records lies. */
static int open_parent(const char *parent, bool makes, struct nsrun_error *err) {
        _cleanup_free_ char *above = path_parent(parent), *cache = NULL;
        _cleanup_close_ int top = -EBADF;
        bool is_cache = rundir_find_base(&cache, NULL) >= 0 && streq(cache, parent);
        struct stat st;
        int fd = -EBADF, r = 0;

        if (!above)
                return error_oom(err);
        /* If it is nsrun's cache folder it is made as for run directories. */
        if (makes && is_cache) {
                _cleanup_free_ char *path = NULL;

                r = rundir_open_base(&fd, &path, err);
                return r < 0 ? r : fd;
        }
        top = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (top < 0 && errno == ENOENT && !makes)
                return -ENOENT;
        if (top < 0 || fstat(top, &st) < 0)
                return refuse_failed(-errno, above, "the folder of sessions can't be opened", err);
        if (!is_cache)
                r = refuse_shared(top, &st, above, err);
        if (r >= 0 && !is_cache)
                r = refuse_exposed(above, err);
        return r < 0 ? r : records_enter(top, parent, path_basename(parent), makes, err);
}

/* Opens the folder of all records.  -ENOENT without *err filled: it doesn't exist, and `makes` is
 * false. */
static int open_base(bool makes, int *ret, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL, *parent = NULL;
        _cleanup_close_ int middle = -EBADF;
        int r = records_find_base(&path, err);

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

static int records_make_file(int dir_fd, const char *name) {
        int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        return fd < 0 ? -errno : fd;
}

/* Why nsrun has ended it, beside the records, for a day. */
#define ENDED ".ended-"

enum {
        ENDED_SIZE = sizeof(ENDED) + NAME_MOST,
        ENDED_SECONDS = 24 * 60 * 60,
};

static void ended_name(const char *id, char to[ENDED_SIZE]) {
        (void)snprintf(to, ENDED_SIZE, ENDED "%s", id);
}

static char *read_why(int folder, const char *name) {
        char *why = NULL;

        (void)read_small_file(folder, name, O_NOFOLLOW, TOLD_MOST, &why);
        if (why && !*why)
                free(TAKE_PTR(why));
        return why;
}

static void remove_old_why(int base_fd, const char *name) {
        struct stat st;

        if (fstatat(base_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_mtim.tv_sec + ENDED_SECONDS < time(NULL))
                (void)unlinkat(base_fd, name, 0);
}

/* Adds the names of running sessions to the vector that `data` points to, if it isn't NULL, and removes
 * the records of dead monitors. */
static int records_look_at(void *data, int base_fd, const struct dirent *entry) {
        char path[NAME_MAX + sizeof("/record")];

        if (startswith(entry->d_name, ENDED)) {
                remove_old_why(base_fd, entry->d_name);
                return 0;
        }
        (void)snprintf(path, sizeof(path), "%s/record", entry->d_name);
        if (!locked_is_held(base_fd, entry->d_name, -1) || entry->d_name[0] == '.' || !data ||
            faccessat(base_fd, path, F_OK, 0) < 0)
                return 0;
        return strv_add(data, entry->d_name);
}

int records_refuse_name(const char *name, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, name, "no name for a session",
                         "1 to 64 letters, digits, '.', '_' and '-', a letter or digit first");
}

int records_make(const char *name, struct record_folder *ret, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder f = RECORD_FOLDER_INIT;
        _cleanup_close_ int told = -EBADF;
        char ended[ENDED_SIZE];
        struct timespec now;
        int r;

        if (name && !records_is_name(name))
                return records_refuse_name(name, err);
        r = open_base(true, &f.base_fd, err);
        if (r < 0)
                return r;
        (void)folder_each(f.base_fd, records_look_at, NULL);
        f.id = name ? strdup(name) : malloc(9);
        if (!f.id)
                return error_oom(err);
        r = name ? 0 : locked_random(f.id, 8);
        if (r >= 0)
                r = locked_make(f.base_fd, ".new-", f.id, &f.dir_fd, &f.lock_fd);
        if (r == -EEXIST)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, f.id, "there is a session of this name",
                                 "stop it, or choose another name");
        ended_name(f.id, ended);
        (void)unlinkat(f.base_fd, ended, 0);
        if (r >= 0)
                r = told = records_make_file(f.dir_fd, "told");
        if (r >= 0)
                r = f.activity_fd = records_make_file(f.dir_fd, "activity");
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        if (r >= 0)
                r = records_sweep(f.activity_fd, &now);
        if (r < 0) {
                r = error_set(err, NSRUN_STAGE_SUPERVISE, r, f.id, "the session can't be written down",
                              folder_hint);
                records_remove(&f);
                return r;
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

static int refuse_ended(int r, const char *name, const char *what, const char *why, const char *hint,
                        struct nsrun_error *err) {
        _cleanup_free_ char *text = why ? str_concat("it has ended: ", why, "") : NULL;

        return error_set(err, NSRUN_STAGE_SUPERVISE, r, name, what, text ? text : hint);
}

static int no_session(const struct record_folder *f, const char *name, struct nsrun_error *err) {
        _cleanup_free_ char *why = NULL;
        char ended[ENDED_SIZE];

        ended_name(name, ended);
        why = read_why(f->base_fd, ended);
        return refuse_ended(-ENOENT, name, "no such session", why,
                            "'nsrun session list' shows those there are", err);
}

int records_open(const char *name, struct record_folder *ret, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder f = RECORD_FOLDER_INIT;
        int r;

        if (!records_is_name(name))
                return no_session(&f, name, err);
        r = open_base(false, &f.base_fd, err);
        if (r < 0)
                return r == -ENOENT ? no_session(&f, name, err) : r;
        if (locked_is_held(f.base_fd, name, -1))
                f.dir_fd = openat(f.base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (f.dir_fd >= 0)
                f.activity_fd = openat(f.dir_fd, "activity", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (f.activity_fd < 0)
                return no_session(&f, name, err);
        f.id = strdup(name);
        if (!f.id)
                return error_oom(err);
        *ret = f;
        f = RECORD_FOLDER_INIT;
        return 0;
}

char *records_why(const char *id) {
        _cleanup_records_ struct record_folder f = RECORD_FOLDER_INIT;
        _cleanup_close_ int base = -EBADF;
        char name[ENDED_SIZE];

        if (records_open(id, &f, NULL) >= 0)
                return read_why(f.dir_fd, "ending");
        ended_name(id, name);
        return open_base(false, &base, NULL) < 0 ? NULL : read_why(base, name);
}

int records_read(const struct record_folder *f, char **ret, size_t *ret_n, struct nsrun_error *err) {
        _cleanup_close_ int fd = openat(f->dir_fd, "record", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int r = fd < 0 ? -errno : read_bytes_fd(fd, RECORD_MOST, ret, ret_n);

        /* Without the file the session's monitor holds the lock and hasn't written the record yet. */
        if (r == -ENOENT)
                return no_session(f, f->id, err);
        if (r == -ENOMEM)
                return error_oom(err);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, fd < 0 ? r : -EBADMSG, f->id,
                                 "what was written down of the session can't be read", NULL)
                     : 0;
}

int records_tell(const struct record_folder *f, const char *line) {
        _cleanup_close_ int fd = openat(f->dir_fd, "told", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ char *whole = str_concat(line, "\n", "");

        if (!whole)
                return -ENOMEM;
        return fd < 0 ? -errno : write_full(fd, whole, strlen(whole));
}

int records_open_told(const struct record_folder *f, struct nsrun_error *err) {
        int fd = openat(f->dir_fd, "told", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (fd >= 0)
                return fd;
        /* It ends just now. */
        return errno == ENOENT ? no_session(f, f->id, err)
                               : error_set(err, NSRUN_STAGE_SUPERVISE, -errno, f->id,
                                           "what the session's end says can't be read", NULL);
}

int records_read_told(int fd, char ***ret) {
        _cleanup_free_ char *text = malloc(TOLD_MOST + 1);
        _cleanup_strv_ char **lines = NULL;
        size_t n = 0;
        int r = text ? read_full(fd, text, TOLD_MOST, &n) : -ENOMEM;

        if (r < 0)
                return r;
        text[n] = '\0';
        for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
                *end = '\0';
                if (strv_add(&lines, at) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(lines);
        return 0;
}

int records_list(char ***ret, struct nsrun_error *err) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_close_ int base_fd = -EBADF;
        int r = open_base(false, &base_fd, err);

        if (r == -ENOENT && (!err || err->stage == NSRUN_STAGE_NONE)) {
                *ret = NULL;
                return 0;
        }
        if (r < 0)
                return r;
        r = folder_each(base_fd, records_look_at, &names);
        if (r < 0)
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                                "the folder of sessions can't be read", folder_hint);
        strv_sort(names, strv_length(names));
        *ret = TAKE_PTR(names);
        return 0;
}

void records_remove(struct record_folder *f) {
        char ended[ENDED_SIZE];
        struct stat st;

        if (f->dir_fd >= 0 && f->id && fstatat(f->dir_fd, "ending", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_size > 0) {
                ended_name(f->id, ended);
                (void)renameat(f->dir_fd, "ending", f->base_fd, ended);
        }
        if (f->dir_fd >= 0 && f->id)
                locked_remove(f->base_fd, f->id, f->dir_fd);
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

int records_end(const struct record_folder *f, bool if_idle, const char *why) {
        _cleanup_close_ int fd = -EBADF;

        if (if_idle && flock(f->activity_fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        fd = records_make_file(f->dir_fd, "ending");
        if (fd >= 0 && why)
                (void)write_full(fd, why, strlen(why));
        if (if_idle)
                (void)flock(f->activity_fd, LOCK_UN);
        return 0;
}

int records_hold(const struct record_folder *f, struct nsrun_error *err) {
        _cleanup_free_ char *why = NULL;
        int r;

        do
                r = flock(f->activity_fd, LOCK_SH) < 0 ? -errno : 0;
        while (r == -EINTR);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, f->id, "the session can't be held",
                                 folder_hint);
        if (faccessat(f->dir_fd, "ending", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        why = read_why(f->dir_fd, "ending");
        return refuse_ended(-ESRCH, f->id, "the session is ending", why, "start another one", err);
}

void records_touch(int activity_fd) {
        (void)futimens(activity_fd,
                       (const struct timespec[]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}});
}

int records_sweep(int activity_fd, const struct timespec *until) {
        ssize_t n = pwrite(activity_fd, until, sizeof(*until), 0);

        return n < 0 ? -errno : n == sizeof(*until) ? 0 : -ENOSPC;
}

struct timespec records_last_sweep(const struct record_folder *f) {
        struct timespec until;

        /* What can't be read was long ago: more is looked through then. */
        if (pread(f->activity_fd, &until, sizeof(until), 0) != sizeof(until))
                return (struct timespec){.tv_sec = 1};
        return until;
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
