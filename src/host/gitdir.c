/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides whether a project's .git file is believed.  Reads only plain files of bounded size, and
 * follows no symlink in a git dir.  How the git dirs are shown in the sandbox is decided in
 * resolve/git.c. */
#include "gitdir.h"

#include <limits.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"

enum {
        POINTER_MAX = 1 << 20, /* git reads no longer one */
        CONFIG_MAX = 1 << 20,
        ENTRIES_MAX = 200000, /* of all walks for symlinks */
        DEPTH_MAX = 32,
};

static const char repair_hint[] =
        "if the folder was moved run 'git worktree repair' there, else remove the file";

struct finding {
        const char *project;
        struct gitdir *dirs;
        int git_fd; /* of the git dir, O_PATH */
        const char *why;
        const char *hint;
};

static int doubt(struct finding *f, const char *why, const char *hint) {
        f->why = why;
        f->hint = hint;
        return -EPERM;
}

int gitdir_read_pointer(int dir, const char *name, const char *prefix, const char *base, char **ret) {
        _cleanup_free_ char *text = NULL;
        const char *path;
        size_t n;
        int r = read_small_file(dir, name, O_NOFOLLOW, POINTER_MAX, &text);

        if (r < 0)
                return r;
        n = strlen(text);
        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
                text[--n] = '\0';
        path = startswith(text, prefix);
        if (!path || !*path)
                return -EBADMSG;
        *ret = path_is_absolute(path) ? strdup(path) : str_concat(base, "/", path);
        return *ret ? 0 : -ENOMEM;
}

/* Reads such a path as gitdir_read_pointer() does, and makes it canonical; it must lead to something. */
static int follow_pointer(int dir, const char *name, const char *prefix, const char *base, char **ret) {
        _cleanup_free_ char *spelled = NULL;
        int r = gitdir_read_pointer(dir, name, prefix, base, &spelled);

        return r < 0 ? r : path_canonical(spelled, ret, NULL);
}

static bool is_plain(int dir, const char *name, mode_t type) {
        struct stat st;

        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == type;
}

static bool is_missing(int dir, const char *name) {
        struct stat st;

        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* Whether a folder has what git asks of a repository.  Unlike git, no symlink is accepted for any
 * of it. */
static bool is_repository(int dir) {
        return is_plain(dir, "HEAD", S_IFREG) && is_plain(dir, "config", S_IFREG) &&
               is_plain(dir, "objects", S_IFDIR) && is_plain(dir, "refs", S_IFDIR);
}

int gitdir_read_config(int dir, const char *name,
                       int (*found)(void *data, const struct gitconfig_entry *entry), void *data) {
        _cleanup_free_ char *text = NULL;
        int r = read_small_file(dir, name, O_NOFOLLOW, CONFIG_MAX, &text);

        return r < 0 ? r : gitconfig_parse(text, strlen(text), found, data);
}

struct config {
        char *worktree; /* the value of core.worktree */
        bool has_worktree_config;
};

static int gitdir_take_entry(void *data, const struct gitconfig_entry *entry) {
        struct config *config = data;

        if (streq(entry->name, "extensions.worktreeconfig"))
                config->has_worktree_config = gitconfig_is_true(entry->value);
        if (streq(entry->name, "core.worktree") && entry->value) {
                free(config->worktree);
                config->worktree = strdup(entry->value);
                return config->worktree ? 0 : -ENOMEM;
        }
        return 0;
}

/* Reads the config of the repository `dir`, and its config.worktree if extensions.worktreeConfig is
 * on. */
static int read_config(int dir, struct config *ret) {
        static const char *const names[] = {"config", "config.worktree"};
        struct config config = {0};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++) {
                if (i > 0 && !config.has_worktree_config)
                        break;
                r = gitdir_read_config(dir, names[i], gitdir_take_entry, &config);
                if (r == -ENOENT && i > 0)
                        r = 0;
        }
        if (r < 0) {
                free(config.worktree);
                return r;
        }
        *ret = config;
        return 0;
}

/* Judges the git dir of a linked worktree: it must be <common dir>/worktrees/NAME, and its file
 * "gitdir" must name the project's .git. */
static int check_worktree(struct finding *f) {
        _cleanup_free_ char *common = NULL, *back = NULL, *folder = NULL, *canonical = NULL;
        _cleanup_close_ int common_fd = -EBADF;
        const char *name;
        int r = follow_pointer(f->git_fd, "commondir", "", f->dirs->git_dir, &common);

        if (r < 0)
                return r == -ENOMEM ? r : doubt(f, "its git dir's commondir leads nowhere", repair_hint);
        name = path_below(f->dirs->git_dir, common);
        name = name ? startswith(name, "worktrees/") : NULL;
        if (!name || !*name || strchr(name, '/'))
                return doubt(f, "it leads to no place where git keeps worktrees", repair_hint);
        common_fd = open(common, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (common_fd < 0 || !is_repository(common_fd))
                return doubt(f, "it leads to no repository", repair_hint);
        f->dirs->common_dir = TAKE_PTR(common);

        r = gitdir_read_pointer(f->git_fd, "gitdir", "", f->dirs->git_dir, &back);
        if (r >= 0 && !streq(path_basename(back), ".git"))
                r = -EBADMSG;
        if (r >= 0)
                r = (folder = path_parent(back)) ? path_canonical(folder, &canonical, NULL) : -ENOMEM;
        if (r == -ENOMEM)
                return r;
        if (r < 0 || !streq(canonical, f->project))
                return doubt(f, "it leads to the git dir of another worktree", repair_hint);

        return 0;
}

/* Judges a git dir that is a whole repository, a submodule's: its core.worktree must name the
 * project. */
static int check_repository(struct finding *f) {
        _cleanup_free_ char *joined = NULL, *canonical = NULL;
        struct config config = {0};
        int r;

        if (!is_repository(f->git_fd))
                return doubt(f, "it leads to no repository", repair_hint);
        r = read_config(f->git_fd, &config);
        if (r < 0)
                return r == -ENOMEM ? r : doubt(f, "its repository's config can't be read", repair_hint);
        if (!config.worktree)
                return doubt(f, "it leads to a repository that names no work tree", NULL);
        joined = path_is_absolute(config.worktree) ? strdup(config.worktree)
                                                   : str_concat(f->dirs->git_dir, "/", config.worktree);
        free(config.worktree);
        if (!joined)
                return -ENOMEM;
        r = path_canonical(joined, &canonical, NULL);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || !streq(canonical, f->project))
                return doubt(f, "it leads to the repository of another work tree", NULL);
        if (!is_plain(f->git_fd, "hooks", S_IFDIR))
                return doubt(f, "the hooks of its git dir are no plain folder",
                             "make it one, empty if need be, so that it can be protected");
        return 0;
}

static int find_pointed(struct finding *f) {
        struct gitdir *dirs = f->dirs;
        int r = dirs->is_link
                        ? path_canonical(dirs->dot_git, &dirs->git_dir, NULL)
                        : follow_pointer(AT_FDCWD, dirs->dot_git, "gitdir: ", f->project, &dirs->git_dir);

        if (r == -ENOMEM || (r < 0 && dirs->is_link))
                return r == -ENOMEM ? r : 0;
        if (r == -EBADMSG || r == -EFBIG)
                return doubt(f, "it holds no line that git would have written", repair_hint);
        if (r < 0)
                return doubt(f, "it leads nowhere", repair_hint);
        if (path_is_beneath(dirs->git_dir, f->project)) {
                if (dirs->is_link)
                        free(TAKE_PTR(dirs->git_dir));
                return 0;
        }
        f->git_fd = open(dirs->git_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dirs->is_link && (f->git_fd < 0 || is_missing(f->git_fd, "HEAD"))) {
                free(TAKE_PTR(dirs->git_dir));
                return 0;
        }
        if (f->git_fd < 0)
                return doubt(f, "it leads to no folder that can be opened", repair_hint);
        r = is_missing(f->git_fd, "commondir") ? check_repository(f) : check_worktree(f);
        return r < 0 ? r : 1;
}

int gitdir_find(const char *project, struct gitdir *ret, const char **ret_why, const char **ret_hint) {
        _cleanup_gitdir_ struct gitdir dirs = {.dot_git = path_join(project, ".git")};
        struct finding f = {.project = project, .dirs = &dirs, .git_fd = -EBADF};
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        mode_t type;
        int r;

        if (!dirs.dot_git)
                return -ENOMEM;
        fd = responds_open(AT_FDCWD, dirs.dot_git, O_PATH | O_NOFOLLOW, 0);
        if (fd == -ETIMEDOUT)
                return fd;
        type = fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
        dirs.is_link = type == S_IFLNK;
        if (type == S_IFDIR) {
                dirs.git_dir = strdup(dirs.dot_git);
                r = dirs.git_dir ? 0 : -ENOMEM;
        } else {
                r = dirs.is_link || type == S_IFREG ? find_pointed(&f) : 0;
        }
        close_fdp(&f.git_fd);
        if (r == -EPERM) {
                *ret_why = f.why;
                *ret_hint = dirs.is_link ? NULL : f.hint;
        }
        if (r != -ENOMEM) {
                *ret = dirs;
                dirs = (struct gitdir){0};
        }
        return r;
}

int gitdir_follow_within(int folder, const char *name, const char *prefix, const char *base,
                         const char *within, char **ret) {
        _cleanup_free_ char *spelled = NULL, *normal = NULL, *canonical = NULL;
        int r = gitdir_read_pointer(folder, name, prefix, base, &spelled);

        if (r < 0)
                return r;
        normal = path_normalise(spelled);
        if (!normal)
                return -ENOMEM;
        if (!path_is_beneath(normal, within))
                return -EXDEV;
        r = path_canonical(normal, &canonical, NULL);
        if (r < 0)
                return r;
        if (!path_is_beneath(canonical, within))
                return -EXDEV;
        *ret = TAKE_PTR(canonical);
        return 0;
}

void gitdir_clear(struct gitdir *g) {
        free(g->dot_git);
        free(g->git_dir);
        free(g->common_dir);
        *g = (struct gitdir){0};
}

/* ------------------------------------------------------------------- its symlinks */

struct walked {
        struct gitwalk *walk;
        const char *path;
        unsigned depth;
};

char *gitwalk_describe(int folder, const char *name, const char *path) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        if (n < 0 && errno == EINVAL)
                return str_concat(path, " |", "");
        if (n < 0)
                return NULL;
        text[n] = '\0';
        return str_format("%s -> %s", path, text);
}

bool gitwalk_is_reference(int folder, const char *name) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        if (n < 0)
                return false;
        text[n] = '\0';
        return startswith(text, "refs/") && !strstr(text, "..");
}

/* Whether a folder at the top of a git dir is left out: in lfs, as in objects, git names files by their
 * content; modules holds git dirs of their own, and hooks is read-only inside. */
static bool is_left_out(const char *name, unsigned depth) {
        static const char *const names[] = {"lfs", "modules", "hooks"};

        for (size_t i = 0; depth == 0 && i < ARRAY_SIZE(names); i++)
                if (streq(name, names[i]))
                        return true;
        return false;
}

static int walk_entry(void *data, int folder, const struct dirent *entry);

/* What became something else meanwhile is no folder to look through; but where the walk starts that is told.
 */
static int gitwalk_folder(struct walked *in, int parent, const char *name, bool is_start) {
        struct gitwalk *w = in->walk;
        _cleanup_close_ int fd = responds_open(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        int r;

        /* One that can be read may be closed all the same: nothing in it can be looked at. */
        if (fd >= 0 && w->closed && faccessat(fd, ".", X_OK, AT_EACCESS) < 0 && errno == EACCES) {
                close_fdp(&fd);
                fd = -EACCES;
        }
        if (fd == -EACCES && w->closed)
                fd = w->closed(w->data, parent, name);
        if (fd == -ETIMEDOUT)
                return fd;
        if (fd < 0) {
                w->is_cut |= fd != -ENOENT && (is_start || (fd != -ENOTDIR && fd != -ELOOP));
                return 0;
        }
        r = folder_read(fd, walk_entry, in);
        return r < 0 ? r : 0;
}

/* Of objects what has a name of its own. */
static int walk_objects(const struct walked *in, int folder) {
        _cleanup_close_ int fd = openat(folder, "objects", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ char *path = str_concat(in->path, "/objects/info", "");

        if (!path)
                return -ENOMEM;
        return fd < 0 ? 0
                      : gitwalk_folder(&(struct walked){in->walk, path, in->depth + 2}, fd, "info", false);
}

static int walk_entry(void *data, int folder, const struct dirent *entry) {
        const struct walked *in = data;
        struct gitwalk *w = in->walk;
        _cleanup_free_ char *path = NULL;
        unsigned char type;

        if (in->depth > DEPTH_MAX || w->n_entries++ >= ENTRIES_MAX) {
                w->is_cut = true;
                return 1;
        }
        type = folder_type(folder, entry);
        if (type == DT_DIR && in->depth == 0 && streq(entry->d_name, "objects"))
                return walk_objects(in, folder);
        if (type != DT_LNK && type != DT_FIFO && (type != DT_DIR || is_left_out(entry->d_name, in->depth)))
                return 0;
        path = str_concat(in->path, "/", entry->d_name);
        if (!path)
                return -ENOMEM;
        if (type != DT_DIR)
                return w->link(w->data, folder, entry->d_name, path);
        if (strv_contains(w->left_out, path))
                return 0;
        return gitwalk_folder(&(struct walked){w, path, in->depth + 1}, folder, entry->d_name, false);
}

int gitwalk(struct gitwalk *w, int parent, const char *name, const char *path, bool is_top) {
        return gitwalk_folder(&(struct walked){w, path, is_top ? 0 : 1}, parent, name, true);
}
