/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sweeps git dirs when the command has ended.  Every byte and every mode below them is the
 * command's: no symlink is followed, and all work is bounded. */
#include "gitdirs.h"

#include <sys/stat.h>

#include "aside.h"
#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "host/gitdir.h"
#include "host/gitorders.h"

enum {
        TODO_MAX = 1 << 20,
        LINKS_TOLD = 20,
        TREES_MAX = 1000,
};

/* The git dir of a linked worktree. */
struct swept_tree {
        char *name;
        char *dot_git;         /* the worktree's .git; NULL: it is none in the folder around the git dir */
        bool is_led_elsewhere; /* that leads to another git dir than this one */
        bool has_other_commondir; /* its commondir leads to another git dir than the one that it lies in */
        ino_t config;             /* its config.worktree's inode; 0: it has none */
};

/* A folder that is swept. */
struct swept_dir {
        char *path; /* for messages */
        int fd;     /* O_PATH, opened before the run: the command may replace the folder at this path */
        bool had_commondir;
        struct swept_tree *trees; /* that were there before the run */
        size_t n_trees;
};

struct sweep {
        struct gitdirs *dirs;
        const struct swept_dir *dir;
        struct gitwalk walk;
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
        unsigned n_links; /* that were removed, of all git dirs */
        bool is_cut;      /* the sweep is not complete: there was too much, or something can't be read */
};

static void clear_tree(struct swept_tree *t) {
        free(t->name);
        free(t->dot_git);
}

void gitdirs_clear(struct gitdirs *g) {
        for (size_t i = 0; i < g->n; i++) {
                free(g->items[i].path);
                close_fdp(&g->items[i].fd);
                for (size_t k = 0; k < g->items[i].n_trees; k++)
                        clear_tree(&g->items[i].trees[k]);
                free(g->items[i].trees);
        }
        free(g->items);
        strv_free(g->links);
        strv_free(g->left_out);
        *g = (struct gitdirs){0};
}

static int tell_finding(struct sweep *s, const char *path, const char *what) {
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, path, what, NULL);
        return s->found(s->data, &note);
}

static bool is_new(const struct sweep *s, const struct stat *st) {
        return !time_is_before(&st->st_ctim, &s->dirs->since);
}

/* A folder whose mode keeps nsrun from reading or entering it is opened to its owner: git, which opens files
 * in it by name, needs the right to search alone, and who owns it can give himself that, so that the folder
 * must be looked through. */
static int open_closed(nsrun_unused void *data, int parent, const char *name) {
        _cleanup_close_ int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r;

        if (fd < 0 && errno == EACCES) {
                r = folder_open_to_owner(parent);
                if (r < 0)
                        return r;
                fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (fd < 0)
                return -errno;
        r = folder_open_to_owner(fd);
        if (r < 0)
                return r;
        r = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return r < 0 ? -errno : r;
}

/* There may be hundreds of thousands. */
static bool is_known_link(const struct gitdirs *g, const char *line) {
        return g->links && bsearch(&line, g->links, g->n_links, sizeof(*g->links), str_compare);
}

static int sweep_link(void *data, int folder, const char *name, const char *path) {
        struct sweep *s = data;
        _cleanup_free_ char *line = gitwalk_describe(folder, name, path);

        if (!line || is_known_link(s->dirs, line) || gitwalk_is_reference(folder, name))
                return 0;
        if (s->dirs->is_cut || unlinkat(folder, name, 0) < 0) {
                s->is_cut = true;
                return 0;
        }
        if (++s->n_links > LINKS_TOLD)
                return 0;
        return tell_finding(
                s, path,
                s->n_links == LINKS_TOLD        ? "a symlink or pipe that the command left in a git dir is "
                                                  "removed, and so are others"
                : line[strlen(path) + 1] == '|' ? "a pipe that the command left in a git dir is removed"
                                                : "a symlink that the command left in a git dir is removed");
}

/* What such a file leads to; NULL: nothing, or no memory. */
static char *read_way(int folder, const char *name, const char *prefix, const char *base) {
        _cleanup_free_ char *way = NULL;

        return gitdir_read_pointer(folder, name, prefix, base, &way) < 0 ? NULL : path_normalise(way);
}

static bool leads_elsewhere(const struct swept_dir *dir, const char *dot_git, const char *path) {
        _cleanup_free_ char *tree = dot_git ? path_parent(dot_git) : NULL, *top = path_parent(dir->path);
        const char *below = tree && top ? path_below(tree, top) : NULL;
        _cleanup_close_ int root = below ? open(top, O_PATH | O_DIRECTORY | O_CLOEXEC) : -EBADF;
        _cleanup_close_ int fd = root < 0 ? root : beneath_open(root, below, O_PATH | O_DIRECTORY, 0);
        _cleanup_free_ char *back = fd < 0 ? NULL : read_way(fd, ".git", "gitdir: ", tree);

        return fd >= 0 && faccessat(fd, ".git", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
               (!back || !streq(back, path));
}

static int read_tree(const struct swept_dir *dir, int git_dir, const char *path, struct swept_tree *ret) {
        _cleanup_free_ char *common = read_way(git_dir, "commondir", "", path);
        struct stat st;

        ret->dot_git = read_way(git_dir, "gitdir", "", path);
        ret->is_led_elsewhere = leads_elsewhere(dir, ret->dot_git, path);
        ret->has_other_commondir = faccessat(git_dir, "commondir", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
                                   (!common || !streq(common, dir->path));
        if (fstatat(git_dir, "config.worktree", &st, AT_SYMLINK_NOFOLLOW) == 0)
                ret->config = st.st_ino;
        return (ret->name = strdup(path_basename(path))) ? 0 : -ENOMEM;
}

static int add_tree(void *data, int folder, const struct dirent *entry) {
        struct swept_dir *dir = data;
        _cleanup_free_ char *path = str_concat(dir->path, "/worktrees/", entry->d_name);
        _cleanup_close_ int git_dir = beneath_open(folder, entry->d_name, O_PATH | O_DIRECTORY, 0);
        struct swept_tree t = {0};

        if (!path)
                return -ENOMEM;
        if (git_dir < 0 || dir->n_trees == TREES_MAX)
                return 0;
        if (read_tree(dir, git_dir, path, &t) < 0 || ARRAY_GROW(dir->trees, dir->n_trees) < 0) {
                clear_tree(&t);
                return -ENOMEM;
        }
        dir->trees[dir->n_trees++] = t;
        return 0;
}

static int add_dir(struct gitdirs *g, const char *path) {
        _cleanup_close_ int worktrees = -EBADF;
        struct swept_dir dir = {0};
        struct stat st;
        int r;

        dir.fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir.fd < 0)
                return errno == ENOENT ? 0 : -errno;
        /* The command's standard streams may be closed. */
        r = fd_lift(&dir.fd);
        dir.had_commondir = r >= 0 && fstatat(dir.fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (r >= 0 && ARRAY_GROW(g->items, g->n) < 0)
                r = -ENOMEM;
        if (r >= 0 && !(dir.path = strdup(path)))
                r = -ENOMEM;
        if (r < 0) {
                close_fdp(&dir.fd);
                return r;
        }
        g->items[g->n++] = dir;
        worktrees = beneath_open(dir.fd, "worktrees", O_RDONLY | O_DIRECTORY, 0);
        r = worktrees < 0 ? 0 : folder_read(worktrees, add_tree, &g->items[g->n - 1]);
        return r == -ENOMEM ? r : 0;
}

int gitdirs_begin(const struct nsrun_plan *plan, struct gitdirs *ret) {
        struct gitdirs g = {.is_cut = plan->links_are_cut};
        int r = 0;

        if (!plan->git_dirs)
                return 0;
        /* The user may have removed a repository since the plan was made. */
        STRV_FOREACH (path, plan->git_dirs)
                if (r >= 0)
                        r = add_dir(&g, *path);
        if (r >= 0)
                r = strv_copy(plan->git_links, &g.links);
        if (r >= 0)
                r = strv_copy(plan->git_trees, &g.left_out);
        g.n_links = strv_length(g.links);
        strv_sort(g.links, g.n_links);
        /* The coarse clock is the one by which the kernel stamps files. */
        if (r >= 0 && clock_gettime(CLOCK_REALTIME_COARSE, &g.since) < 0)
                r = -errno;
        if (r < 0) {
                gitdirs_clear(&g);
                return r;
        }
        *ret = g;
        return 0;
}

/* Moves a file that the command made in a git dir aside, for the user to look at. */
static int move_file(struct sweep *s, int git_dir, const char *git_dir_path, const char *name,
                     const char *what) {
        _cleanup_free_ char *aside = NULL, *path = NULL;
        int r = aside_move(git_dir, name, git_dir, "", &aside);

        if (r < 0) {
                s->is_cut |= r != -ENOMEM;
                return r == -ENOMEM ? r : 0;
        }
        path = path_join(git_dir_path, aside);
        return path ? tell_finding(s, path, what) : -ENOMEM;
}

/* Git would take configuration and hooks from the folder that it names. */
static int move_commondir(struct sweep *s, int git_dir, const char *path) {
        return move_file(s, git_dir, path, "commondir",
                         "a commondir that the command made in a git dir, which git would have obeyed, is "
                         "moved aside");
}

/* A whole repository, as a submodule's is, has none. */
static int sweep_commondir(struct sweep *s) {
        struct stat st;

        return s->dir->had_commondir || fstatat(s->dir->fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) < 0
                       ? 0
                       : move_commondir(s, s->dir->fd, s->dir->path);
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

static bool has_commands(int git_dir) {
        _cleanup_free_ char *text = NULL;
        int r = read_small_file(git_dir, "rebase-merge/git-rebase-todo", O_NOFOLLOW, TODO_MAX, &text);

        return r < 0 || runs_command(text);
}

/* Reports what is new in a git dir and would run programs when a rebase or a cherry-pick is continued.  It
 * stays: it is part of the command's work. */
static int look_at_rebase(struct sweep *s, int git_dir, const char *path) {
        static const char strategy[] =
                "git would go on by a merge strategy that the command left and that isn't "
                "git's own";
        static const struct {
                const char *folder, *name, *what;
                bool (*runs)(int git_dir);
        } parts[] = {
                {"rebase-merge", "rebase-merge/git-rebase-todo",
                 "git rebase --continue would run commands that the command left", has_commands},
                {"rebase-merge", "rebase-merge/strategy", strategy, gitorders_has_rebase_strategy},
                {"sequencer", "sequencer/opts", strategy, gitorders_has_pick_strategy},
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(parts) && r >= 0; i++) {
                _cleanup_free_ char *file = path_join(path, parts[i].name);
                struct stat st, above;

                if (!file)
                        return -ENOMEM;
                /* The folder is new where all of it was moved there. */
                if (fstatat(git_dir, parts[i].folder, &above, AT_SYMLINK_NOFOLLOW) == 0 &&
                    fstatat(git_dir, parts[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    (is_new(s, &st) || is_new(s, &above)) && parts[i].runs(git_dir))
                        r = tell_finding(s, file, parts[i].what);
        }
        return r;
}

/* The git dir of a linked worktree may have its own turn. */
static int look_at_its_rebase(struct sweep *s, int git_dir, const char *path) {
        for (size_t i = 0; i < s->dirs->n; i++)
                if (streq(s->dirs->items[i].path, path))
                        return 0;
        return look_at_rebase(s, git_dir, path);
}

/* The command may write the .git of a linked worktree beside its git dir. */
static int tell_led(struct sweep *s, const char *dot_git) {
        return tell_finding(
                s, dot_git,
                "since the command ran this leads to another git dir than the linked worktree's, "
                "and git obeys that: git worktree repair mends it");
}

/* Looks at what leads git from and to a linked worktree's git dir: by no time, since a folder that is
 * renamed brings old files. */
static int look_at_worktree(void *data, int folder, const struct dirent *entry) {
        struct sweep *s = data;
        _cleanup_free_ char *below = str_concat("worktrees", "/", entry->d_name), *path = NULL;
        _cleanup_close_ int git_dir = beneath_open(folder, entry->d_name, O_PATH | O_DIRECTORY, 0);
        _cleanup_(clear_tree) struct swept_tree is = {0};
        const struct swept_tree *was = NULL;
        int r;

        path = below ? path_join(s->dir->path, below) : NULL;
        if (!path || git_dir < 0)
                return path ? 0 : -ENOMEM;
        for (size_t i = 0; i < s->dir->n_trees && !was; i++)
                if (streq(s->dir->trees[i].name, entry->d_name))
                        was = &s->dir->trees[i];
        if (!was && s->dir->n_trees == TREES_MAX) {
                s->is_cut = true;
                return look_at_its_rebase(s, git_dir, path);
        }
        r = read_tree(s->dir, git_dir, path, &is);
        if (r >= 0 && is.has_other_commondir && !(was && was->has_other_commondir))
                r = move_commondir(s, git_dir, path);
        /* That of a worktree that was there has been a protected name. */
        if (r >= 0 && is.config != 0 && (!was || was->config != is.config) &&
            (gitorders_carried(git_dir) & (GITORDERS_PROGRAM | GITORDERS_WORKTREE)))
                r = move_file(s, git_dir, path, "config.worktree",
                              "a linked worktree's configuration that names a program or a work tree, which "
                              "the command made, is moved aside");
        if (r >= 0 && is.is_led_elsewhere && !(was && was->is_led_elsewhere))
                r = tell_led(s, is.dot_git);
        if (r >= 0 && was && was->dot_git && !was->is_led_elsewhere &&
            !(is.dot_git && streq(is.dot_git, was->dot_git)) && leads_elsewhere(s->dir, was->dot_git, path))
                r = tell_led(s, was->dot_git);
        return r < 0 ? r : look_at_its_rebase(s, git_dir, path);
}

static int look_at_rebases(struct sweep *s) {
        _cleanup_close_ int worktrees = beneath_open(s->dir->fd, "worktrees", O_RDONLY | O_DIRECTORY, 0);
        int r = look_at_rebase(s, s->dir->fd, s->dir->path);

        if (r >= 0 && worktrees >= 0)
                r = folder_read(worktrees, look_at_worktree, s);
        return r == -ENOMEM ? r : 0;
}

static int sweep_dir(struct sweep *s) {
        const struct swept_dir *dir = s->dir;
        int r = sweep_commondir(s);

        if (r >= 0)
                r = gitwalk(&s->walk, dir->fd, ".", dir->path, true);
        return r < 0 ? r : look_at_rebases(s);
}

int gitdirs_end(struct gitdirs *g, int (*found)(void *data, const struct nsrun_error *note), void *data) {
        struct sweep s = {.dirs = g, .found = found, .data = data};
        int r = 0;

        s.walk = (struct gitwalk){
                .link = sweep_link, .closed = open_closed, .left_out = g->left_out, .data = &s};
        for (size_t i = 0; i < g->n && r >= 0; i++) {
                s.dir = &g->items[i];
                s.is_cut = s.walk.is_cut = false;
                r = sweep_dir(&s);
                if (r >= 0 && (s.is_cut || s.walk.is_cut))
                        r = tell_finding(
                                &s, s.dir->path,
                                "a git dir holds what nsrun could not look through, and git may obey it");
        }
        gitdirs_clear(g);
        return r;
}
