/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See git.h.  Judged from the list of changes that is committed and from the host's side: what a
 * session shows meanwhile is its own to change. */
#include "git.h"

#include <fcntl.h>

#include "base/array.h"
#include "base/path.h"
#include "base/str.h"

/* Whether a name is ".git", in any case: on a case-folding file system ".GIT" is one. */
static bool is_git(const char *name, size_t n) {
        return n == 4 && strncasecmp(name, ".git", 4) == 0;
}

static bool has_top(const char *below, const char *name) {
        const char *rest = startswith(below, name);

        return rest && (!*rest || *rest == '/');
}

/* Whether git runs `below` (a path within a git dir), reads it as configuration or as a list of commands, or
 * takes the place of one of these from it. */
static bool is_obeyed(const char *below) {
        static const char *const names[] = {"hooks",
                                            "modules",
                                            "config",
                                            "config.worktree",
                                            "commondir",
                                            "gitdir",
                                            "rebase-merge",
                                            "rebase-apply",
                                            "sequencer",
                                            "remotes",
                                            "branches",
                                            "info/attributes",
                                            "objects/info/alternates"};
        const char *worktree = startswith(below, "worktrees/");

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (has_top(below, names[i]))
                        return true;
        worktree = worktree ? strchr(worktree, '/') : NULL;
        return worktree && is_obeyed(worktree + 1);
}

static bool host_has(int folder, const char *name) {
        return folder >= 0 && faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int compare(const void *a, const void *b) {
        const struct change *x = a, *y = b;

        return tree_compare(x->path, y->path);
}

/* Whether a change puts something there. */
static int is_put(const struct changes *c, const char *folder, const char *name) {
        _cleanup_free_ char *path = path_append(folder, name);
        const struct change key = {.path = path}, *found;

        if (!path)
                return -ENOMEM;
        found = c->n > 0 ? bsearch(&key, c->list, c->n, sizeof(*c->list), compare) : NULL;
        return found && found->new_mode != 0;
}

static int is_there(const struct git_view *v, const char *folder, int fd, const char *name) {
        return host_has(fd, name) ? 1 : is_put(v->c, folder, name);
}

static bool is_git_dir(int fd) {
        return host_has(fd, "HEAD") &&
               (host_has(fd, "commondir") || (host_has(fd, "objects") && host_has(fd, "refs")));
}

/* Whether `folder` is a git dir once all changes are made: 1, 0, -ENOMEM. */
static int becomes_git_dir(const struct git_view *v, const char *folder, int fd) {
        int r = is_there(v, folder, fd, "HEAD");

        if (r <= 0)
                return r;
        r = is_there(v, folder, fd, "commondir");
        if (r != 0)
                return r;
        r = is_there(v, folder, fd, "objects");
        return r <= 0 ? r : is_there(v, folder, fd, "refs");
}

/* Whether a folder that is no git dir on the host becomes one by this: its HEAD, or where an earlier commit
 * has put that, what is beside it. */
static bool makes_git_dir(const struct git_folder *f, const char *below) {
        return f->had_head
                       ? has_top(below, "objects") || has_top(below, "refs") || has_top(below, "commondir")
                       : has_top(below, "HEAD");
}

/* Adds the folder that is the first `length` bytes of `path`. */
static int add_folder(struct git_view *v, const char *path, size_t length) {
        _cleanup_free_ char *folder = strndup(path, length);
        const char *name;
        struct git_folder f = {.length = length};
        int fd, r;

        if (!folder)
                return -ENOMEM;
        if (ARRAY_GROW(v->folders, v->n) < 0)
                return -ENOMEM;
        name = path_basename(folder);
        f.is_named = length == 0 ? v->top_is_named : is_git(name, strlen(name));
        /* What can't be opened is not on the host as a folder of the overlay's. */
        fd = length == 0 ? v->base.root : tree_folder(&v->base, folder);
        if (fd == -ENOMEM)
                return fd;
        f.was_one = is_git_dir(fd);
        f.had_head = host_has(fd, "HEAD");
        r = f.was_one ? 1 : becomes_git_dir(v, folder, fd);
        if (r < 0)
                return r;
        f.is_one = r;
        v->folders[v->n++] = f;
        return 0;
}

/* Makes the folders those above `path`. */
static int changes_git_enter(struct git_view *v, const char *path) {
        char *copy = strdup(path);
        int r = 0;

        if (!copy)
                return -ENOMEM;
        while (v->n > 0) {
                size_t n = v->folders[v->n - 1].length;

                if (v->path && (n == 0 || (strncmp(v->path, path, n) == 0 && path[n] == '/')))
                        break;
                v->n--;
        }
        free(v->path);
        v->path = copy;
        if (v->n == 0)
                r = add_folder(v, path, 0);
        for (const char *at = path + (v->n > 0 ? v->folders[v->n - 1].length : 0);
             r >= 0 && (at = strchr(at + (at > path), '/'));)
                r = add_folder(v, path, (size_t)(at - path));
        return r;
}

int git_view_obeys(struct git_view *v, const char *path) {
        const char *name = strrchr(path, '/');
        int r;

        name = name ? name + 1 : path;
        if (is_git(name, strlen(name)))
                return 1;
        if (v->above) {
                _cleanup_free_ char *below = path_append(v->above, path);

                if (!below)
                        return -ENOMEM;
                if (is_obeyed(below))
                        return 1;
        }
        r = changes_git_enter(v, path);
        if (r < 0)
                return r;
        for (size_t i = 0; i < v->n; i++) {
                const struct git_folder *f = &v->folders[i];
                const char *below = path + f->length + (f->length > 0);

                if ((f->is_named || f->is_one) && is_obeyed(below))
                        return 1;
                /* All of a git dir that wasn't there; and what makes a folder one. */
                if (!f->was_one && (f->is_named || (f->is_one && makes_git_dir(f, below))))
                        return 1;
        }
        return 0;
}

/* Below a folder that is a git dir, or whose name makes it one. */
static int is_below_git_dir(struct git_view *v, const char *path) {
        int r = v->above ? 0 : changes_git_enter(v, path);

        if (r < 0 || v->above)
                return r < 0 ? r : 1;
        for (size_t i = 0; i < v->n; i++)
                if (v->folders[i].is_named || v->folders[i].is_one)
                        return 1;
        return 0;
}

int git_view_obeys_change(struct git_view *v, const struct change *change) {
        const char *name = path_basename(change->path);
        int r;

        /* Its mode, say. */
        if (is_git(name, strlen(name)) && S_ISDIR(change->old_mode) && S_ISDIR(change->new_mode))
                return 0;
        /* git makes none there, and would write a reflog or a message to where it leads. */
        if (S_ISLNK(change->new_mode) && (r = is_below_git_dir(v, change->path)) != 0)
                return r;
        r = git_view_obeys(v, change->path);
        return r != 0 || !change->from ? r : git_view_obeys(v, change->from);
}

/* Where the overlay itself lies in a git dir. */
static int look_above(struct git_view *v, const char *top) {
        _cleanup_free_ char *folder = strdup(top);

        if (!folder)
                return -ENOMEM;
        for (size_t n = strlen(folder); n > 0; n--) {
                _cleanup_close_ int fd = -EBADF;
                const char *name;

                if (top[n] != '\0' && top[n] != '/')
                        continue;
                folder[n] = '\0';
                name = path_basename(folder);
                fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (!is_git(name, strlen(name)) && !is_git_dir(fd))
                        continue;
                v->above = strdup(top + n + (top[n] == '/'));
                return v->above ? 0 : -ENOMEM;
        }
        return 0;
}

int git_view_open(struct git_view *v, const struct changes_layer *layer, const char *top,
                  const struct changes *c) {
        const char *name = path_basename(top);

        *v = (struct git_view){.c = c,
                               .base = {.root = layer->base_fd, .fd = -EBADF},
                               .top_is_named = is_git(name, strlen(name))};
        return look_above(v, top);
}

void git_view_clear(struct git_view *v) {
        tree_forget(&v->base);
        free(v->above);
        free(v->path);
        free(v->folders);
        *v = (struct git_view){.base = {.root = -EBADF, .fd = -EBADF}};
}

/* Whether a path below "objects/" is named as an object or a pack is: "ab", "ab/cd…", "pack",
 * "pack/pack-ab…". */
static bool is_object(const char *name) {
        static const char digits[] = "0123456789abcdef";
        const char *in_pack = startswith(name, "pack/pack-");

        if (in_pack)
                return in_pack[strspn(in_pack, digits)] == '.' && !strchr(in_pack, '/');
        return streq(name, "pack") ||
               (strspn(name, digits) == 2 &&
                (!name[2] || (name[2] == '/' && !name[3 + strspn(name + 3, digits)])));
}

/* What git adds there without a person's reading anything in it.  Not the index, which stages what is in no
 * file of the tree. */
static bool is_kept(const char *below, bool is_new) {
        const char *worktree = startswith(below, "worktrees/"), *object = startswith(below, "objects/");

        if (object)
                return is_new && is_object(object);
        worktree = worktree ? strchr(worktree, '/') : NULL;
        return has_top(below, "logs") || streq(below, "COMMIT_EDITMSG") ||
               (worktree && is_kept(worktree + 1, is_new));
}

int git_view_keeps(struct git_view *v, const struct change *change) {
        bool is_new = change->old_mode == 0;
        bool is_plain =
                ((S_ISREG(change->new_mode) && !(change->new_mode & 0111)) || S_ISDIR(change->new_mode)) &&
                (is_new || (change->old_mode & S_IFMT) == (change->new_mode & S_IFMT));
        int r;

        if (!is_plain || change->is_special || change->has_conflict || change->error != 0 || change->from)
                return 0;
        r = changes_git_enter(v, change->path);
        for (size_t i = 0; i < v->n && r >= 0; i++) {
                const struct git_folder *f = &v->folders[i];

                if (f->is_named && f->was_one && is_kept(change->path + f->length + (f->length > 0), is_new))
                        return 1;
        }
        return r < 0 ? r : 0;
}
