/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See killed.h.  The file has texts with a NUL behind each: of struct kept_by, and two for each addition. */
#include "killed.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/locked.h"
#include "disk/remove_tree.h"
#include "kept/kept_copy.h"
#include "private_folder.h"
#include "protect/protect_names.h"

enum {
        PLACEHOLDER_DAYS = 7,
};

/* At once, so that no kill leaves half of it; a session's commands write, too. */
static int write_texts(int fd, const char *const texts[], size_t n) {
        _cleanup_strbuf_ struct strbuf b = {0};

        for (size_t i = 0; i < n; i++)
                strbuf_add_bytes(&b, texts[i], strlen(texts[i]) + 1);
        return b.has_failed ? -ENOMEM : write_full(fd, b.text, b.length);
}

int killed_begin(const char *rundir, const struct kept_by *k, struct killed *ret) {
        const char *const texts[] = {k->project, k->command, k->session ? k->session : ""};
        _cleanup_free_ char *path = path_join(rundir, RUNDIR_KEPT), *folder = path_join(rundir, RUNDIR_AWAY);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!path || !folder)
                return -ENOMEM;
        fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (k->session ? 0 : O_CREAT | O_EXCL),
                  0600);
        if (fd < 0 || fd_lift(&fd) < 0)
                return -errno;
        r = k->session ? 0 : write_texts(fd, texts, ARRAY_SIZE(texts));
        if (r < 0)
                return r;
        (void)mkdir(folder, 0700);
        ret->away = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)fd_lift(&ret->away);
        ret->fd = TAKE_FD(fd);
        return 0;
}

void killed_close(struct killed *k) {
        close_fdp(&k->fd);
        close_fdp(&k->away);
}

void killed_add(const struct killed *k, const char *what, const char *path) {
        if (k->fd >= 0)
                (void)write_texts(k->fd, (const char *const[]){what, path}, 2);
}

char *killed_rundir(const struct killed *k) {
        _cleanup_free_ char *path = k && k->away >= 0 ? fd_name(k->away) : NULL;

        return path ? path_parent(path) : NULL;
}

/* Whether it lies in the folder around all run directories' one, which a rule may show: in what is moved
 * from there to a run directory ".." leads on. */
static bool is_shown_with_rundirs(const struct killed *k, const char *path) {
        _cleanup_free_ char *around = fd_name(k->away);

        for (unsigned i = 0; i < 3; i++)
                if (!around || !path_up(around))
                        return true;
        return path_is_beneath(path, around);
}

static int name_away(const struct killed *k, const char *path, char **ret) {
        _cleanup_free_ char *what = NULL;
        uint64_t number;
        int r;

        if (k->away < 0)
                return -EXDEV;
        if (getrandom(&number, sizeof(number), 0) != sizeof(number))
                return -EIO;
        what = str_format(RUNDIR_AWAY "/%016" PRIx64, number);
        if (!what)
                return -ENOMEM;
        r = write_texts(k->fd, (const char *const[]){what, path}, 2);
        if (r >= 0)
                *ret = strdup(what + strlen(RUNDIR_AWAY "/"));
        return r < 0 || *ret ? r : -ENOMEM;
}

int killed_name(const struct killed *k, const char *path, char **ret) {
        return k->away < 0 || is_shown_with_rundirs(k, path) ? -EXDEV : name_away(k, path, ret);
}

int killed_take(struct killed *k, int parent, const char *name, const char *path, char **ret) {
        _cleanup_free_ char *away = NULL;
        int r = killed_name(k, path, &away);

        if (r >= 0 && syscall(SYS_renameat2, parent, name, k->away, away, RENAME_NOREPLACE) < 0)
                r = -errno;
        if (r < 0)
                return r;
        k->has_taken = true;
        *ret = TAKE_PTR(away);
        return 0;
}

int killed_copy(const struct killed *k, int parent, const char *name, const char *path, char **ret) {
        _cleanup_close_ int fd =
                openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        _cleanup_free_ char *away = NULL;
        struct stat st;
        int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;

        if (r >= 0 && file_has_writer(fd))
                r = -EBUSY;
        if (r >= 0)
                r = name_away(k, path, &away);
        if (r >= 0)
                r = kept_copy(KEPT_COPIED_WHOLE, parent, name, k->away, away, 0777);
        if (r >= 0)
                *ret = TAKE_PTR(away);
        return r;
}

static bool moves_back(int away_fd, const char *away, int parent, const char *name) {
        for (unsigned i = 0; parent >= 0 && i < 2; i++) {
                if (syscall(SYS_renameat2, away_fd, away, parent, name, RENAME_NOREPLACE) == 0)
                        return true;
                /* The command has closed the folder. */
                if (errno != EACCES || folder_open_to_owner(parent) < 0)
                        return false;
        }
        return false;
}

int killed_put_back(int away_fd, const char *away, int root, const char *path, const char *below,
                    char **ret) {
        const char *base = path_basename(below);
        _cleanup_free_ char *folder = path_join("/", below), *at = NULL;
        _cleanup_free_ char *name =
                str_format("%s%.*s.aside-%s", *base == '.' ? "" : ".",
                           NAME_MAX - (int)strlen("..aside-") - (int)strlen(away), base, away);
        bool is_back = false;

        if (!folder || !name)
                return -ENOMEM;
        while (!is_back && path_up(folder)) {
                _cleanup_close_ int parent = beneath_open(root, folder + 1, O_PATH | O_DIRECTORY, 0);

                is_back = moves_back(away_fd, away, parent, name);
        }
        at = is_back ? str_concat(path, streq(folder, "/") ? "" : folder, "") : fd_name(away_fd);
        *ret = at ? str_concat(at, "/", is_back ? name : away) : NULL;
        return *ret ? 0 : -ENOMEM;
}

struct keeping_killed {
        const struct rundir *u;
        int away;
        bool is_alive; /* its commands were killed, if any; and not who has its folders */
        struct kept_by kept_by;
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
};

/* Back in the project, if it was below that. */
static int put_killed_back(const struct keeping_killed *x, const char *away, const char *folder,
                           const char *path, char **ret) {
        const char *project = x->kept_by.project;
        const char *top = project[1] && path_is_beneath(folder, project) ? project : folder;
        _cleanup_close_ int root = beneath_open_canonical(top, O_PATH | O_DIRECTORY);

        return killed_put_back(x->away, away, root, top, path_below(path, top), ret);
}

/* 1: it is kept; 0: there is nothing; else *ret_place is where it lies now. */
static int keep_killed_aside(struct keeping_killed *x, const char *what, const char *path,
                             char **ret_place) {
        _cleanup_free_ char *folder = path_parent(path);
        _cleanup_close_ int parent = beneath_open_parent(path);
        const char *away = startswith(what, RUNDIR_AWAY "/"), *name = away ? away : what;
        int from = away ? x->away : parent, r = 0;
        bool is_copy = false;

        if (!folder)
                return -ENOMEM;
        /* It was killed before that took something's place. */
        if (away && from >= 0 && protect_is_placeholder(from, name, NULL))
                return unlinkat(from, name, AT_REMOVEDIR) < 0 ? -errno : 0;
        /* A command of the session has kept it, and left it to the next. */
        if (away && x->is_alive && from >= 0 && kept_by_has(&x->kept_by, path, from, name))
                return remove_tree(from, name) == -ENOMEM ? -ENOMEM : 0;
        for (unsigned i = 0; i < 2; i++) {
                r = from < 0                                               ? from
                    : faccessat(from, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? -errno
                    : x->kept_by.n >= KEPT_MOST_NEW
                            ? -ENOSPC
                            : kept_by_put(&x->kept_by,
                                          &(struct kept){.path = (char *)(uintptr_t)path,
                                                         .reason = (char *)(uintptr_t)KEPT_PROTECTED,
                                                         .is_whole = true},
                                          from, name);
                is_copy = r == 1;
                r = r < 0 ? r : remove_tree(from, name);
                /* The command has closed the folder. */
                if (r != -EACCES || from < 0 || folder_open_to_owner(from) < 0)
                        break;
        }
        if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
                return 0;
        if (r >= 0 || r == -ENOMEM)
                return r < 0 ? r : !is_copy;
        if (away)
                return put_killed_back(x, away, folder, path, ret_place) < 0 ? -ENOMEM : r;
        *ret_place = str_concat(folder, "/", what);
        return *ret_place ? r : -ENOMEM;
}

/* "NAMESPACE PATH": whose run directory it is, in which mount namespace its owner sees that. */
static uint64_t own_mount_namespace(void) {
        struct stat st;

        return stat("/proc/self/ns/mnt", &st) < 0 ? 0 : st.st_ino;
}

static bool is_owned_by(const char *owner, const char *rundir) {
        const char *path = strchr(owner, ' ');

        return path && streq(path + 1, rundir);
}

/* Whether nobody lives who has it; a command may have written what is said of that.  Of another mount
 * namespace's, and of another user's, nobody here knows: it goes as old folders without a lock do. */
static bool is_given_up(const char *owner, const struct stat *st) {
        const char *path = strchr(owner, ' '), *name = path ? path_basename(++path) : "";
        int alive;

        if (!path || !path_is_absolute(path) || !rundir_is_name(name) ||
            name - path < (ptrdiff_t)strlen("/nsrun/") || !startswith(name - strlen("/nsrun/"), "/nsrun/"))
                return true;
        alive = strtoull(owner, NULL, 10) == own_mount_namespace() ? locked_has_owner(path) : -EACCES;
        return alive < 0 ? time(NULL) - st->st_ctim.tv_sec > PLACEHOLDER_DAYS * (time_t)86400 : alive == 0;
}

int killed_make_placeholder(const char *rundir, int folder, const char *name, mode_t mode) {
        _cleanup_free_ char *owner = str_format("%ju %s", (uintmax_t)own_mount_namespace(), rundir);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!owner)
                return -ENOMEM;
        if (mkdirat(folder, name, 0700) < 0)
                return -errno;
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = fd < 0 || fchmod(fd, PROTECT_PLACEHOLDER_MODE | mode) < 0 ||
                            fsetxattr(fd, PROTECT_PLACEHOLDER_OF, owner, strlen(owner), 0) < 0
                    ? -errno
                    : 0;
        /* A file system has its own idea of modes, or no attributes. */
        return r < 0                                        ? (r == -ENOTSUP ? -EXDEV : r)
               : protect_is_placeholder(folder, name, NULL) ? 0
                                                            : -EXDEV;
}

bool killed_end_placeholder(const char *rundir, int parent, const char *name) {
        char owner[PATH_MAX] = "";
        struct stat st;

        /* The command may have closed the folder since. */
        if (rundir && faccessat(parent, ".", W_OK | X_OK, 0) < 0)
                (void)folder_open_to_owner(parent);
        if (!protect_is_placeholder(parent, name, owner))
                return false;
        if ((rundir && is_owned_by(owner, rundir)) ||
            (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && is_given_up(owner, &st)))
                (void)unlinkat(parent, name, AT_REMOVEDIR);
        return true;
}

bool killed_is_anothers(const struct killed *k, int folder, const char *name) {
        char owner[PATH_MAX] = "";
        _cleanup_close_ int fd = protect_open_placeholder(folder, name, owner);
        _cleanup_free_ char *rundir = killed_rundir(k);
        struct stat st;

        return fd >= 0 && fstat(fd, &st) >= 0 && !(rundir && is_owned_by(owner, rundir)) &&
               !is_given_up(owner, &st);
}

int killed_has_placeholder(const char *rundir, const char *path) {
        _cleanup_close_ int parent = beneath_open_parent(path), fd = -EBADF;
        char owner[PATH_MAX] = "";

        if (parent < 0)
                return parent == -ENOMEM ? parent : 0;
        fd = protect_open_placeholder(parent, path_basename(path), owner);
        return fd >= 0 && is_owned_by(owner, rundir);
}

int killed_remove_placeholder(const char *rundir, const char *path) {
        _cleanup_close_ int parent = beneath_open_parent(path);

        if (parent >= 0)
                (void)killed_end_placeholder(rundir, parent, path_basename(path));
        return parent == -ENOMEM ? parent : 0;
}

static int keep_killed(struct keeping_killed *x, const char *what, const char *path) {
        const char *number = strstr(what, ".aside-") ? NULL : startswith(what, PLAN_PRIVATE_LAYER);
        const struct private_folder folder = {.path = path, .rundir = x->u->dir_fd, .kept_by = &x->kept_by};
        _cleanup_free_ char *place = NULL;
        struct nsrun_error note = {0};
        uint64_t n = 0;
        int r;

        if (streq(what, KILLED_PLACEHOLDER))
                return killed_remove_placeholder(x->u->path, path);
        if (number && str_parse_number(number, false, &n) >= 0) {
                struct private_folder one = folder;

                one.number = (size_t)n;
                r = x->is_alive ? 0 : private_folder_end(&one);
        } else {
                r = keep_killed_aside(x, what, path, &place);
        }
        /* A session's command has kept it, or nobody has made anything of it. */
        if (r == 0 || r == -ENOENT || r == -ENOMEM)
                return r == -ENOMEM ? r : 0;
        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, place ? place : path,
                        r > 0   ? "what the command of an earlier run left here is kept aside"
                        : place ? "what came to be in an earlier run can't be kept aside, and is renamed"
                                : "what the command of an earlier run left here can't be kept aside",
                        place ? "look at it: if it is yours, give it its name again, else remove it" : NULL);
        return x->found(x->data, &note);
}

int killed_keep(const struct rundir *u, bool is_alive,
                int (*found)(void *data, const struct nsrun_error *note), void *data) {
        _cleanup_close_ int fd = beneath_open(u->dir_fd, RUNDIR_KEPT, O_RDONLY | O_NONBLOCK, 0);
        _cleanup_close_ int away =
                openat(u->dir_fd, RUNDIR_AWAY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct keeping_killed x = {.u = u,
                                   .away = away < 0 ? -ENOENT : away,
                                   .is_alive = is_alive,
                                   .found = found,
                                   .data = data};
        FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
        char *texts[5] = {0};
        size_t sizes[ARRAY_SIZE(texts)] = {0}, n = 0;
        int r = 0;

        if (file)
                (void)TAKE_FD(fd);
        /* The first three are of struct kept_by. */
        for (; r >= 0 && file && getdelim(&texts[n], &sizes[n], '\0', file) > 0; n = n == 4 ? 3 : n + 1) {
                if (n == 2)
                        x.kept_by = (struct kept_by){.project = texts[0],
                                                     .command = texts[1],
                                                     .session = *texts[2] ? texts[2] : NULL};
                if (n == 4)
                        r = keep_killed(&x, texts[3], texts[4]);
        }
        if (file)
                (void)fclose(file);
        if (r >= 0)
                r = kept_by_tell(&x.kept_by, found, data);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                free(texts[i]);
        return r == -ENOMEM ? r : 0;
}
