/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect_find.h.  A mount point can't be moved away; what isn't there is looked for when the command
 * has ended (sweep/protected.c), or with --protect=strict can't be made (protect_stubs.c). */
#include "protect_find.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>

#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "host/glob.h"
#include "protect_home.h"
#include "protect_names.h"
#include "protect_rules.h"
#include "protect_stubs.h"

enum {
        LINKS_DEPTH = 40,   /* symlinks that lead to the next, as many as the kernel follows */
        FOLDERS_DEPTH = 3,  /* of what is obeyed, in which symlinks are looked for */
        WATCHED_MOST = 500, /* files of a repository's that have other names */
};

bool protect_is_left_open(const struct protecting *p, const char *name) {
        const struct nsrun_policy *policy = p->resolved->policy;
        _cleanup_free_ char *below = NULL;

        if (!policy->no_protect)
                return false;
        below = *p->below ? str_concat(p->below, "/", name) : NULL;
        return (!p->is_git_dir && protect_is_among_open(policy->no_protect, name)) ||
               (below && protect_is_among_open(policy->no_protect, below));
}

/* Whether it is what git writes day by day in a git dir; "" is all of that. */
static bool is_written_by_git(const char *below) {
        static const char *const names[] = {"HEAD",        "index", "logs",     "objects",
                                            "packed-refs", "refs",  "worktrees"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *rest = startswith(below, names[i]);

                if (rest && (!*rest || *rest == '/'))
                        return true;
        }
        return !*below;
}

/* Whether a symlink closes nothing that it leads to: it is, or lies below, a name of the list at the
 * repository's top, which has its turn; or git could not work. */
static bool is_no_target(const struct protecting *p, const char *path) {
        const char *below = path_below(path, p->path), *in_git = strstr(path, "/.git/");

        if ((below && protect_covers(below) && protect_folder_of(below) == 0) ||
            (in_git && is_written_by_git(in_git + strlen("/.git/"))))
                return true;
        STRV_FOREACH (git_dir, p->resolved->protection.git_dirs)
                if ((below = path_below(path, *git_dir)) && is_written_by_git(below))
                        return true;
        return false;
}

/* Protects what a symlink of a protected folder leads to, in whichever writable folder that lies. */
static int protect_led_to(const struct protecting *p, const char *path) {
        return is_no_target(p, path)           ? 0
               : path_is_beneath(path, p->top) ? protect_target(p, path)
                                               : protect_take_target(p->resolved, path, p->targets);
}

/* Whether a file of git's configuration is the symlink that the nsrun around this one has in its place. */
static bool is_outer_version(const char *link, const char *text) {
        const char *name = path_basename(link);

        return private_is_link(text, name) && (streq(name, "config") || streq(name, "config.worktree"));
}

static int lack_outer_version(const struct protecting *p, const char *link) {
        return strv_consume(
                &p->resolved->git.lacks,
                str_format("%s is a version of the outer nsrun's, which isn't shown in this sandbox: "
                           "git lacks its remotes and settings; with the project by --overlay the "
                           "outer one makes none",
                           link));
}

/* A symlink can't be bound, and its text is looked at when the command has ended; the file that it leads to
 * can be bound.  Protected are the path in the link's text, that behind each link on its way, which may be
 * the command's to replace, and the one without links. */
static int protect_linked(const struct protecting *p, const char *link) {
        _cleanup_free_ char *folder = path_parent(link), *said = NULL;
        _cleanup_strv_ char **way = NULL;
        struct protecting linked = *p;
        char text[PATH_MAX];
        ssize_t n = readlink(link, text, sizeof(text) - 1);
        int r;

        if (n < 0 || ++linked.n_links > LINKS_DEPTH)
                return 0;
        text[n] = '\0';
        if (is_outer_version(link, text))
                return lack_outer_version(p, link);
        said = path_is_absolute(text) ? strdup(text) : folder ? str_concat(folder, "/", text) : NULL;
        r = said ? protect_take_way(p->resolved, said, &way) : -ENOMEM;
        if (r >= 0 && way && ++*p->n_repositories > PROTECT_REPOSITORIES_MAX)
                return -E2BIG;
        STRV_FOREACH (path, way)
                if (r >= 0)
                        r = protect_led_to(&linked, *path);
        return r;
}

struct following {
        struct protecting *protecting;
        unsigned depth;
};

static int follow_links_in(struct protecting *p, const char *name, unsigned depth);

/* git runs no sample of a hook. */
static const char samples[] = "*.sample";

/* A file that has another hard link can be written to by that one, which no folder around protects: it is
 * looked at in the end, as a protected name is. */
static int watch_other_names(struct protecting *p, const char *name, const struct stat *found) {
        struct resolved_protection *protection = &p->resolved->protection;
        _cleanup_free_ char *glob = NULL;
        struct stat st = *found;

        /* Of some nothing but the type is known. */
        if (fnmatch(samples, name, 0) == 0 ||
            (st.st_nlink == 0 && fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) ||
            !S_ISREG(st.st_mode) || st.st_nlink == 1)
                return 0;
        if (p->n_watched++ >= WATCHED_MOST)
                return -E2BIG;
        glob = glob_escape(name);
        if (!glob || strv_consume(&protection->names, str_concat(p->path, "//", glob)) < 0 ||
            strv_consume(&protection->present, str_concat(p->path, "//", name)) < 0)
                return -ENOMEM;
        return 0;
}

static int follow_found(void *data, const char *name, const struct stat *st) {
        const struct following *f = data;
        struct protecting *p = f->protecting;
        _cleanup_free_ char *link = NULL;

        if (S_ISDIR(st->st_mode))
                return follow_links_in(p, name, f->depth + 1);
        if (protect_is_left_open(p, name))
                return 0;
        if (!S_ISLNK(st->st_mode))
                return watch_other_names(p, name, st);
        link = str_concat(p->path, "/", name);
        return link ? protect_linked(p, link) : -ENOMEM;
}

/* Where there is more in a protected folder than is looked at.  The folder itself is protected; that the
 * files to which symlinks in it lead aren't, and files that have other names, is said. */
static int end_folder(const struct protecting *p, const char *name) {
        _cleanup_free_ char *path = path_join(p->path, name),
                            *below = str_concat(p->below, *p->below ? "/" : "", name),
                            *word = below ? str_shell_quote(below) : NULL, *hint = NULL;

        if (!path || !word ||
            !(hint = str_format("look who made them; --no-protect %s leaves it open", word)))
                return -ENOMEM;
        if (*p->n_repositories <= PROTECT_REPOSITORIES_MAX && !p->resolved->policy->protects_strictly)
                return strv_consume(
                        &p->resolved->git.lacks,
                        str_format(
                                "of the many files of %s those aren't protected to which symlinks lead, nor those that have other names",
                                path));
        return error_set(p->err, NSRUN_STAGE_POLICY, UNSAID(-E2BIG), path,
                         "there are too many files or symlinks in it to protect what they lead to", hint);
}

static int follow_crosses(void *data, const char *name) {
        const struct following *f = data;

        return protect_crosses(f->protecting, name);
}

static bool is_hooks(const struct protecting *p, const char *name) {
        return streq(path_basename(name), "hooks") &&
               (startswith(name, ".git/") || (p->git_dir && streq(p->git_dir, p->path)));
}

/* What is in a folder that is obeyed may be a symlink: a hook that leads to the project's own script. */
static int follow_links_in(struct protecting *p, const char *name, unsigned depth) {
        struct following f = {.protecting = p, .depth = depth};
        const struct glob_search search = {.found = follow_found,
                                           .closed = protect_leave_closed,
                                           .crosses = follow_crosses,
                                           .wants_type = true,
                                           .unread = is_hooks(p, name) ? samples : NULL,
                                           .data = &f};
        _cleanup_free_ char *folder = glob_escape(name),
                            *glob = folder ? str_concat(folder, "/", "*") : NULL;
        char *const globs[] = {glob, NULL};
        int r = !glob ? -ENOMEM : depth < FOLDERS_DEPTH ? glob_find(p->fd, globs, &search) : 0;

        return r == -E2BIG ? end_folder(p, name) : r;
}

/* Whether it is a folder, or git's configuration, of which the command gets a version of its own; what
 * carry/ wouldn't read it can't change. */
static bool has_own_version(const struct protecting *p, const char *name, const struct stat *st) {
        const char *base = path_basename(name);
        bool is_bare = p->git_dir && streq(p->git_dir, p->path);

        bool is_config = S_ISREG(st->st_mode) && st->st_size <= PROTECT_PRIVATE_SIZE &&
                         (streq(base, "config") || streq(base, "config.worktree")) &&
                         (startswith(name, ".git/") || is_bare);
        /* git reads its old folders of remotes, and writes to none. */
        bool is_folder = S_ISDIR(st->st_mode) && !streq(name, ".git") && !streq(base, "branches") &&
                         !streq(base, "remotes") && p->n_links == 0 &&
                         !p->resolved->policy->protects_strictly;

        return (is_config || is_folder) && p->resolved->own[OWN_RUNDIRS] &&
               strv_length(p->resolved->protection.private) < PROTECT_PRIVATE_MOST;
}

static int add_present_name(const struct protecting *p, const char *name, const struct stat *st) {
        char text[PATH_MAX] = "";
        ssize_t n = S_ISLNK(st->st_mode) ? sys_readlinkat(p->fd, name, text, sizeof(text) - 1) : 0;

        if (n > 0)
                text[n] = '\0';
        return strv_consume(&p->resolved->protection.present,
                            str_format("%s//%s%s%s", p->path, name, n > 0 ? "//" : "", text));
}

/* Or it was one, and has gone with its sandbox. */
static bool is_placeholder_by_now(const struct protecting *p, const char *name) {
        struct stat st;

        if (fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT;
        return (st.st_mode & PROTECT_PLACEHOLDER_MODE) &&
               (protect_is_placeholder(p->fd, name, NULL) ||
                (faccessat(p->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT));
}

static int protect_found(void *data, const char *name, const struct stat *st) {
        struct protecting *p = data;
        struct resolved *s = p->resolved;
        _cleanup_free_ char *source = NULL;
        int r = 0;

        if (protect_is_left_open(p, name) || (S_ISDIR(st->st_mode) && is_placeholder_by_now(p, name)))
                return 0;
        source = str_concat(p->path, "/", name);
        if (!source || add_present_name(p, name, st) < 0)
                return -ENOMEM;
        if (s->policy->protects_strictly && strv_add(&p->found, name) < 0)
                return -ENOMEM;
        if (has_own_version(p, name, st) && !strv_contains(s->protection.private, source) &&
            strv_add(&s->protection.private, source) < 0)
                return -ENOMEM;
        /* A repository's folder is the command's to write. */
        if (streq(name, ".git") && !S_ISREG(st->st_mode))
                return 0;
        if (S_ISLNK(st->st_mode))
                return s->policy->protects_strictly ? strict_pin_link(s, source, p->err)
                                                    : protect_linked(p, source);
        if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || s->policy->protects_strictly)
                r = protect_add_everywhere(s, source, S_ISDIR(st->st_mode));
        return r < 0 || !S_ISDIR(st->st_mode) ? r : follow_links_in(p, name, 0);
}

int protect_crosses(void *data, const char *name) {
        const struct protecting *p = data;

        return responds_in_time(p->fd, name, p->path, p->err);
}

int protect_leave_closed(nsrun_unused void *data, nsrun_unused const char *name) {
        return 0;
}

int protect_name(struct protecting *p, const char *glob) {
        return protect_is_left_open(p, glob) ? 0 : strv_add(&p->globs, glob);
}

/* The names that nothing was found of can't be made. */
static int keep_free(const struct protecting *p) {
        int r = 0;

        STRV_FOREACH (glob, p->globs) {
                _cleanup_free_ char *name = NULL;

                if (r < 0 || streq(*glob, ".git"))
                        continue;
                r = strict_unescape(*glob, &name);
                if (r == -EINVAL)
                        r = 0;
                else if (r >= 0 && !strv_contains(p->found, name))
                        r = strict_keep_free(p->resolved, p->path, name);
        }
        return r;
}

int protect_find(struct protecting *p) {
        const struct glob_search search = {.found = protect_found,
                                           .closed = protect_leave_closed,
                                           .crosses = protect_crosses,
                                           .wants_type = true,
                                           .data = p};
        struct resolved *s = p->resolved;
        size_t n = strv_length(s->protection.names), m = strv_length(p->globs);
        char **grown = m > 0 ? reallocarray(s->protection.names, n + m + 1, sizeof(*grown)) : NULL;
        int r = 0;

        if (m == 0)
                return 0;
        if (!grown)
                return -ENOMEM;
        s->protection.names = grown;
        grown[n] = NULL;
        for (size_t i = 0; i < m; i++, grown[n] = NULL)
                if (!(grown[n++] = str_concat(p->path, "//", p->globs[i])))
                        return -ENOMEM;
        r = glob_find(p->fd, p->globs, &search);
        if (r >= 0 && s->policy->protects_strictly)
                r = keep_free(p);
        strv_free(TAKE_PTR(p->globs));
        strv_free(TAKE_PTR(p->found));
        return r;
}

struct protecting protect_top_of(const struct protecting *p) {
        struct protecting top = *p;

        top.path = p->top;
        top.fd = p->top_fd;
        top.below = "";
        top.globs = NULL;
        top.git_dir = NULL;
        return top;
}

int protect_in_top(struct protecting *top, const char *name) {
        _cleanup_free_ char *entry = str_concat(top->path, "//", name);

        if (!entry)
                return -ENOMEM;
        return strv_contains(top->resolved->protection.names, entry) ? 0 : protect_name(top, name);
}

int protect_target(const struct protecting *p, const char *path) {
        const char *below = path_below(path, p->top);
        _cleanup_free_ char *name = below ? glob_escape(below) : NULL;
        struct protecting top = protect_top_of(p);
        int r;

        /* A command may have made a link to what no file can be called. */
        if (!below || path_is_beneath(p->path, path) || !path_is_possible(path))
                return 0;
        r = name ? protect_in_top(&top, name) : -ENOMEM;
        if (r >= 0)
                r = protect_find(&top);
        strv_free(top.globs);
        return r;
}
