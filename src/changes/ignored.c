/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See ignored.h.  Changes are sorted, so the folders above one are mostly those above the last: they are
 * kept on a stack, each with its patterns. */
#include "ignored.h"

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "host/gitdir.h"
#include "host/gitignore.h"
#include "host/subrepositories.h"
#include "tracked.h"
#include "tree.h"

enum {
        PATTERNS_MAX = 4 << 20, /* of one file */
};

#define NO_REPOSITORY SIZE_MAX

struct repository {
        char *top; /* its full path */
        size_t length;
        bool is_opaque; /* what git would say of it can't be told, so nothing in it is ignored */
        struct gitignore exclude;
        struct tracked tracked;
};

enum verdict {
        VERDICT_OPEN, /* each entry is to be asked about */
        VERDICT_IGNORED,
        VERDICT_KEPT, /* never ignored, nor is anything in it */
};

/* A folder above the path that was asked about last. */
struct level {
        size_t length;
        size_t repository; /* its number */
        enum verdict verdict;
        bool is_there; /* the host has it */
        struct gitignore patterns;
        size_t nearest; /* 1 + number of the last level up to this one that has patterns; 0: none has */
};

/* Full paths are relative to the outermost folder whose patterns count: the top of the work tree that the
 * overlay lies in. */
struct ignored_view {
        const struct ignored_question *q;
        struct tree base;
        char *outer;  /* that folder on the host */
        char *prefix; /* the overlay's full path */
        struct gitignore global;
        struct repository *repositories;
        size_t n_repositories;
        struct level *levels;
        size_t n_levels;
        char *path; /* of the levels */
};

static void ignored_view_clear(struct ignored_view *v) {
        for (size_t i = 0; i < v->n_repositories; i++) {
                free(v->repositories[i].top);
                gitignore_clear(&v->repositories[i].exclude);
                tracked_clear(&v->repositories[i].tracked);
        }
        while (v->n_levels > 0)
                gitignore_clear(&v->levels[--v->n_levels].patterns);
        gitignore_clear(&v->global);
        tree_forget(&v->base);
        free(v->repositories);
        free(v->levels);
        free(v->outer);
        free(v->prefix);
        free(v->path);
}

/* A file of patterns that git doesn't follow as a symlink either; one that can't be read has none. */
static int read_patterns(int folder, const char *name, struct gitignore *ret) {
        char *text = NULL;
        int r = read_small_file(folder, name, O_NOFOLLOW, PATTERNS_MAX, &text);

        if (r >= 0)
                r = gitignore_parse(text, ret);
        return r == -ENOMEM ? r : 0;
}

/* A folder that is named ".git": git passes over one that isn't a repository. */
static bool is_repository_of(int folder, bool *ret_is_plain) {
        _cleanup_close_ int git = openat(folder, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        *ret_is_plain = git >= 0 && !nested_has(git, "commondir");
        return git >= 0 ? nested_is_bare(git) : nested_has(folder, ".git");
}

/* Where a work tree's git dirs are, which a .git file may say. */
static int find_git_dirs(const char *path, int *ret_git, int *ret_common) {
        _cleanup_gitdir_ struct gitdir dirs = {0};
        const char *why, *hint;
        int r = gitdir_find(path, &dirs, &why, &hint);

        if (r < 0 || !dirs.git_dir)
                return r == -ENOMEM ? r : -ENOENT;
        *ret_git = open(dirs.git_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        *ret_common = open(dirs.common_dir ? dirs.common_dir : dirs.git_dir,
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return *ret_git < 0 || *ret_common < 0 ? -ENOENT : 0;
}

/* The session's own index of the repository at `full`, where it has one: what a command added is shown. */
static int add_sessions_index(const struct ignored_view *v, const char *full, struct tracked *t) {
        const size_t n = strlen(v->prefix);
        _cleanup_free_ char *git = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (!tree_is_beneath(full, v->prefix))
                return 0;
        full += n + (n > 0 && full[n] == '/');
        git = path_append(full, ".git");
        if (!git)
                return -ENOMEM;
        fd = tree_open(v->q->layer->upper_fd, git, O_RDONLY | O_DIRECTORY);
        if (fd == -ENOMEM)
                return fd;
        return fd >= 0 && tracked_read(t, fd) == -ENOMEM ? -ENOMEM : 0;
}

/* `folder`, a descriptor of the one at `full`, has a .git. */
static int add_repository(struct ignored_view *v, const char *full, int folder, bool is_plain) {
        _cleanup_free_ char *path = path_join(v->outer, full);
        _cleanup_close_ int git = -EBADF, common = -EBADF;
        struct repository *repository;
        int r;

        if (!path || ARRAY_GROW(v->repositories, v->n_repositories) < 0)
                return -ENOMEM;
        repository = &v->repositories[v->n_repositories++];
        *repository = (struct repository){.top = strdup(full), .length = strlen(full)};
        if (!repository->top)
                return -ENOMEM;
        if (is_plain) {
                git = openat(folder, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                common = git < 0 ? git : fcntl(git, F_DUPFD_CLOEXEC, 0);
                r = common < 0 ? -errno : 0;
        } else
                r = find_git_dirs(path, &git, &common);
        if (r >= 0)
                r = tracked_read(&repository->tracked, git);
        repository->is_opaque = r < 0;
        if (r >= 0)
                r = read_patterns(common, "info/exclude", &repository->exclude);
        if (r >= 0)
                r = add_sessions_index(v, full, &repository->tracked);
        strv_sort(repository->tracked.paths, repository->tracked.n);
        return r == -ENOMEM ? r : 0;
}

/* Stores the number of the repository at `full`.  One is read once: what was renamed leads into a folder and
 * out of it as often as a command wants. */
static int enter_repository(struct ignored_view *v, const char *full, int folder, bool is_plain,
                            size_t *ret) {
        for (*ret = 0; *ret < v->n_repositories; ++*ret)
                if (streq(v->repositories[*ret].top, full))
                        return 0;
        return add_repository(v, full, folder, is_plain);
}

/* Opens what the host has at a full path. */
static int open_full(struct ignored_view *v, const char *full, int *ret_own) {
        const size_t n = strlen(v->prefix);
        _cleanup_free_ char *path = NULL;

        if (tree_is_beneath(full, v->prefix))
                return tree_folder(&v->base, full + n + (n > 0 && full[n] == '/'));
        path = path_join(v->outer, full);
        if (!path)
                return -ENOMEM;
        *ret_own = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return *ret_own < 0 ? -errno : *ret_own;
}

static const char *below_length(const char *full, size_t length) {
        return full + length + (length > 0);
}

/* What the patterns say of `full`, whose folders the levels are. */
static enum verdict judge_full(const struct ignored_view *v, const char *full, bool is_folder) {
        const struct level *last = &v->levels[v->n_levels - 1];
        const struct repository *repository;
        const char *name = path_basename(full);
        enum gitignore_says says = GITIGNORE_NOTHING;

        if (last->verdict != VERDICT_OPEN || last->repository == NO_REPOSITORY)
                return last->verdict;
        repository = &v->repositories[last->repository];
        if (repository->is_opaque || strcasecmp(name, ".git") == 0)
                return VERDICT_KEPT;
        if (v->q->is_protected && tree_is_beneath(full, v->prefix)) {
                _cleanup_free_ char *path = path_join(v->outer, full);

                if (!path || v->q->is_protected(v->q->data, path))
                        return VERDICT_KEPT;
        }
        for (size_t i = last->nearest; i > 0 && says == GITIGNORE_NOTHING;) {
                const struct level *l = &v->levels[i - 1];

                if (l->length < repository->length)
                        break;
                i = i > 1 ? v->levels[i - 2].nearest : 0;
                says = gitignore_ask(&l->patterns, below_length(full, l->length), is_folder);
        }
        if (says == GITIGNORE_NOTHING)
                says = gitignore_ask(&repository->exclude, below_length(full, repository->length),
                                     is_folder);
        if (says == GITIGNORE_NOTHING)
                says = gitignore_ask(&v->global, below_length(full, repository->length), is_folder);
        return says == GITIGNORE_IGNORED ? VERDICT_IGNORED : VERDICT_OPEN;
}

/* Adds the folder that is the first `length` bytes of `full`. */
static int add_level(struct ignored_view *v, const char *full, size_t length) {
        _cleanup_free_ char *folder = strndup(full, length);
        _cleanup_close_ int own = -EBADF;
        struct level level = {.length = length, .repository = NO_REPOSITORY};
        const struct level *above = NULL;
        bool is_plain = false;
        int fd = -ENOENT, r = 0;

        if (!folder || ARRAY_GROW(v->levels, v->n_levels) < 0)
                return -ENOMEM;
        if (v->n_levels > 0) {
                above = &v->levels[v->n_levels - 1];
                level.repository = above->repository;
                level.nearest = above->nearest;
                level.verdict = judge_full(v, folder, true);
        }
        if (level.verdict != VERDICT_KEPT && (!above || above->is_there))
                fd = open_full(v, folder, &own);
        level.is_there = fd >= 0;
        if (fd >= 0 && is_repository_of(fd, &is_plain)) {
                level.verdict = VERDICT_OPEN;
                r = enter_repository(v, folder, fd, is_plain, &level.repository);
        }
        if (r >= 0 && fd >= 0 && level.verdict == VERDICT_OPEN && level.repository != NO_REPOSITORY)
                r = read_patterns(fd, ".gitignore", &level.patterns);
        if (level.patterns.n > 0)
                level.nearest = v->n_levels + 1;
        v->levels[v->n_levels++] = level;
        return fd == -ENOMEM ? fd : r;
}

/* Makes the levels those above `full`. */
static int enter_full(struct ignored_view *v, const char *full) {
        char *copy = strdup(full);
        int r = 0;

        if (!copy)
                return -ENOMEM;
        while (v->n_levels > 0) {
                struct level *last = &v->levels[v->n_levels - 1];

                if (last->length == 0 ||
                    (strncmp(v->path, full, last->length) == 0 && full[last->length] == '/'))
                        break;
                gitignore_clear(&last->patterns);
                v->n_levels--;
        }
        free(v->path);
        v->path = copy;
        if (v->n_levels == 0)
                r = add_level(v, full, 0);
        for (const char *at = full + (v->n_levels > 0 ? v->levels[v->n_levels - 1].length : 0);
             r >= 0 && (at = strchr(at + (at > full), '/'));)
                r = add_level(v, full, (size_t)(at - full));
        return r;
}

/* Whether git ignores `path`, in the overlay: 1, 0, -ENOMEM. */
static int is_ignored(struct ignored_view *v, const char *path, bool is_folder) {
        _cleanup_free_ char *full = *path ? path_append(v->prefix, path) : NULL;
        const struct repository *repository;
        size_t n;
        int r;

        if (!*path)
                return 0;
        r = full ? enter_full(v, full) : -ENOMEM;
        if (r < 0)
                return r;
        if (judge_full(v, full, is_folder) != VERDICT_IGNORED)
                return 0;
        n = v->levels[v->n_levels - 1].repository;
        repository = n == NO_REPOSITORY ? NULL : &v->repositories[n];
        return !repository || !tracked_has(&repository->tracked, below_length(full, repository->length));
}

/* With each type that is there, before or afterwards, and at both places of what was renamed. */
static int is_change_ignored(struct ignored_view *v, const struct change *change) {
        int r = 1;

        if (change->new_mode != 0)
                r = is_ignored(v, change->path, S_ISDIR(change->new_mode));
        if (r > 0 && change->old_mode != 0)
                r = is_ignored(v, change->from ? change->from : change->path, S_ISDIR(change->old_mode));
        return r;
}

/* Those of `paths` that are ignored folders. */
static int find_opened(struct ignored_view *v, char *const *paths, char ***ret) {
        STRV_FOREACH (path, paths) {
                int r = **path == '/' ? 0 : is_ignored(v, *path, true);

                if (r < 0 || (r > 0 && strv_add(ret, *path) < 0))
                        return -ENOMEM;
        }
        return 0;
}

static bool is_named_in(char *const *paths, char *const *opened, const struct change *change) {
        return strv_contains(paths, change->path) || (opened && *opened && changes_selects(opened, change));
}

/* What becomes of folders follows from what is in them. */
static int mark_folders(const struct changes *c, bool *is_marked) {
        enum {
                HAS_MARKED = 1,
                HAS_OTHER = 2
        };
        _cleanup_free_ size_t *above = calloc(c->n + 1, sizeof(*above)); /* 1 + number of the folder above */
        _cleanup_free_ unsigned char *has = calloc(c->n + 1, 1);

        if (!above || !has)
                return -ENOMEM;
        for (size_t i = 0, top = 0; i < c->n; i++) {
                while (top > 0 && !tree_is_beneath(c->list[i].path, c->list[top - 1].path))
                        top = above[top - 1];
                above[i] = top;
                top = i + 1;
        }
        for (size_t i = c->n; i > 0; i--) {
                const struct change *change = &c->list[i - 1];
                unsigned char below = has[i - 1];

                if (change->kind == CHANGE_ADDED && S_ISDIR(change->new_mode))
                        is_marked[i - 1] |= below == HAS_MARKED;
                else if (S_ISDIR(change->old_mode) && !S_ISDIR(change->new_mode))
                        is_marked[i - 1] |= (below & HAS_MARKED) != 0;
                if (above[i - 1] > 0)
                        has[above[i - 1] - 1] |= below | (is_marked[i - 1] ? HAS_MARKED : HAS_OTHER);
        }
        return 0;
}

/* The work tree that `top` lies in, or `top` itself. */
static int find_outer(struct ignored_view *v, const char *top) {
        _cleanup_free_ char *folder = strdup(top);

        if (!folder)
                return -ENOMEM;
        for (size_t n = strlen(folder); n > 0; n--) {
                _cleanup_close_ int fd = -EBADF;
                bool is_plain;

                if (top[n] != '\0' && top[n] != '/')
                        continue;
                folder[n] = '\0';
                fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0 || !is_repository_of(fd, &is_plain))
                        continue;
                v->outer = strdup(folder);
                v->prefix = strdup(top + n + (top[n] == '/'));
                return v->outer && v->prefix ? 0 : -ENOMEM;
        }
        v->outer = strdup(top);
        v->prefix = strdup("");
        return v->outer && v->prefix ? 0 : -ENOMEM;
}

static int ignored_view_open(struct ignored_view *v, const struct ignored_question *q) {
        char *global = strdup(q->global ? q->global : "");

        *v = (struct ignored_view){.q = q, .base = {.root = q->layer->base_fd, .fd = -EBADF}};
        if (!global || gitignore_parse(global, &v->global) < 0)
                return -ENOMEM;
        return find_outer(v, q->top);
}

int ignored_mark(const struct ignored_question *q, const struct changes *c, char *const *paths, bool *ret) {
        _cleanup_(ignored_view_clear) struct ignored_view v;
        _cleanup_strv_ char **opened = NULL;
        int r = ignored_view_open(&v, q);

        if (r >= 0)
                r = find_opened(&v, paths, &opened);
        for (size_t i = 0; i < c->n && r >= 0; i++) {
                r = is_change_ignored(&v, &c->list[i]);
                ret[i] = r > 0 && !is_named_in(paths, opened, &c->list[i]);
        }
        if (r >= 0)
                r = mark_folders(c, ret);
        for (size_t i = 0; i < c->n && r >= 0; i++)
                ret[i] = ret[i] && changes_selects(paths, &c->list[i]);
        return r < 0 ? r : 0;
}
