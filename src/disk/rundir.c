/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes, locks, removes and reclaims run directories.  A folder is called "workspace-…" only while
 * its lock is held or after its owner has died; while it is being made or removed, or is spare, it is called
 * ".workspace-…", and is empty but for the lock.  What else is in a run directory is its users'
 * business. */
#include "rundir.h"

#include <limits.h>

#include "base/causes.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/str.h"
#include "host/user.h"
#include "locked.h"
#include "remove_tree.h"

#define NAME_PREFIX  "workspace-" /* RUNDIR_NAME without its six random letters */
#define DRAFT_PREFIX "." NAME_PREFIX

enum {
        STALE_SECONDS = 7 * 24 * 60 * 60, /* the age at which a folder without a lock is removed */
};

static const char cache_hint[] = "set XDG_CACHE_HOME to a folder of your own on a local disk",
                  room_hint[] =
                          "make room there, or set XDG_CACHE_HOME to a folder of your own on a local disk";

int rundir_find_cache_home(char **ret, struct nsrun_error *err) {
        int r = user_find_folder("XDG_CACHE_HOME", ".cache", ret);

        return r == -ENOENT   ? error_set(err, NSRUN_STAGE_WORKSPACE, r, NULL,
                                          "neither HOME nor XDG_CACHE_HOME names a cache folder", cache_hint)
               : r == -ENOMEM ? error_oom(err)
                              : 0;
}

/* Makes a folder with mode 0700, whatever the umask is. */
static int rundir_make_folder(const char *path) {
        if (mkdir(path, 0700) < 0)
                return errno == EEXIST ? 0 : -errno;
        return chmod(path, 0700) < 0 ? -errno : 0;
}

int rundir_make_folders(char *path) {
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
                return error_cause(err, NSRUN_ERROR_CACHE_FOREIGN, UNSAID(-EPERM), path);
        if (user_writers(fd, &st, (char[USER_WRITERS_SIZE]){0})) {
                _cleanup_free_ char *quoted = str_shell_quote(path);
                _cleanup_free_ char *fix = quoted ? str_concat("chmod go-w ", quoted, "") : NULL;

                return error_cause_with(err, NSRUN_ERROR_CACHE_WRITABLE, UNSAID(-EPERM), path,
                                        fix ? fix : causes[NSRUN_ERROR_CACHE_WRITABLE].fix);
        }
        return 0;
}

int rundir_find_in(int (*find)(char **ret, struct nsrun_error *err), char **ret, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL, *canonical = NULL;
        int r = find(&spelled, err);

        if (r < 0)
                return r;
        r = path_canonical_to_be(spelled, &canonical);
        if (r < 0)
                return responds_fail(r, spelled, err);
        *ret = path_join(canonical, "nsrun");
        return *ret ? 0 : error_oom(err);
}

int rundir_open_in(int (*find)(char **ret, struct nsrun_error *err), const char *below) {
        _cleanup_free_ char *spelled = NULL, *base = NULL, *path = NULL;
        int r = find(&spelled, NULL);

        /* The way there is the kernel's; one that may not exist has ".." by its letters. */
        if (r >= 0 && strstr(spelled, ".."))
                r = rundir_find_in(find, &base, NULL);
        else if (r >= 0)
                r = (base = str_concat(spelled, "/", "nsrun")) ? 0 : -ENOMEM;
        if (r >= 0)
                r = (path = str_concat(base, *below ? "/" : "", below)) ? 0 : -ENOMEM;
        return r < 0 ? r : responds_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

int rundir_open_there(void) {
        return rundir_open_in(rundir_find_cache_home, "");
}

int rundir_find_base(char **ret, struct nsrun_error *err) {
        return rundir_find_in(rundir_find_cache_home, ret, err);
}

char *rundir_mode_fix(int r, const char *path) {
        _cleanup_free_ char *at = r == -EACCES ? strdup(path) : NULL, *last = NULL, *quoted = NULL;
        struct stat st;

        for (size_t n = 0; at && at[n];) {
                char c;

                n += 1 + strcspn(at + n + 1, "/");
                c = at[n];
                at[n] = '\0';
                if (stat(at, &st) < 0 || !S_ISDIR(st.st_mode))
                        break;
                free(last);
                last = NULL;
                /* Of a folder on the way only that one may enter it counts; of the last one all does. */
                if (st.st_uid == geteuid() && (st.st_mode & 0700) != 0700)
                        last = strdup(at);
                if (!(st.st_mode & 0100))
                        break;
                at[n] = c;
        }
        quoted = last ? str_shell_quote(last) : NULL;
        return quoted ? str_concat("chmod u+rwx ", quoted, "") : NULL;
}

static int refuse_unmade(int r, const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *mode_fix = rundir_mode_fix(r, path);
        const char *fix = causes[NSRUN_ERROR_CACHE_UNMADE].fix;

        if (mode_fix)
                fix = mode_fix;
        else if (r == -ENOSPC || r == -EDQUOT)
                fix = room_hint;
        else if (r == -EROFS)
                fix = RUNDIR_READ_ONLY_FIX;
        else if (path_is_beneath(path, "/.cache"))
                fix = "HOME is /: set HOME, or XDG_CACHE_HOME, to a folder of your own";
        return error_cause_with(err, NSRUN_ERROR_CACHE_UNMADE, r, path, fix);
}

/* What isn't a folder may be the one above, too. */
static int refuse_unopened(int r, const char *cache, const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *fix = rundir_mode_fix(r, path);
        struct stat st;

        return error_set(err, NSRUN_STAGE_WORKSPACE, r,
                         r == -ENOTDIR && stat(cache, &st) == 0 && !S_ISDIR(st.st_mode) ? cache : path,
                         "the cache folder can't be opened", fix ? fix : cache_hint);
}

int rundir_open_base(int *ret_fd, char **ret_path, struct nsrun_error *err) {
        _cleanup_free_ char *cache = NULL, *canonical = NULL, *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = rundir_find_cache_home(&cache, err);

        if (r < 0)
                return r;
        r = path_canonical(cache, &canonical, NULL);
        if (r == -ENOENT) {
                r = rundir_make_folders(cache);
                if (r == 0)
                        r = path_canonical(cache, &canonical, NULL);
        }
        if (r < 0)
                return refuse_unmade(r, cache, err);
        path = path_join(canonical, "nsrun");
        if (!path)
                return error_oom(err);

        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) {
                r = rundir_make_folder(path);
                if (r < 0)
                        return refuse_unmade(r, path, err);
                fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (fd < 0)
                return refuse_unopened(-errno, canonical, path, err);
        r = check_base(fd, path, err);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 0;
}

bool rundir_is_name(const char *name) {
        return startswith(name, NAME_PREFIX) != NULL;
}

bool rundir_is_uncarried(int base_fd, const char *name) {
        static const char *const files[] = {RUNDIR_CARRIED, RUNDIR_KEPT};
        char path[NAME_MAX + 1 + sizeof(RUNDIR_CARRIED)];

        for (size_t i = 0; rundir_is_name(name) && i < ARRAY_SIZE(files); i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", name, files[i]);
                if (faccessat(base_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                        return true;
        }
        return false;
}

struct rundir_sweeping {
        bool has_uncarried, has_others;
        struct rundir *taker; /* gets the first spare one; NULL: spare ones are removed */
        char *name;           /* the name that it has then */
};

static int rundir_sweep_one(void *data, int base_fd, const struct dirent *entry) {
        struct rundir_sweeping *s = data;
        const char *name = entry->d_name;
        bool is_spare = s->taker && startswith(name, LOCKED_SPARE);

        if (is_spare &&
            (s->taker->dir_fd >= 0 ||
             locked_take_spare(base_fd, name, s->name, &s->taker->dir_fd, &s->taker->lock_fd) >= 0))
                return 0;
        if (rundir_is_uncarried(base_fd, name))
                s->has_uncarried = true;
        else if (rundir_is_name(name) || startswith(name, DRAFT_PREFIX))
                s->has_others |= locked_is_held(base_fd, name, STALE_SECONDS);
        return 0;
}

bool rundir_sweep(int base_fd) {
        struct rundir_sweeping s = {0};

        (void)folder_each(base_fd, rundir_sweep_one, &s);
        return s.has_uncarried;
}

static int take_uncarried(nsrun_unused void *data, int base_fd, const struct dirent *entry) {
        return rundir_is_uncarried(base_fd, entry->d_name);
}

bool rundir_any_uncarried(void) {
        _cleanup_close_ int fd = rundir_open_there();

        return fd >= 0 && folder_read(fd, take_uncarried, NULL) != 0;
}

int rundir_make(struct rundir *ret, struct nsrun_error *err) {
        _cleanup_rundir_ struct rundir u = RUNDIR_INIT;
        _cleanup_free_ char *base = NULL, *path = NULL;
        char name[sizeof(RUNDIR_NAME)] = "";
        struct rundir_sweeping s = {.taker = &u, .name = name};
        int r = rundir_open_base(&u.base_fd, &base, err);

        if (r < 0)
                return r;
        path = path_join(base, RUNDIR_NAME);
        if (!path)
                return error_oom(err);
        (void)folder_each(u.base_fd, rundir_sweep_one, &s);
        u.has_uncarried = s.has_uncarried;
        u.has_others = s.has_others || s.has_uncarried;
        if (u.dir_fd < 0)
                r = locked_make(u.base_fd, DRAFT_PREFIX, name, &u.dir_fd, &u.lock_fd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, r, base,
                                 "a folder for this run can't be made and locked",
                                 r == -ENOSPC || r == -EDQUOT ? room_hint : cache_hint);
        strcpy(path + strlen(path) - strlen(name), name);
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

void rundir_close(struct rundir *u) {
        close_fdp(&u->lock_fd);
        close_fdp(&u->dir_fd);
        close_fdp(&u->base_fd);
        free(u->path);
        *u = RUNDIR_INIT;
}

static int remove_unless_away(nsrun_unused void *data, int dir_fd, const struct dirent *entry) {
        const char *name = entry->d_name;

        if (!streq(name, RUNDIR_AWAY) && !streq(name, RUNDIR_KEPT) && !streq(name, "lock"))
                (void)remove_tree(dir_fd, name);
        return 0;
}

void rundir_remove(struct rundir *u) {
        if (!u)
                return;
        if (u->dir_fd >= 0 && unlinkat(u->dir_fd, RUNDIR_AWAY, AT_REMOVEDIR) < 0 && errno == ENOTEMPTY)
                (void)folder_each(u->dir_fd, remove_unless_away, NULL);
        else if (u->dir_fd >= 0 && u->path)
                (u->is_shown ? locked_remove : locked_leave_spare)(u->base_fd, path_basename(u->path),
                                                                   u->dir_fd);
        rundir_close(u);
}

int rundir_sweep_all(struct nsrun_error *err) {
        _cleanup_free_ char *base = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = rundir_find_base(&base, err);

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
                (void)rundir_sweep(fd);
        return r;
}

char *rundir_rest(const char *base, const char *project, const char *layer) {
        _cleanup_free_ char *slug = path_slug(project);

        return slug ? str_format("%s/agents/%s/%s", base, slug, layer) : NULL;
}
