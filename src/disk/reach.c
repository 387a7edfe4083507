/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who could have put a symlink where it is.  Every folder above it is opened by descriptor, from the root
 * down, and through no symlink; none is believed by its name alone. */
#include "reach.h"

#include <limits.h>

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "host/project.h"
#include "host/user.h"
#include "host/userns.h"

/* The kernel's own limit of symlinks in one path. */
#define LINKS_MAX 40

/* The uid that a user namespace shows for all those that it doesn't map. */
#define OVERFLOW_UID 65534

/* ------------------------------------------------------------------ the way */

/* One step: from *at, a canonical path, to its entry `name`.  If that is a symlink (1), *at stays, *rest
 * becomes the link's text followed by `after`, and *ret_link the link's path; if not (0), *at becomes the
 * entry. */
static int reach_step(char **at, const char *name, size_t length, char **rest, const char *after,
                      char **ret_link) {
        _cleanup_free_ char *next = NULL, *spliced = NULL;
        char text[PATH_MAX];
        ssize_t n;

        next = str_format("%s/%.*s", streq(*at, "/") ? "" : *at, (int)length, name);
        if (!next)
                return -ENOMEM;
        n = readlink(next, text, sizeof(text) - 1);
        if (n < 0) {
                free(*at);
                *at = TAKE_PTR(next);
                return 0;
        }
        text[n] = '\0';
        spliced = str_concat(text, "/", after);
        if (!spliced)
                return -ENOMEM;
        if (text[0] == '/')
                (*at)[1] = '\0';
        free(*rest);
        *rest = TAKE_PTR(spliced);
        *ret_link = TAKE_PTR(next);
        return 1;
}

/* Whether a name is "." or "..", which lead *at to itself or to its parent. */
static bool is_dots(const char *name, size_t n) {
        return (n == 1 && name[0] == '.') || (n == 2 && name[0] == '.' && name[1] == '.');
}

int reach_each_link(const char *spelled, const char *canonical, int (*found)(void *data, const char *link),
                    void *data) {
        _cleanup_free_ char *at = strdup("/"), *rest = strdup(spelled);
        const char *next = rest;

        for (unsigned links = 0; at && rest;) {
                _cleanup_free_ char *link = NULL;
                size_t n;
                int r;

                next += strspn(next, "/");
                n = strcspn(next, "/");
                if (n == 0)
                        return streq(at, canonical) ? 0 : -EAGAIN;
                if (is_dots(next, n)) {
                        char *parent = n == 2 ? path_parent(at) : strdup(at);

                        free(at);
                        at = parent;
                        next += n;
                        continue;
                }
                r = reach_step(&at, next, n, &rest, next + n, &link);
                if (r < 0)
                        return r;
                if (r == 0) {
                        next += n;
                        continue;
                }
                r = ++links > LINKS_MAX ? -EAGAIN : found(data, link);
                if (r != 0)
                        return r;
                next = rest;
        }
        return -ENOMEM;
}

/* -------------------------------------------------------------- other users */

bool reach_has_others(const char *folder, char *const *writable) {
        _cleanup_free_ char *above = strdup(folder);

        while (above && path_up(above)) {
                _cleanup_close_ int fd = -EBADF;
                bool is_changeable = false;
                struct stat st;

                STRV_FOREACH (root, writable)
                        is_changeable |= path_is_beneath(above, *root);
                if (is_changeable || lstat(above, &st) < 0 || (st.st_mode & S_IXOTH))
                        continue;
                fd = open(above, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
                    !user_lets_others_in(fd, &st))
                        return false;
        }
        return true;
}

/* Whether another user may make entries in the folder.  A sticky one keeps what is this user's from being
 * renamed, so that it is good enough above a folder of one's own (`is_above`), but not to hold a link. */
static bool is_others_too(int fd, const struct stat *st, bool is_above) {
        if (st->st_uid != 0 && st->st_uid != geteuid() &&
            (st->st_uid != OVERFLOW_UID || !userns_has_unmapped()))
                return true;
        if ((st->st_mode & S_ISVTX) && is_above)
                return false;
        return user_writers(fd, st, (char[USER_WRITERS_SIZE]){0});
}

/* -------------------------------------------------------------------- a link */

struct link_walk {
        const char *source, *home;
        bool is_known; /* what earlier runs could write */
        enum reach reach;
};

/* Judges one of the folders above the link.  `path` is its canonical path. */
static int judge_folder(struct link_walk *w, int fd, const char *path, bool is_above) {
        struct stat st, git;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (is_others_too(fd, &st, is_above))
                w->reach = REACH_OTHERS;
        else if (fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0 && !project_denied(path, w->home) &&
                 !path_is_beneath(w->source, path))
                w->reach = REACH_GIT;
        else if (!w->is_known && !writable_denied(path) &&
                 (st.st_uid == geteuid() || faccessat(fd, ".", W_OK, AT_EACCESS) == 0))
                w->reach = REACH_UNKNOWN;
        return 0;
}

/* Judges the folder and all above it, until one says no. */
static int judge_folders(struct link_walk *w, const char *folder) {
        _cleanup_close_ int here = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *path = strdup(folder);
        char *end = path;

        if (!path)
                return -ENOMEM;
        while (here >= 0) {
                char *name = end + strspn(end, "/"), *next = name + strcspn(name, "/");
                char kept = *end;
                int fd, r;

                *end = '\0';
                r = judge_folder(w, here, *path ? path : "/", *name != '\0');
                *end = kept;
                if (r < 0 || w->reach != REACH_NOBODY || !*name)
                        return r;
                kept = *next;
                *next = '\0';
                fd = openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                *next = kept;
                close_fdp(&here);
                here = fd;
                end = next;
        }
        return -EAGAIN;
}

int reach_of_link(const char *link, const char *source, const char *home, const struct exposed *known,
                  enum reach *ret) {
        struct link_walk w = {.source = source,
                              .home = home,
                              .is_known = known->state == EXPOSED_NOTHING || known->state == EXPOSED_KNOWN};
        _cleanup_free_ char *folder = path_parent(link);
        const char *at = NULL;
        int r;

        *ret = REACH_NOBODY;
        if (!folder)
                return -ENOMEM;
        for (;;) {
                _cleanup_free_ char *root = NULL;

                r = exposed_next(known, folder, &at, &root);
                if (r <= 0)
                        break;
                if (!path_is_beneath(source, root)) {
                        *ret = REACH_EARLIER;
                        return 0;
                }
        }
        if (r >= 0)
                r = judge_folders(&w, folder);
        *ret = w.reach;
        return r < 0 && r != -ENOMEM ? -EAGAIN : r;
}

/* ------------------------------------------------------------------ refusals */

static const struct {
        const char *place, *culprit;
} reasons[] = {
        [REACH_NOW] = {"in a writable folder", "a command in the sandbox"},
        [REACH_GIT] = {"in a git work tree", "who wrote the repository"},
        [REACH_EARLIER] = {"in a folder that an earlier run could write", "a command in the sandbox"},
        [REACH_OTHERS] = {"in a folder that others may write", "another user"},
        [REACH_UNKNOWN] = {"in a folder that an earlier run may have written", "a command in the sandbox"},
};

int reach_refuse(enum reach reach, const char *what, const char *link, const char *source,
                 struct nsrun_error *err) {
        _cleanup_free_ char *visible = str_visible(source);
        struct nsrun_error sizes;
        char hint[sizeof(sizes.hint)];

        if (!visible)
                return error_oom(err);
        (void)snprintf(
                hint, sizeof(hint), "it leads to %s, and %s may have planted it: name the real path%s",
                visible, reasons[reach].culprit,
                reach == REACH_UNKNOWN
                        ? " (nsrun's own file of earlier runs can't be read: nsrun-protect(7), SYMLINKS)"
                        : "");
        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), link, hint,
                          "%s goes through a symlink %s", what, reasons[reach].place);
}

int reach_refuse_changed(const char *what, const char *spelled, struct nsrun_error *err) {
        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), spelled, "name the real path",
                          "%s goes through symlinks that change while nsrun looks", what);
}

struct reach_look {
        const char *what, *source, *home;
        struct exposed known;
        struct nsrun_error *err;
};

static int reach_judge(void *data, const char *link) {
        const struct reach_look *look = data;
        enum reach reach = REACH_NOBODY;
        int r = reach_of_link(link, look->source, look->home, &look->known, &reach);

        return r < 0 || reach == REACH_NOBODY
                       ? r
                       : reach_refuse(reach, look->what, link, look->source, look->err);
}

int reach_check(const char *what, const char *spelled, const char *source, const char *home,
                struct nsrun_error *err) {
        struct reach_look look = {.what = what, .source = source, .home = home, .err = err};
        _cleanup_free_ char *absolute = NULL, *cwd = NULL;
        int r;

        if (streq(spelled, source))
                return 0;
        cwd = path_is_absolute(spelled) ? NULL : getcwd(NULL, 0);
        absolute = str_concat(cwd ? cwd : "", "/", spelled);
        if (!absolute)
                return error_oom(err);
        r = exposed_read(&look.known);
        if (r >= 0)
                r = reach_each_link(absolute, source, reach_judge, &look);
        exposed_clear(&look.known);
        return r == -EAGAIN ? reach_refuse_changed(what, spelled, err) : r == -ENOMEM ? error_oom(err) : r;
}
