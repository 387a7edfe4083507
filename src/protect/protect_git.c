/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "protect_git.h"

#include <limits.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "host/gitdir.h"
#include "host/gitorders.h"
#include "host/glob.h"
#include "host/subrepositories.h"
#include "host/user.h"
#include "protect_home.h"
#include "protect_names.h"

/* Of each git dir that .git has of a linked worktree; of a submodule's, and of one elsewhere, it is what
 * protect_names has of .git.  Those that are there when the command begins, as git makes new ones. */
static const char *const of_worktrees[] = {"commondir", "config.worktree", "gitdir"};

enum {
        MODULES_DEPTH = 16,
        INCLUDES_DEPTH = 10, /* git's own bound */
        INCLUDES_MAX = 1000,
        LINKS_MAX = 10000, /* symlinks in git dirs: the user's tools make some */
        INCLUDED_SIZE = 1 << 20,
        WORDS_MAX = 64, /* of one value */
};

/* Where a walk through .git's git dirs is. */
struct git_dirs {
        struct protecting *protecting;
        unsigned depth;
};

/* What git obeys of each git dir, in the git dir `folder`, a glob. */
static int protect_git_dir(struct protecting *p, const char *folder,
                           int (*protect)(struct protecting *p, const char *name)) {
        int r = 0;

        for (const char *const *at = protect_names; *at && r >= 0; at++) {
                const char *below = startswith(*at, ".git/");
                _cleanup_free_ char *name = below ? path_append(folder, below) : NULL;

                if (below)
                        r = name ? protect(p, name) : -ENOMEM;
        }
        return r;
}

/* The git dir is swept when the command has ended. */
static int add_swept(struct resolved *s, const char *folder, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name);

        if (!path)
                return -ENOMEM;
        return strv_contains(s->protection.git_dirs, path)
                       ? 0
                       : strv_consume(&s->protection.git_dirs, TAKE_PTR(path));
}

static int protect_modules(struct protecting *p, const char *folder, unsigned depth);

/* And the git dirs of its submodules. */
static int protect_worktree(void *data, const char *name, const struct stat *st) {
        const struct git_dirs *dirs = data;
        _cleanup_free_ char *folder = glob_escape(name), *modules = NULL;
        int r = folder ? 0 : -ENOMEM;

        if (!S_ISDIR(st->st_mode))
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(of_worktrees) && r >= 0; i++) {
                _cleanup_free_ char *glob = path_append(folder, of_worktrees[i]);

                r = glob ? protect_name(dirs->protecting, glob) : -ENOMEM;
        }
        if (r >= 0 && strv_consume(dirs->protecting->worktrees, path_join(dirs->protecting->path, name)) < 0)
                r = -ENOMEM;
        if (r >= 0)
                r = (modules = path_append(folder, "modules")) ? 0 : -ENOMEM;
        return r < 0 ? r : protect_modules(dirs->protecting, modules, 0);
}

static int git_dirs_cross(void *data, const char *name) {
        return protect_crosses(((struct git_dirs *)data)->protecting, name);
}

static int each_below(struct git_dirs *dirs, const char *folder,
                      int (*found)(void *data, const char *name, const struct stat *st)) {
        _cleanup_free_ char *all = path_append(folder, "*");
        char *globs[] = {all, NULL};

        return all ? glob_find(dirs->protecting->fd, globs,
                               &(struct glob_search){.found = found,
                                                     .closed = protect_leave_closed,
                                                     .crosses = git_dirs_cross,
                                                     .wants_type = true,
                                                     .data = dirs})
                   : -ENOMEM;
}

/* A command may have moved one of the two away for a while. */
static bool is_git_dir_at(int fd, const char *name) {
        static const char *const signs[] = {"HEAD", "config"};
        char path[PATH_MAX];
        struct stat st;

        for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
                int n = snprintf(path, sizeof(path), "%s/%s", name, signs[i]);

                if (n > 0 && (size_t)n < sizeof(path) && fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(st.st_mode))
                        return true;
        }
        return false;
}

/* A submodule's git dir, which has those of its own submodules in turn; or a folder of the submodule's name,
 * which is its path. */
static int protect_module(void *data, const char *name, const struct stat *st) {
        const struct git_dirs *dirs = data;
        struct protecting *p = dirs->protecting;
        _cleanup_free_ char *folder = glob_escape(name), *modules = NULL;
        int r;

        if (!folder)
                return -ENOMEM;
        if (!S_ISDIR(st->st_mode))
                return 0;
        r = responds_in_time(p->fd, name, p->path, p->err);
        if (r < 0)
                return r;
        if (!is_git_dir_at(p->fd, name))
                return protect_modules(p, folder, dirs->depth + 1);
        if (++*p->n_repositories > PROTECT_REPOSITORIES_MAX)
                return -E2BIG;
        r = protect_git_dir(p, folder, protect_name);
        if (r >= 0)
                r = add_swept(p->resolved, p->path, name);
        modules = r < 0 ? NULL : path_append(folder, "modules");
        if (r >= 0 && !modules)
                r = -ENOMEM;
        return r < 0 ? r : protect_modules(p, modules, dirs->depth + 1);
}

static int protect_modules(struct protecting *p, const char *folder, unsigned depth) {
        struct git_dirs dirs = {.protecting = p, .depth = depth};

        return depth < MODULES_DEPTH ? each_below(&dirs, folder, protect_module) : 0;
}

/* The git dirs in the git dir `folder`, a glob. */
static int protect_git_dirs(struct protecting *p, const char *folder) {
        _cleanup_free_ char *modules = path_append(folder, "modules"),
                            *worktrees = path_append(folder, "worktrees");
        struct git_dirs dirs = {.protecting = p};
        int r = !modules || !worktrees             ? -ENOMEM
                : protect_is_left_open(p, modules) ? 0
                                                   : protect_modules(p, modules, 0);

        return r < 0 ? r : each_below(&dirs, worktrees, protect_worktree);
}

/* A git dir that lies in the folder around under another name, as .git says, a file or a symlink. */
static int protect_separate(const struct protecting *p) {
        _cleanup_free_ char *folder = glob_escape(path_below(p->git_dir, p->top));
        struct protecting top = protect_top_of(p);
        int r = folder ? protect_git_dir(&top, folder, protect_in_top) : -ENOMEM;

        if (r >= 0)
                r = protect_git_dirs(&top, folder);
        if (r >= 0)
                r = protect_find(&top);
        strv_free(top.globs);
        return r < 0 ? r : add_swept(p->resolved, "/", p->git_dir);
}

/* Where .git leads that is no folder; nothing but what lies in the writable folder is believed here. */
static int follow_dot_git(struct protecting *p, bool is_file) {
        _cleanup_free_ char *link = NULL, *canonical = NULL;
        int r;

        if (is_file) {
                r = gitdir_follow_within(p->fd, ".git", "gitdir: ", p->path, p->top, &canonical);
        } else {
                link = path_join(p->path, ".git");
                r = link ? path_canonical(link, &canonical, NULL) : -ENOMEM;
        }
        if (r == -ENOMEM)
                return r;
        if (r < 0 || !path_is_beneath(canonical, p->top))
                return 0;
        p->git_dir = TAKE_PTR(canonical);
        return protect_is_left_open(p, ".git") ? 0 : protect_separate(p);
}

/* A bare repository: the folder is its own git dir. */
static int protect_bare(struct protecting *p) {
        int r = protect_git_dir(p, "", protect_name);

        if (r >= 0)
                r = protect_git_dirs(p, "");
        p->git_dir = r < 0 ? NULL : strdup(p->path);
        if (r >= 0)
                r = p->git_dir ? add_swept(p->resolved, "/", p->git_dir) : -ENOMEM;
        return r;
}

static int protect_dot_git(struct protecting *p) {
        struct resolved *s = p->resolved;
        bool is_project = s->project && streq(p->path, s->project);
        struct stat st;
        int r = p->is_git_dir ? 0 : protect_name(p, ".git");

        if (r < 0)
                return r;
        if (p->is_git_dir)
                return protect_is_left_open(p, "") ? 0 : protect_bare(p);
        r = is_project ? 0 : responds_in_time(p->fd, ".git", p->path, p->err);
        if (r < 0)
                return r;
        if (fstatat(p->fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return nested_is_bare(p->fd) ? protect_bare(p) : 0;
        /* A worktree's or a submodule's, outside: git.c has exposed it. */
        if (is_project && s->git.dir)
                return (p->git_dir = strdup(s->git.dir)) ? 0 : -ENOMEM;
        if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
                return follow_dot_git(p, S_ISREG(st.st_mode));
        if (!S_ISDIR(st.st_mode))
                return 0;
        p->git_dir = path_join(p->path, ".git");
        if (!p->git_dir)
                return -ENOMEM;
        if (protect_is_left_open(p, ".git"))
                return strv_consume(&s->protection.present, str_concat(p->path, "//", ".git"));
        if (is_project && !(s->git.dir = strdup(p->git_dir)))
                return -ENOMEM;
        r = add_swept(s, "/", p->git_dir);
        if (r >= 0)
                r = protect_git_dir(p, ".git", protect_name);
        return r < 0 ? r : protect_git_dirs(p, ".git");
}

int protect_git(struct protecting *p) {
        int r = protect_dot_git(p);

        if (r >= 0 && p->git_dir)
                p->git_fd = open(p->git_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return r;
}

/* A file of configuration that is read for what it names. */
struct ordering {
        const struct protecting *protecting;
        const char *folder; /* to which its includes are relative */
        unsigned depth, *n_included;
        char **worktree; /* core.worktree's last value */
};

static int take_order(void *data, const struct gitconfig_entry *entry);

/* Reads a plain file of configuration, wherever it lies, as git would: without following a symlink, and
 * nothing is opened that isn't one on a disk. */
static int read_plain_below(int folder, const char *name, char **ret) {
        static const char *const of_kernel[] = {"proc", "sys", "dev"};
        static const int flags[] = {O_PATH, O_RDONLY | O_NONBLOCK | O_NOCTTY};
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (path_is_beneath_any(name, of_kernel, ARRAY_SIZE(of_kernel)))
                return -ENOENT;
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
                close_fdp(&fd);
                fd = beneath_open(folder, name, flags[i], 0);
                if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                        return -ENOENT;
        }
        return read_small_fd(fd, INCLUDED_SIZE, ret);
}

/* Goes on in a file that is included; on the way to it there is no symlink. */
static int read_included(const struct ordering *from, const char *path) {
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *folder = path_parent(path), *text = NULL;
        struct ordering in = *from;
        int r;

        if (!folder)
                return -ENOMEM;
        if (++in.depth > INCLUDES_DEPTH)
                return 0;
        if (++*in.n_included > INCLUDES_MAX)
                return error_set(from->protecting->err, NSRUN_STAGE_POLICY, UNSAID(-E2BIG), path,
                                 "git's configuration includes more files than nsrun can protect",
                                 "include fewer files");
        in.folder = folder;
        r = root < 0 ? -errno : read_plain_below(root, path + 1, &text);
        if (r >= 0)
                r = gitconfig_parse(text, strlen(text), take_order, &in);
        return r == -ENOMEM || r == -E2BIG || r == -ETIMEDOUT ? r : 0;
}

/* Protects what a configuration names, as it is spelled and where its links lead, whichever writable folder
 * has it; `folder` is what a relative path is relative to.  *ret, for the caller to free, is where the links
 * lead; NULL: nobody knows. */
static int protect_named(const struct protecting *p, const char *value, const char *folder, char **ret) {
        _cleanup_free_ char *named = NULL, *path = NULL, *way = NULL, *canonical = NULL, *as_is = NULL,
                            *older = NULL;
        int r = 0;

        /* A git before 2.52 takes it with all that it says. */
        if (startswith(value, GIT_OPTIONAL))
                r = (as_is = str_concat("./", value, "")) ? protect_named(p, as_is, folder, &older)
                                                          : -ENOMEM;
        if (r >= 0)
                r = user_expand(p->resolved->home, value, &named);
        if (r < 0 || !named)
                return r;
        path = path_join(folder, named);
        way = path_is_absolute(named) ? strdup(named) : str_concat(folder, "/", named);
        r = path && way ? path_canonical_to_be(way, &canonical) : -ENOMEM;
        if (r == -ETIMEDOUT)
                return responds_fail(r, path, p->err);
        if (r >= 0 && !path_is_beneath(p->path, canonical))
                r = protect_take_way(p->resolved, way, p->targets);
        /* What the repository lies in is the command's to write. */
        if (r >= 0 && !path_is_beneath(p->path, path))
                r = protect_take_target(p->resolved, path, p->targets);
        if (r >= 0)
                *ret = TAKE_PTR(canonical);
        return r;
}

/* A word of what git has a shell run.  That is the first of them, which may come to be, as an absolute one
 * may, or one that is a file of the work tree, where git runs it; a name alone is looked for in PATH, unless
 * it is a script's. */
static int protect_word(const struct protecting *p, const char *word, bool is_first) {
        _cleanup_free_ char *named = NULL, *spelled = NULL, *path = NULL, *tilde = NULL;
        const char *below = startswith(word, "$HOME");
        struct stat st;
        int r;

        below = below ? below : startswith(word, "${HOME}");
        if (below && *below == '/' && !(word = tilde = str_concat("~", below, "")))
                return -ENOMEM;
        if (*word == '-' || !strpbrk(word, is_first ? "/" : "/."))
                return 0;
        r = user_expand(p->resolved->home, word, &named);
        if (r < 0 || !named)
                return r;
        spelled = path_join(p->path, named);
        r = spelled ? responds_in_time(AT_FDCWD, spelled, NULL, p->err) : -ENOMEM;
        if (r < 0 || (stat(spelled, &st) < 0 ? !is_first && !path_is_absolute(named) : !S_ISREG(st.st_mode)))
                return r;
        return protect_named(p, named, p->path, &path);
}

/* With is_shell as a shell has the words, without quotes and backslashes. */
static int protect_words(const struct protecting *p, const char *value, bool is_shell) {
        const char *ends = is_shell ? " \t\r\n`;|&()<>" : " \t\r\n!\"'`;|&()<>=";
        _cleanup_free_ char *word = malloc(strlen(value) + 1);
        int r = word ? 0 : -ENOMEM;

        for (unsigned i = 0; i < WORDS_MAX && r >= 0 && *(value += strspn(value, ends)); i++) {
                char quote = '\0', *to = word;

                for (; *value && (quote || !strchr(ends, *value)); value++)
                        if (is_shell && *value == quote)
                                quote = '\0';
                        else if (is_shell && !quote && (*value == '"' || *value == '\''))
                                quote = *value;
                        else
                                *to++ = is_shell && *value == '\\' && quote != '\'' && value[1] ? *++value
                                                                                                : *value;
                *to = '\0';
                r = protect_word(p, word, i == 0);
        }
        return r;
}

static int protect_program(const struct protecting *p, const char *value) {
        const char *line = value + (*value == '!');
        int r = protect_words(p, line, false);

        return r >= 0 && strpbrk(line, "\"'\\=!") ? protect_words(p, line, true) : r;
}

/* An entry that names a folder of hooks or templates or a file of attributes, relative to the work tree, or
 * a file of configuration, to the file that has the entry; or a program. */
static int take_order(void *data, const struct gitconfig_entry *entry) {
        const struct ordering *o = data;
        _cleanup_free_ char *path = NULL;
        const char *subsection;
        bool is_include = streq(entry->name, "include.path");
        size_t n;
        int r;

        if (streq(entry->name, "core.worktree") && entry->value) {
                free(*o->worktree);
                return (*o->worktree = strdup(entry->value)) ? 0 : -ENOMEM;
        }
        is_include |= gitconfig_is_in(entry->name, "includeif", "path", &subsection, &n);
        if (!entry->value || (!is_include && !gitorders_names_path(entry)))
                return gitorders_names_program(entry) ? protect_program(o->protecting, entry->value) : 0;
        r = protect_named(o->protecting, entry->value, is_include ? o->folder : o->protecting->path, &path);
        return r >= 0 && path && is_include ? read_included(o, path) : r;
}

/* Whether a failure to read configuration ends the start.  That a file can't be read doesn't: git takes
 * nothing of it, either. */
static bool is_refusal(int r) {
        return r == -ENOMEM || r == -E2BIG || r == -ETIMEDOUT;
}

/* What the user's own configuration names counts in all repositories, and where there is none. */
static int protect_users_orders(const struct protecting *p) {
        const struct resolved_git *git = &p->resolved->git;
        _cleanup_free_ char *worktree = NULL, *hooks = NULL;
        unsigned n_included = 0;
        struct ordering o = {
                .protecting = p, .folder = p->path, .n_included = &n_included, .worktree = &worktree};
        int r = git->hooks && *git->hooks ? protect_named(p, git->hooks, p->path, &hooks) : 0;

        STRV_FOREACH (path, git->included)
                r = r < 0 ? r : take_order(&o, &(struct gitconfig_entry){"include.path", *path});
        STRV_FOREACH (value, git->programs)
                r = r < 0 ? r : protect_program(p, *value);
        return r;
}

/* The git dir that a linked worktree's shares: git obeys its configuration in the worktree, too. */
static int open_common(const struct protecting *p, char **ret_path) {
        const struct resolved_git *git = &p->resolved->git;
        bool is_known = git->common_dir && streq(p->git_dir, git->dir);
        _cleanup_free_ char *path = is_known ? strdup(git->common_dir) : NULL;
        int r = path       ? 0
                : is_known ? -ENOMEM
                           : gitdir_follow_within(p->git_fd, "commondir", "", p->git_dir, p->top, &path);

        if (r >= 0)
                r = is_known ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                             : beneath_open(p->top_fd, path_below(path, p->top), O_PATH | O_DIRECTORY, 0);
        if (r >= 0)
                *ret_path = TAKE_PTR(path);
        return r;
}

/* Protects what the files of configuration in a git dir name; `folder` is the git dir's. */
static int protect_orders(const struct protecting *p, int git_dir, const char *folder) {
        _cleanup_free_ char *worktree = NULL, *path = NULL;
        unsigned n_included = 0;
        struct protecting in = *p;
        struct ordering o = {
                .protecting = &in, .folder = folder, .n_included = &n_included, .worktree = &worktree};
        int r = gitorders_read(git_dir, take_order, &o);

        /* Where that is the work tree, relative paths are in there. */
        in.path = path = worktree && !is_refusal(r) ? path_join(folder, worktree) : NULL;
        if (path && !streq(path, p->path)) {
                r = protect_users_orders(&in);
                if (!is_refusal(r))
                        r = gitorders_read(git_dir, take_order, &o);
        }
        return is_refusal(r) ? r : worktree && !path ? -ENOMEM : 0;
}

int protect_git_orders(const struct protecting *p) {
        _cleanup_close_ int common = -EBADF;
        _cleanup_free_ char *common_dir = NULL;
        int r = protect_is_left_open(p, ".git") ? 0 : protect_users_orders(p);

        if (is_refusal(r) || p->git_fd < 0 || protect_is_left_open(p, ".git"))
                return is_refusal(r) ? r : 0;
        common = open_common(p, &common_dir);
        r = common >= 0 ? protect_orders(p, common, common_dir) : common;
        return is_refusal(r) ? r : protect_orders(p, p->git_fd, p->git_dir);
}

int protect_project_orders(struct protecting *p) {
        const struct resolved *s = p->resolved;

        p->git_dir = s->git.dir ? strdup(s->git.dir) : path_join(p->path, ".git");
        if (!p->git_dir)
                return -ENOMEM;
        p->git_fd = open(p->git_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return protect_git_orders(p);
}

int protect_linked_worktree(const struct protecting *top, const char *git_dir, char **ret_below) {
        _cleanup_close_ int fd =
                beneath_open(top->top_fd, path_below(git_dir, top->top), O_PATH | O_DIRECTORY, 0);
        _cleanup_free_ char *spelled = NULL, *dot_git = NULL, *folder = NULL, *canonical = NULL;
        struct protecting p = *top;
        const char *below;
        int r = fd < 0 ? fd : gitdir_read_pointer(fd, "gitdir", "", git_dir, &spelled);

        if (r >= 0)
                r = (dot_git = path_normalise(spelled)) && (folder = path_parent(dot_git))
                            ? path_canonical_to_be(folder, &canonical)
                            : -ENOMEM;
        if (r == -ETIMEDOUT)
                return responds_fail(r, folder, p.err);
        if (r < 0)
                return is_refusal(r) ? r : 0;
        below = p.is_git_dir ? NULL : path_below(canonical, p.top);
        if (below && *below)
                return (*ret_below = strdup(below)) ? 1 : -ENOMEM;
        p.path = canonical;
        return protect_orders(&p, fd, git_dir);
}

/* Where the walk finds links. */
struct listing {
        struct resolved *resolved;
        unsigned n;
};

static int note_link(void *data, int folder, const char *name, const char *path) {
        struct listing *l = data;
        char *line = gitwalk_is_reference(folder, name) ? NULL : gitwalk_describe(folder, name, path);

        if (!line)
                return 0;
        if (l->n++ < LINKS_MAX)
                return strv_consume(&l->resolved->protection.git_links, line);
        free(line);
        return 0;
}

int protect_list_links(struct resolved *s, struct nsrun_error *err) {
        struct listing l = {.resolved = s};
        struct gitwalk w = {.link = note_link, .left_out = s->git.trees, .data = &l};
        int r = 0;

        STRV_FOREACH (path, s->protection.git_dirs)
                if (r >= 0)
                        r = gitwalk(&w, AT_FDCWD, *path, *path, true);
        s->protection.links_are_cut = w.is_cut || l.n > LINKS_MAX;
        return r < 0 ? responds_fail(r, NULL, err) : 0;
}
