/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See repositories.h.  The command has made all of it: no symlink is followed. */
#include "repositories.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/str.h"
#include "host/gitdir.h"
#include "host/gitorders.h"
#include "host/nested.h"

enum {
        TOLD_MAX = 10, /* of one folder */
        INDEX_MAX = 256 << 10,
};

/* Whether what git would obey is younger than the run.  The kernel alone sets a ctime. */
static bool is_touched(const struct repositories *r, int git_dir) {
        static const char *const names[] = {"config", "config.worktree", "hooks"};
        struct stat st;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (fstatat(git_dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    (st.st_ctim.tv_sec > r->since.tv_sec ||
                     (st.st_ctim.tv_sec == r->since.tv_sec && st.st_ctim.tv_nsec >= r->since.tv_nsec)))
                        return true;
        return false;
}

/* The git dir of the repository at `folder`; one that lies outside `within` is not the command's. */
static int open_git_dir(int folder, const char *path, const char *within) {
        _cleanup_free_ char *elsewhere = NULL;
        int fd = openat(folder, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0)
                return fd;
        if (errno != ENOTDIR || gitdir_of_file(folder, path, within, &elsewhere) < 0)
                return -ENOENT;
        fd = open(elsewhere, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* 1: it was told. */
static int look_at_one(const struct repositories *r, int folder, const char *path, int git_dir) {
        const char *carried = git_dir >= 0 && is_touched(r, git_dir) ? gitorders_carried(git_dir) : NULL;
        _cleanup_free_ char *dot_git = NULL;
        struct nsrun_error note = {0};
        struct stat st;
        int result;

        if (!carried || r->is_known(r->data, path) || fstatat(folder, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        dot_git = str_concat(path, "/.git", "");
        if (!dot_git)
                return -ENOMEM;
        (void)error_setf(&note, NSRUN_STAGE_SUPERVISE, 0, dot_git, NULL,
                         "the command made or changed a git repository with %s, which git obeys", carried);
        result = r->found(r->data, &note);
        return result < 0 ? result : 1;
}

static int look_below(const struct repositories *r, int folder, const char *path, const char *name) {
        _cleanup_close_ int fd = beneath_open(folder, name, O_PATH | O_DIRECTORY, 0), git_dir = -EBADF;
        _cleanup_free_ char *below = str_concat(path, "/", name);

        if (!below)
                return -ENOMEM;
        if (fd < 0 || r->is_known(r->data, below))
                return 0;
        git_dir = open_git_dir(fd, below, path);
        return look_at_one(r, fd, below, git_dir);
}

int repositories_look(const struct repositories *r, int folder, const char *path) {
        _cleanup_close_ int git_dir = open_git_dir(folder, path, path);
        const struct nested_places places = {.folder = folder, .git_dir = git_dir, .index_limit = INDEX_MAX};
        _cleanup_strv_ char **names = NULL;
        unsigned n_told = 0;
        int result = look_at_one(r, folder, path, git_dir);

        if (result >= 0)
                result = nested_find(&places, &names);
        STRV_FOREACH (name, names) {
                if (result < 0 || n_told >= TOLD_MAX)
                        break;
                result = look_below(r, folder, path, *name);
                n_told += result > 0;
        }
        return result < 0 ? result : 0;
}
