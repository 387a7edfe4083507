/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See repositories.h.  The command has made all of it: nothing outside the folders that it could write to is
 * opened, and the kernel alone sets a ctime. */
#include "repositories.h"

#include <fnmatch.h>
#include <limits.h>

#include "aside.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "boundary/operation.h"
#include "host/gitdir.h"
#include "host/gitindex.h"
#include "host/gitorders.h"
#include "host/subrepositories.h"

enum {
        TOLD_MAX = 10, /* of one folder */
        INDEX_MAX = 256 << 20,
        DEPTH_MAX = 16,
        FOLDERS_MAX = 10000,
        MODULES_MAX = 10000, /* entries of folders of submodules' git dirs: the others aren't looked into */
        MODULES_NAMED_MAX = 1000000, /* nor are these moved aside */
        POINTERS_MAX = 1000,         /* git dirs elsewhere */
        ELSEWHERE = 1 << 16,         /* beside the flags of gitorders.h: a git dir that can't be looked at */
        UNSEEN = 1 << 17,            /* or that is one too many */
        COPIED = 1 << 18,            /* or that was without its configuration, and has a plain one */
};

/* A look at a folder and what lies below it. */
struct looking {
        const struct repositories *all;
        unsigned n_found, n_told, n_folders, n_pointers, n_modules;
        bool is_cut;
};

/* A folder of submodules' git dirs, or a git dir that may have some. */
struct modules {
        struct looking *looking;
        const char *path;
        int git_dir; /* the one that the folder lies in */
        unsigned depth;
        bool is_moved; /* as of a candidate */
};

/* A folder that may be a repository. */
struct candidate {
        const struct repositories *all;
        struct looking *looking;
        int folder;
        const char *path;
        /* Of which it is one, as it is found; NULL: it isn't found as a submodule's git dir. */
        const struct modules *modules;
        /* It, or a folder on the way to it, has come there since the run began, or was changed. */
        bool is_moved;
        bool is_unseen; /* it is too much to look at */
        bool is_obeyed; /* what it carries could not be taken away */
        bool was_there; /* its .git is what it was */
};

static bool is_since(const struct timespec *since, int folder, const char *name) {
        struct stat st;

        return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)) == 0 &&
               !time_is_before(&st.st_ctim, since);
}

bool repositories_way_is_young(const struct timespec *since, int folder, const char *name) {
        char path[PATH_MAX];

        for (const char *end = name; end && strlen(name) < sizeof(path);) {
                end = strchr(end + (end != name), '/');
                (void)snprintf(path, sizeof(path), "%.*s", end ? (int)(end - name) : (int)strlen(name),
                               name);
                if (is_since(since, folder, path))
                        return true;
        }
        return false;
}

/* Whether what git would obey in a git dir is younger than the run, or the git dir may be there since. */
static bool is_touched(const struct candidate *c, int git_dir) {
        static const char *const names[] = {"config", "config.worktree", "hooks", "commondir"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (is_since(&c->all->since, git_dir, names[i]))
                        return true;
        return !c->was_there && (c->is_moved || is_since(&c->all->since, git_dir, ""));
}

/* Where git has the index of the repository at `folder`; -EBADF: there is none. */
static int open_git_dir(const struct repositories *r, int folder, const char *path) {
        _cleanup_free_ char *elsewhere = NULL;
        int fd = openat(folder, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0 && errno == ENOTDIR &&
            gitdir_read_pointer(folder, ".git", "gitdir: ", path, &elsewhere) < 0)
                elsewhere = path_join(path, ".git");
        if (fd < 0 && elsewhere)
                fd = r->open(r->data, elsewhere);
        return fd < 0 ? -EBADF : fd;
}

struct work_tree {
        const char *git_dir;
        char *folder; /* what the last core.worktree says */
};

static int take_work_tree(void *data, const struct gitconfig_entry *entry) {
        struct work_tree *w = data;

        if (!streq(entry->name, "core.worktree"))
                return 0;
        free(w->folder);
        w->folder = entry->value ? path_join(w->git_dir, entry->value) : NULL;
        return 0;
}

/* Whether the configuration of the git dir at `path` has the candidate for the work tree; of a submodule's
 * git dir a folder whose .git leads back. */
static bool names_work_tree(const struct candidate *c, int git_dir, const char *path) {
        struct work_tree w = {.git_dir = path};
        bool is_read = gitorders_read(git_dir, take_work_tree, &w) >= 0;
        _cleanup_free_ char *folder = w.folder;
        _cleanup_close_ int fd = -EBADF, back = -EBADF;
        struct stat is, st;

        if (!is_read || !folder || !c->modules)
                return is_read && folder && streq(folder, c->path);
        fd = c->all->open(c->all->data, folder);
        back = fd < 0 ? -EBADF : open_git_dir(c->all, fd, folder);
        return back >= 0 && fstat(back, &st) == 0 && fstat(git_dir, &is) == 0 && st.st_ino == is.st_ino &&
               st.st_dev == is.st_dev;
}

/* What makes a git dir one, and tells nothing of whose it was. */
static int take_key_of_any(void *data, const struct gitconfig_entry *entry) {
        static const char *const names[] = {
                "core.repositoryformatversion", "core.filemode", "core.bare",
                "core.logallrefupdates",        "core.symlinks", "core.ignorecase",
                "core.precomposeunicode",       "extensions.*"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (fnmatch(names[i], entry->name, 0) == 0)
                        gitconfig_write(data, entry);
        return 0;
}

/* A copy of a repository that was made inside has, where that has its configuration, the symlink that the
 * command saw there (mount_private_link()).  Nobody knows whose run made it, or of which repository: it gets
 * what is plain of the version here that has its number. */
static bool replace_version(const struct repositories *r, int git_dir, const char *name) {
        _cleanup_strbuf_ struct strbuf plain = {0};
        _cleanup_close_ int fd = -EBADF;
        char text[PATH_MAX];
        ssize_t n = readlinkat(git_dir, name, text, sizeof(text) - 1);

        if (n < 0)
                return false;
        text[n] = '\0';
        if (r->versions < 0 || !private_is_link(text, name) ||
            gitdir_read_config(r->versions, text + strlen(PLAN_PRIVATE "/"), take_key_of_any, &plain) < 0)
                return false;
        fd = openat(git_dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
        return fd >= 0 && write_full(fd, plain.text ? plain.text : "", plain.length) >= 0 &&
               unlinkat(git_dir, name, 0) >= 0 &&
               linkat(AT_FDCWD, fd_link(fd).path, git_dir, name, AT_SYMLINK_FOLLOW) >= 0;
}

/* What a git dir carries that is not as it was, which is taken away. */
static unsigned carried_by(struct candidate *c, int git_dir) {
        _cleanup_free_ char *path = fd_name(git_dir);
        unsigned carried;
        bool is_own, is_copy = false;

        if ((path && c->all->is_known(c->all->data, path)) || !is_touched(c, git_dir))
                return 0;
        if (c->is_unseen)
                return UNSEEN;
        c->was_there |= path && c->all->was_there(c->all->data, path, NULL);
        if (!c->was_there)
                is_copy = replace_version(c->all, git_dir, "config");
        if (!c->was_there && replace_version(c->all, git_dir, "config.worktree"))
                is_copy = true;
        carried = gitorders_carried(git_dir);
        /* A submodule's says where its folder is. */
        is_own = (carried & GITORDERS_WORKTREE) && path && names_work_tree(c, git_dir, path);
        if (is_own)
                carried &= ~(unsigned)GITORDERS_WORKTREE;
        /* What was the user's before is told, and stays. */
        if (c->was_there)
                c->is_obeyed = true;
        else if (disarm_git_dir(git_dir, carried, is_own) < 0)
                c->is_obeyed = true;
        return carried | (is_copy ? COPIED : 0);
}

/* Opens a git dir that a file names; it, or a folder on the way to it, may have come there since. */
static int open_elsewhere(struct candidate *c, const char *name) {
        /* Many .git files may lead to one that is large. */
        bool is_unseen = c->looking->n_pointers++ >= POINTERS_MAX;
        int fd = c->all->open(c->all->data, name);
        _cleanup_free_ char *path = fd < 0 ? NULL : fd_name(fd);

        c->is_unseen |= is_unseen;
        if (path && c->all->is_way_young(c->all->data, path)) {
                c->is_moved = true;
                c->was_there = false;
        }
        return fd;
}

/* The same with that of its commondir, from which git takes the configuration and the hooks. */
static unsigned look_at_git_dir(struct candidate *c, int git_dir) {
        _cleanup_free_ char *path = fd_name(git_dir), *pointer = NULL;
        _cleanup_close_ int common = -EBADF;

        if (!nested_has(git_dir, "commondir"))
                return carried_by(c, git_dir);
        if (path && gitdir_read_pointer(git_dir, "commondir", "", path, &pointer) >= 0)
                common = open_elsewhere(c, pointer);
        if (common >= 0)
                return carried_by(c, git_dir) | carried_by(c, common);
        return is_touched(c, git_dir) ? ELSEWHERE : 0;
}

/* What a .git that is a file or a symlink leads to. */
static unsigned look_at_pointer(struct candidate *c, const struct stat *st) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int git_dir = -EBADF;
        int r = S_ISLNK(st->st_mode) ? (path = path_join(c->path, ".git")) ? 0 : -ENOMEM
                                     : gitdir_read_pointer(c->folder, ".git", "gitdir: ", c->path, &path);

        if (is_since(&c->all->since, c->folder, ".git")) {
                c->is_moved = true;
                c->was_there = false;
        }
        /* Git takes no such file either. */
        if (r == -EFBIG)
                return 0;
        git_dir = r < 0 ? r : open_elsewhere(c, path);
        /* What it leads to may come to be. */
        if (git_dir < 0)
                return c->is_moved && !c->was_there ? ELSEWHERE : 0;
        return look_at_git_dir(c, git_dir);
}

static unsigned look_at_dot_git(struct candidate *c) {
        _cleanup_close_ int git_dir = -EBADF;
        struct stat st;

        if (fstatat(c->folder, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        c->was_there = c->all->was_there(c->all->data, c->path, &st);
        if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
                return look_at_pointer(c, &st);
        git_dir = openat(c->folder, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return git_dir < 0 ? 0 : look_at_git_dir(c, git_dir);
}

static int tell_carried(struct candidate *c, const char *name, unsigned carried) {
        static const struct {
                unsigned flag;
                const char *text;
        } parts[] = {{GITORDERS_HOOKS, "hooks"},
                     {GITORDERS_PROGRAM, "configuration that names a program"},
                     {GITORDERS_WORKTREE, "configuration that names a work tree"},
                     {GITORDERS_REBASE, "a rebase to be continued"},
                     {GITORDERS_STRATEGY, "a cherry-pick to be continued"},
                     {GITORDERS_LINKS, "symlinks or pipes in its git dir"},
                     {ELSEWHERE, "a git dir elsewhere"}};
        _cleanup_free_ char *what = NULL, *full = str_concat(c->path, "/", name);
        struct nsrun_error note = {0};

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                char *more;

                if (!(carried & parts[i].flag))
                        continue;
                more = str_concat(what ? what : "", what ? " and " : "", parts[i].text);
                if (!more)
                        return -ENOMEM;
                free(what);
                what = more;
        }
        if (!full)
                return -ENOMEM;
        c->looking->n_told++;
        if (!c->is_obeyed)
                (void)error_setf(
                        &note, NSRUN_STAGE_SUPERVISE, 0, full, NULL,
                        "the command made or changed a git repository with %s, which is moved aside there",
                        what);
        else
                (void)error_setf(&note, NSRUN_STAGE_SUPERVISE, 0, full, NULL,
                                 "the command made or changed a git repository with %s, which git obeys",
                                 what);
        return c->all->found(c->all->data, &note);
}

static int tell_copied(struct candidate *c, const char *name) {
        _cleanup_free_ char *full = str_concat(c->path, "/", name);
        struct nsrun_error note = {0};

        if (!full)
                return -ENOMEM;
        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, full,
                        "the command made a copy of a git repository, which has neither its remotes nor its "
                        "settings: git remote add, git config",
                        NULL);
        return c->all->found(c->all->data, &note);
}

/* What can't be taken out of a git dir is taken away with it: then `name` is none any more.  That of a
 * submodule goes to the git dir that has it: beside it any name may be a submodule's. */
static int judge_carried(struct candidate *c, unsigned carried, const char *name) {
        int r = carried & COPIED && c->looking->n_told++ < TOLD_MAX ? tell_copied(c, name) : 0;

        carried &= ~(unsigned)COPIED;
        if (!carried || r < 0)
                return r;
        if (!c->was_there && (c->is_obeyed || (carried & (GITORDERS_LINKS | ELSEWHERE | UNSEEN))))
                c->is_obeyed =
                        disarm_entry(c->folder, name, c->modules ? c->modules->git_dir : c->folder) < 0;
        c->looking->n_found++;
        /* The few that are named are repositories of which it is known that they have orders. */
        return carried == UNSEEN || c->looking->n_told >= TOLD_MAX ? 0 : tell_carried(c, name, carried);
}

/* Calls `each` for what is in the folder `name`, which is opened in `parent`, the folder of `in`. */
static int each_module(struct modules in, int parent, const char *name,
                       int (*each)(void *data, int folder, const struct dirent *entry)) {
        _cleanup_close_ int fd = beneath_open(parent, name, O_PATH | O_DIRECTORY, 0), entries = -EBADF;
        _cleanup_free_ char *path = str_concat(in.path, "/", name);
        int r;

        if (!path)
                return -ENOMEM;
        if (fd < 0)
                return 0;
        in.path = path;
        in.is_moved |= is_since(&in.looking->all->since, fd, "");
        if (in.is_moved)
                (void)folder_open_to_owner(fd);
        entries = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        in.looking->is_cut |= entries < 0;
        r = entries < 0 ? 0 : folder_read(entries, each, &in);
        return r == -ENOENT ? 0 : r;
}

static int look_at_modules(const struct modules *of);

/* A submodule's git dir; or a folder of the submodule's name, which is its path. */
static int look_at_module(void *data, int folder, const struct dirent *entry) {
        static const char *const signs[] = {"HEAD", "commondir", "config", "hooks"};
        const struct modules *m = data;
        struct looking *l = m->looking;
        const char *name = entry->d_name;
        struct candidate c = {.all = l->all,
                              .looking = l,
                              .folder = folder,
                              .path = m->path,
                              .modules = m,
                              .is_moved = m->is_moved || is_since(&l->all->since, folder, name),
                              .is_unseen = m->depth >= DEPTH_MAX || l->n_modules >= MODULES_MAX};
        struct modules in = {l, m->path, m->git_dir, m->depth + 1, c.is_moved};
        unsigned char type = folder_type(folder, entry);
        _cleanup_free_ char *path = str_concat(m->path, "/", name);
        _cleanup_close_ int fd = -EBADF;
        bool is_git_dir = false;
        int r;

        if (!path)
                return -ENOMEM;
        l->is_cut |= l->n_modules >= MODULES_NAMED_MAX || (c.is_unseen && !c.is_moved);
        if (l->n_modules++ >= MODULES_NAMED_MAX)
                return 1;
        c.was_there = l->all->was_there(l->all->data, path, NULL);
        if (type == DT_LNK)
                return c.is_moved && !c.was_there ? judge_carried(&c, GITORDERS_LINKS, name) : 0;
        fd = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return 0;
        /* One that can't be written to has its "..", and is not renamed to another folder. */
        if (c.is_moved)
                (void)folder_open_to_owner(fd);
        if (c.is_unseen)
                return c.is_moved && !c.was_there ? judge_carried(&c, UNSEEN, name) : 0;
        for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
                is_git_dir |= nested_has(fd, signs[i]);
        if (!is_git_dir)
                return each_module(in, folder, name, look_at_module);
        in.path = path;
        in.git_dir = fd;
        r = look_at_modules(&in);
        /* What the user has left open is told where it has a work tree. */
        return r < 0 || c.was_there ? r : judge_carried(&c, look_at_git_dir(&c, fd), name);
}

static int look_at_trees_modules(void *data, int folder, const struct dirent *entry) {
        struct modules of = *(const struct modules *)data;
        _cleanup_close_ int fd =
                openat(folder, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ char *path = str_concat(of.path, "/", entry->d_name);

        if (!path)
                return -ENOMEM;
        of.looking->is_cut |= of.looking->n_modules >= MODULES_NAMED_MAX;
        if (of.looking->n_modules++ >= MODULES_NAMED_MAX)
                return 1;
        of.is_moved |= is_since(&of.looking->all->since, folder, entry->d_name);
        of.path = path;
        of.git_dir = fd;
        return fd < 0 ? 0 : each_module(of, fd, "modules", look_at_module);
}

/* The git dirs of submodules, with a work tree or without: `git submodule update` takes what is there for
 * the submodule's. */
static int look_at_modules(const struct modules *of) {
        int r = each_module(*of, of->git_dir, "modules", look_at_module);

        return r < 0 ? r : each_module(*of, of->git_dir, "worktrees", look_at_trees_modules);
}

/* Of a candidate's git dir, and of the one that it shares with others. */
static int look_at_all_modules(const struct candidate *c, int git_dir) {
        _cleanup_free_ char *path = fd_name(git_dir), *shared = NULL, *pointer = NULL;
        struct modules of = {c->looking, path, git_dir, 0, c->is_moved};
        _cleanup_close_ int common = -EBADF;
        int r = path ? look_at_modules(&of) : 0;

        c->looking->is_cut |= !path;
        if (r >= 0 && path && gitdir_read_pointer(git_dir, "commondir", "", path, &pointer) >= 0)
                common = c->all->open(c->all->data, pointer);
        if (r < 0 || common < 0)
                return r;
        of.path = shared = fd_name(common);
        of.git_dir = common;
        c->looking->is_cut |= !shared;
        return shared ? look_at_modules(&of) : 0;
}

static int look_at_one(struct candidate *c) {
        int r = judge_carried(c, look_at_dot_git(c), ".git");
        _cleanup_close_ int git_dir = open_git_dir(c->all, c->folder, c->path);

        if (r >= 0 && git_dir >= 0)
                r = look_at_all_modules(c, git_dir);
        /* Git takes it for one where .git is none. */
        if (r < 0 || !nested_is_bare(c->folder))
                return r;
        c->is_moved |= is_since(&c->all->since, c->folder, "HEAD");
        c->was_there = c->is_obeyed = false;
        r = judge_carried(c, look_at_git_dir(c, c->folder), "HEAD");
        return r < 0 ? r : look_at_all_modules(c, c->folder);
}

static int tell_rest(const struct repositories *r, const char *path, unsigned n) {
        struct nsrun_error note = {0};

        (void)error_setf(&note, NSRUN_STAGE_SUPERVISE, 0, path, NULL,
                         "the command made or changed %u more git repositories of that kind, which are "
                         "treated alike",
                         n);
        return r->found(r->data, &note);
}

static int look_in(struct looking *l, int folder, const char *path, unsigned depth);

static int look_below(struct looking *l, int folder, const char *path, const char *name, bool is_named,
                      unsigned depth) {
        const struct repositories *r = l->all;
        _cleanup_close_ int fd = beneath_open(folder, name, O_PATH | O_DIRECTORY, 0);
        _cleanup_free_ char *below = str_concat(path, "/", name);
        int result;

        if (!below)
                return -ENOMEM;
        /* One whose own names are protected has its turn. */
        if (fd < 0 || r->is_looked_at(r->data, below))
                return 0;
        /* The command has closed it, which any owner can open. */
        if (is_since(&r->since, fd, ""))
                (void)folder_open_to_owner(fd);
        result = look_at_one(&(struct candidate){
                .all = r,
                .folder = fd,
                .path = below,
                .looking = l,
                .is_unseen = depth >= DEPTH_MAX || l->n_folders >= FOLDERS_MAX,
                .is_moved = is_named || repositories_way_is_young(&r->since, folder, name)});
        return result < 0 ? result : look_in(l, fd, below, depth + 1);
}

struct index_parts {
        const struct timespec *since;
        bool is_split, is_young;
};

static int see_part(void *data, int folder, const struct dirent *entry) {
        struct index_parts *parts = data;
        bool is_shared = startswith(entry->d_name, "sharedindex.") != NULL;

        parts->is_split |= is_shared;
        parts->is_young |= (is_shared || streq(entry->d_name, "index")) &&
                           is_since(parts->since, folder, entry->d_name);
        return 0;
}

/* Of one that the run has not changed, which git has written, most know of no repository, and aren't read as
 * a whole. */
static struct index_parts find_index(const struct repositories *r, int git_dir) {
        struct index_parts parts = {.since = &r->since};

        if (git_dir >= 0 && folder_each(git_dir, see_part, &parts) < 0)
                parts.is_young = true;
        return parts;
}

/* Git might read otherwise what it hasn't written. */
static int judge_index(struct looking *l, int git_dir, const char *path, int unread) {
        struct nsrun_error note = {0};

        if (unread == -EBADMSG && disarm_entry(git_dir, "index", git_dir) >= 0)
                (void)error_set(
                        &note, NSRUN_STAGE_SUPERVISE, 0, path,
                        "the command left an index that git doesn't write, and which is moved aside there",
                        "git reset makes it anew");
        else
                (void)error_set(
                        &note, NSRUN_STAGE_SUPERVISE, 0, path,
                        "the command left an index that is too large to look through, or can't be "
                        "read or moved aside, and git may obey what is in repositories that it names",
                        NULL);
        return l->all->found(l->all->data, &note);
}

/* What git finds below a repository: by its index again, as a plain `git status` looks into all of them. */
static int look_in(struct looking *l, int folder, const char *path, unsigned depth) {
        _cleanup_close_ int git_dir = open_git_dir(l->all, folder, path);
        const struct index_parts index = find_index(l->all, git_dir);
        bool is_read = index.is_young || index.is_split || gitindex_may_link(git_dir, "index");
        int unread = 0;
        const struct nested_places places = {.folder = folder,
                                             .git_dir = git_dir,
                                             .ret_unread = &unread,
                                             .takes_closed = true,
                                             .index_limit = is_read ? INDEX_MAX : 0};
        _cleanup_strv_ char **names = NULL;
        int result;

        if (depth > DEPTH_MAX || l->n_folders++ >= FOLDERS_MAX) {
                l->is_cut = true;
                return 0;
        }
        result = nested_find(&places, &names, &l->is_cut);
        if (result >= 0 && unread < 0 && index.is_young)
                result = judge_index(l, git_dir, path, unread);
        /* All are looked at, as what they carry may be to be taken away. */
        STRV_FOREACH (name, names)
                if (result >= 0)
                        result = look_below(l, folder, path, *name, index.is_young, depth);
        return result;
}

int repositories_look(const struct repositories *r, int folder, const char *path) {
        struct looking l = {.all = r};
        struct candidate top = {.all = r, .looking = &l, .folder = folder, .path = path};
        struct nsrun_error note = {0};
        int result = look_at_one(&top);

        if (result >= 0)
                result = look_in(&l, folder, path, 0);
        if (result >= 0 && l.n_found > l.n_told)
                result = tell_rest(r, path, l.n_found - l.n_told);
        if (result < 0 || !l.is_cut)
                return result;
        (void)error_set(
                &note, NSRUN_STAGE_SUPERVISE, 0, path,
                "there are more git repositories than nsrun looks at, and git may obey what is in them",
                NULL);
        return r->found(r->data, &note);
}
