/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sweeps git dirs when the command has ended.  Every byte and every mode below them is the
 * command's: no symlink is followed, and all work is bounded. */
#include "gitdirs.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/path.h"

enum {
        ENTRIES_MAX = 50000,
        DEPTH_MAX = 32,
        TODO_MAX = 1 << 20,
};

struct sweep {
        struct gitdirs *dirs;
        bool is_first; /* before the command: symlinks are listed, and nothing is changed */
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
        unsigned n_entries;
        bool is_cut; /* the sweep is not complete: there was too much, or something can't be read */
};

static int open_dir(const char *path, int *ret) {
        *ret = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* The command's standard streams may be closed. */
        return *ret < 0 ? -errno : fd_lift(ret);
}

void gitdirs_clear(struct gitdirs *g) {
        free(g->git_dir);
        free(g->common_dir);
        close_fdp(&g->git_fd);
        close_fdp(&g->common_fd);
        strv_free(g->links);
        *g = GITDIRS_INIT;
}

static int tell_finding(struct sweep *s, const char *path, const char *what) {
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, path, what, NULL);
        return s->found(s->data, &note);
}

static bool is_new(const struct sweep *s, const struct stat *st) {
        const struct timespec *since = &s->dirs->since;

        return st->st_ctim.tv_sec > since->tv_sec ||
               (st->st_ctim.tv_sec == since->tv_sec && st->st_ctim.tv_nsec >= since->tv_nsec);
}

/* Whether a symlink is a reference: with core.preferSymlinkRefs git makes HEAD and its like links
 * to refs/…. */
static bool is_reference(int folder, const char *name) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        if (n < 0)
                return false;
        text[n] = '\0';
        return startswith(text, "refs/") && !strstr(text, "..");
}

/* "PATH -> TEXT"; NULL: it is gone, or for want of memory. */
static char *describe_link(int folder, const char *name, const char *path) {
        char text[PATH_MAX], *line;
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        if (n < 0)
                return NULL;
        text[n] = '\0';
        return asprintf(&line, "%s -> %s", path, text) < 0 ? NULL : line;
}

/* Opens a folder.  One whose mode keeps nsrun from reading it gets 0700: git, which opens files in
 * it by name, needs the right to search alone, so that the folder must be looked through. */
static int open_folder(const struct sweep *s, int parent, const char *name) {
        char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
        _cleanup_close_ int fd = -EBADF;
        int r = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (r >= 0 || errno != EACCES || s->is_first)
                return r < 0 ? -errno : r;
        fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (chmod(path, 0700) < 0)
                return -errno;
        r = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return r < 0 ? -errno : r;
}

static int sweep_link(struct sweep *s, int folder, const char *name, const char *path) {
        _cleanup_free_ char *line = describe_link(folder, name, path);

        if (!line)
                return 0;
        if (s->is_first)
                return strv_add(&s->dirs->links, line);
        if (strv_contains(s->dirs->links, line) || is_reference(folder, name))
                return 0;
        if (s->dirs->is_cut || unlinkat(folder, name, 0) < 0) {
                s->is_cut = true;
                return 0;
        }
        return tell_finding(s, path, "a symlink that the command left in a git dir is removed");
}

/* Whether a folder at the top of a git dir is left out of the sweep: in objects and lfs git names
 * files by their content; modules (other repositories) and hooks are read-only inside. */
static bool is_left_out(const char *name, unsigned depth) {
        static const char *const names[] = {"objects", "lfs", "modules", "hooks"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (depth == 0 && streq(name, names[i]))
                        return true;
        return false;
}

struct swept_folder {
        struct sweep *sweep;
        const char *path;
        unsigned depth;
};

static int sweep_entry(void *data, int folder, const struct dirent *entry) {
        const struct swept_folder *in = data;
        struct sweep *s = in->sweep;
        struct swept_folder below = {.sweep = s, .depth = in->depth + 1};
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (in->depth > DEPTH_MAX || s->n_entries++ >= ENTRIES_MAX) {
                s->is_cut = true;
                return 1;
        }
        path = path_join(in->path, entry->d_name);
        if (!path)
                return -ENOMEM;
        if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
                r = sweep_link(s, folder, entry->d_name, path);
                if (r < 0 || entry->d_type == DT_LNK)
                        return r;
        }
        if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
            is_left_out(entry->d_name, in->depth))
                return 0;
        fd = open_folder(s, folder, entry->d_name);
        if (fd < 0) {
                s->is_cut |= fd != -ENOTDIR && fd != -ENOENT && fd != -ELOOP;
                return 0;
        }
        below.path = path;
        r = folder_each(fd, sweep_entry, &below);
        return r < 0 ? r : 0;
}

static int sweep_below(struct sweep *s, int parent, const char *folder, const char *name, unsigned depth) {
        _cleanup_free_ char *path = path_join(folder, name);
        _cleanup_close_ int fd = open_folder(s, parent, name);
        int r;

        if (fd < 0) {
                s->is_cut |= fd != -ENOENT;
                return 0;
        }
        if (!path)
                return -ENOMEM;
        r = folder_each(fd, sweep_entry, &(struct swept_folder){s, streq(name, ".") ? folder : path, depth});
        return r < 0 ? r : 0;
}

/* Goes through all folders of the git dirs that are looked at. */
static int sweep_folders(struct sweep *s) {
        const struct gitdirs *g = s->dirs;
        int r = sweep_below(s, g->git_fd, g->git_dir, ".", 0);

        if (r >= 0 && g->common_dir)
                r = sweep_below(s, g->common_fd, g->common_dir, "logs", 1);
        if (r >= 0 && g->common_dir)
                r = sweep_below(s, g->common_fd, g->common_dir, "refs", 1);
        return r;
}

/* Times would not tell: files are stamped by the tick, and a symlink that is moved keeps its own. */
static int list_links(struct gitdirs *g) {
        struct sweep s = {.dirs = g, .is_first = true};
        int r = sweep_folders(&s);

        g->is_cut = s.is_cut;
        return r;
}

int gitdirs_begin(const struct nsrun_plan *plan, struct gitdirs *ret) {
        struct gitdirs g = GITDIRS_INIT;
        int r = 0;

        if (!plan->git_dir)
                return 0;
        g.git_dir = strdup(plan->git_dir);
        g.common_dir = plan->git_common_dir ? strdup(plan->git_common_dir) : NULL;
        if (!g.git_dir || (plan->git_common_dir && !g.common_dir))
                r = -ENOMEM;
        if (r >= 0)
                r = open_dir(g.git_dir, &g.git_fd);
        /* The user has removed the repository since the session began. */
        if (plan->join && r == -ENOENT) {
                gitdirs_clear(&g);
                return 0;
        }
        if (r >= 0 && g.common_dir)
                r = open_dir(g.common_dir, &g.common_fd);
        /* The coarse clock is the one by which the kernel stamps files. */
        if (r >= 0 && clock_gettime(CLOCK_REALTIME_COARSE, &g.since) < 0)
                r = -errno;
        if (r >= 0)
                r = list_links(&g);
        if (r < 0) {
                gitdirs_clear(&g);
                return r;
        }
        *ret = g;
        return 0;
}

/* Moves a new "commondir" of a submodule's repository aside, for the user to look at.  A whole
 * repository has none; git would take configuration and hooks from the folder that it names. */
static int sweep_commondir(struct sweep *s, int git_dir) {
        struct stat st;

        if (s->dirs->common_dir || fstatat(git_dir, "commondir", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !is_new(s, &st))
                return 0;
        for (unsigned i = 0; i < 1000; i++) {
                _cleanup_free_ char *path = NULL;
                char aside[64];

                (void)snprintf(aside, sizeof(aside), "commondir.aside-%u", i);
                if (syscall(SYS_renameat2, git_dir, "commondir", git_dir, aside, RENAME_NOREPLACE) < 0) {
                        if (errno == EEXIST)
                                continue;
                        break;
                }
                path = path_join(s->dirs->git_dir, aside);
                if (!path)
                        return -ENOMEM;
                return tell_finding(
                        s, path,
                        "a commondir that the command made in a git dir, which git would have obeyed, is "
                        "moved aside");
        }
        s->is_cut = true;
        return 0;
}

static bool runs_command(const char *todo) {
        while (*todo) {
                todo += strspn(todo, " \t\r\n");
                if ((startswith(todo, "exec") && strchr(" \t", todo[4])) ||
                    (startswith(todo, "x") && strchr(" \t", todo[1])))
                        return true;
                todo += strcspn(todo, "\n");
        }
        return false;
}

/* Reports a new rebase that would run commands when it is continued.  It stays: it is part of the
 * command's work. */
static int look_at_rebase(struct sweep *s, int git_dir) {
        static const char name[] = "rebase-merge/git-rebase-todo";
        _cleanup_free_ char *text = NULL, *path = NULL;
        struct stat st;
        int r;

        if (fstatat(git_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_new(s, &st))
                return 0;
        r = read_small_file(git_dir, name, O_NOFOLLOW, TODO_MAX, &text);
        if (r == -ENOMEM || (r >= 0 && !runs_command(text)))
                return r;
        path = path_join(s->dirs->git_dir, name);
        if (!path)
                return -ENOMEM;
        return tell_finding(s, path, "git rebase --continue would run commands that the command left");
}

static int sweep_all(struct sweep *s) {
        const struct gitdirs *g = s->dirs;
        int r;

        r = sweep_commondir(s, g->git_fd);
        if (r >= 0)
                r = sweep_folders(s);
        if (r >= 0)
                r = look_at_rebase(s, g->git_fd);
        if (r >= 0 && s->is_cut)
                r = tell_finding(s, g->git_dir,
                                 "a git dir holds what nsrun could not look through, and git may obey it");
        return r;
}

int gitdirs_end(struct gitdirs *g, int (*found)(void *data, const struct nsrun_error *note), void *data) {
        struct sweep s = {.dirs = g, .found = found, .data = data};
        int r = g->git_dir ? sweep_all(&s) : 0;

        gitdirs_clear(g);
        return r;
}
