/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See git_author.h.  resolve/git.c decides whether they are wanted, and resolve/environment.c makes
 * variables of them; the grammar of the files is gitconfig.c's. */
#include "git_author.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "gitdir.h"
#include "gitignore.h"
#include "gitorders.h"
#include "project.h"
#include "user.h"

enum {
        CONFIG_MAX = 1 << 20, /* bytes of all configuration files together */
        FILES_MAX = 64,
        NAMED_MAX = 4096, /* files and programs that they name */
        DEPTH_MAX = 10,   /* git's own bound on nested includes */
        COUNT_MAX = 1000,
        URLS_MAX = 256,
        VALUE_MAX = 1024,
        SETTINGS_MAX = 64 << 10,
        IGNORES_MAX = 64 << 10,
};

/* Names and addresses in turns; those of user are for author and committer where these have none. */
static const char *const keys[] = {"user.name",    "user.email",     "author.name",
                                   "author.email", "committer.name", "committer.email"};

void identity_clear(struct identity *id) {
        for (size_t i = 0; i < IDENTITY_N_VARIABLES; i++)
                free(id->values[i]);
        free(id->settings);
        free(id->hooks);
        free(id->overfull);
        free(id->repositorys_hooks);
        strv_free(id->included);
        strv_free(id->programs);
        free(id->signing.key);
        free(id->signing.format);
        free(id->ignores);
        *id = (struct identity){0};
}

/* One search: what it is for, and what was read so far. */
struct reading {
        const struct identity_request *request;
        const char *home;
        char *top; /* the top level of the project's work tree */
        struct gitdir dirs;
        const char *file; /* of the user's, that is being read; includes are relative to it */
        int file_fd;      /* of that */
        unsigned depth, n_files;
        size_t n_bytes;
        char *values[ARRAY_SIZE(keys)], *repositorys[ARRAY_SIZE(keys)];
        bool has_worktree_config; /* the repository has extensions.worktreeConfig on */
        char **urls;              /* its remote.*.url */
        struct strbuf settings;
        char *excludes, *hooks; /* core.excludesFile, core.hooksPath */
        bool hooks_are_users;   /* as in struct identity */
        char *repositorys_hooks;
        bool is_safe; /* safe.directory has the top level */
        struct identity_signing signing;
        bool is_unsigned; /* the repository's commit.gpgSign is false */
        char **included;  /* whatever the user's files include, and under any condition */
        char **programs;
        char *overfull; /* the file whose names are too many */
        bool is_cut;    /* an included file couldn't be read whole: git would stop there */
};

static void reading_clear(struct reading *c) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                free(c->values[i]);
                free(c->repositorys[i]);
        }
        free(c->top);
        gitdir_clear(&c->dirs);
        strv_free(c->urls);
        free(c->excludes);
        free(c->hooks);
        free(c->repositorys_hooks);
        free(c->signing.key);
        free(c->signing.format);
        strv_free(c->included);
        strv_free(c->programs);
        free(c->overfull);
        free(strbuf_finish(&c->settings));
}

/* One line, of a bounded length: it goes into environment variables, commits and a configuration. */
static bool identity_is_line(const char *value) {
        if (strlen(value) > VALUE_MAX)
                return false;
        for (const char *c = value; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return false;
        return true;
}

/* A later entry for a key replaces an earlier one. */
static int take_value(char *values[ARRAY_SIZE(keys)], const char *name, const char *value) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                if (strcasecmp(keys[i], name) != 0)
                        continue;
                free(values[i]);
                values[i] = strdup(value ? value : "");
                return values[i] ? 0 : -ENOMEM;
        }
        return 0;
}

/* ------------------------------------------------------------- the repository */

static int take_plain(void *data, const struct gitconfig_entry *entry) {
        struct reading *c = data;
        const char *remote;
        size_t n;

        if (streq(entry->name, "extensions.worktreeconfig"))
                c->has_worktree_config = gitconfig_is_true(entry->value);
        if (streq(entry->name, "commit.gpgsign"))
                c->is_unsigned = !gitconfig_is_true(entry->value);
        if (streq(entry->name, "core.hookspath") && entry->value) {
                free(c->repositorys_hooks);
                c->repositorys_hooks = strdup(entry->value);
                return c->repositorys_hooks ? 0 : -ENOMEM;
        }
        if (gitconfig_is_in(entry->name, "remote", "url", &remote, &n) && entry->value)
                return strv_length(c->urls) < URLS_MAX ? strv_add(&c->urls, entry->value) : 0;
        return take_value(c->repositorys, entry->name, entry->value);
}

/* Takes the entries of a file of the repository, if it is a plain one. */
static int read_plain(struct reading *c, const char *folder, const char *name) {
        _cleanup_free_ char *path = str_concat(folder, "/", name), *text = NULL;
        _cleanup_close_ int fd =
                path ? beneath_open_canonical(path, O_RDONLY | O_NONBLOCK | O_NOCTTY) : -ENOMEM;
        int r = fd < 0 ? fd : read_small_fd(fd, CONFIG_MAX, &text);

        if (r >= 0)
                r = gitconfig_parse(text, strlen(text), take_plain, c);
        return r == -ENOMEM || r == -EBADMSG || r == -EFBIG ? r : 0;
}

/* What gitdir_find() says of such a project. */
static int take_plain_git(struct reading *c) {
        c->top = strdup(c->request->project);
        c->dirs = (struct gitdir){.dot_git = path_join(c->request->project, ".git"),
                                  .git_dir = path_join(c->request->project, ".git")};
        return c->top && c->dirs.dot_git && c->dirs.git_dir ? 0 : -ENOMEM;
}

/* A .git file that isn't believed leads to none. */
static int read_repository(struct reading *c) {
        const struct gitdir *g = &c->dirs;
        bool is_known = c->request->has_plain_git;
        const char *why, *hint;
        int r = c->request->has_no_git ? ((c->top = strdup(c->request->project)) ? 0 : -ENOMEM)
                : is_known             ? take_plain_git(c)
                                       : project_find(c->request->project, c->home, &c->top);

        if (r >= 0 && !is_known && !c->request->has_no_git)
                r = gitdir_find(c->top, &c->dirs, &why, &hint);
        if (r == -EPERM)
                gitdir_clear(&c->dirs);
        if (r < 0 || !g->git_dir)
                return r == -EPERM ? 0 : r;
        r = read_plain(c, g->common_dir ? g->common_dir : g->git_dir, "config");
        return r < 0 || !c->has_worktree_config ? r : read_plain(c, g->git_dir, "config.worktree");
}

/* ------------------------------------------------------ includeIf's conditions */

/* Makes a path of a configuration absolute where it begins with "~".  *ret is NULL for what nsrun doesn't
 * follow: "%(prefix)", and a user whom passwd doesn't have.  -EBADMSG: there is no home; -ENOMEM. */
static int interpolate(const char *home, const char *path, char **ret) {
        int r;

        *ret = NULL;
        r = startswith(path, "%(prefix)") ? 0 : user_expand(home, path, ret);
        return r >= 0 && !*ret && startswith(path, "~/") ? -EBADMSG : r;
}

/* The git dir by $PWD's spelling of the top level, if that goes through a symlink; or NULL. */
static char *spelled_git_dir(const struct reading *c) {
        const char *pwd = environment_get(c->request->environ, "PWD");
        _cleanup_free_ char *canonical = NULL;

        if (!pwd || !path_is_absolute(pwd) || !streq(c->dirs.git_dir, c->dirs.dot_git) ||
            path_canonical(pwd, &canonical, NULL) < 0 || !streq(canonical, c->top))
                return NULL;
        return path_join(pwd, ".git");
}

/* Of ASCII alone, as git does it. */
static void fold_case(char *text) {
        for (; text && *text; text++)
                if (*text >= 'A' && *text <= 'Z')
                        *text = (char)(*text - 'A' + 'a');
}

/* "~/" becomes a folder, before a relative glob any folders may stand, and "/" at its end takes all that is
 * below, as git has it. */
static int is_in_git_dir(const struct reading *c, const char *condition, bool folds_case) {
        _cleanup_free_ char *home = NULL, *path = NULL, *pattern = NULL, *own = NULL, *spelled = NULL;
        size_t n = strlen(condition);
        int r;

        if (!c->dirs.git_dir)
                return 0;
        if (c->home)
                (void)path_canonical(c->home, &home, NULL);
        r = interpolate(home, condition, &path);
        if (r < 0 || !path)
                return r == -EBADMSG ? 0 : r;
        pattern = str_concat(path_is_absolute(path) ? "" : "**/", path,
                             n > 0 && condition[n - 1] == '/' ? "**" : "");
        own = strdup(c->dirs.git_dir);
        if (!pattern || !own)
                return -ENOMEM;
        spelled = spelled_git_dir(c);
        if (folds_case)
                fold_case(pattern), fold_case(own), fold_case(spelled);
        n = strlen(pattern);
        return gitignore_glob(pattern, n, own, false) ||
               (spelled && gitignore_glob(pattern, n, spelled, false));
}

static bool has_remote(const struct reading *c, const char *pattern) {
        STRV_FOREACH (url, c->urls)
                if (gitignore_glob(pattern, strlen(pattern), *url, false))
                        return true;
        return false;
}

/* Whether an includeIf's condition holds: 1 or 0; -EBADMSG, -ENOMEM. */
static int condition_holds(const struct reading *c, const char *condition) {
        const char *rest;

        if ((rest = startswith(condition, "gitdir:")))
                return is_in_git_dir(c, rest, false);
        if ((rest = startswith(condition, "gitdir/i:")))
                return is_in_git_dir(c, rest, true);
        if ((rest = startswith(condition, "hasconfig:remote.*.url:")))
                return has_remote(c, rest);
        return 0;
}

/* ----------------------------------------------------------- the user's files */

static int read_users_file(struct reading *c, const char *path);

/* Whether the file that is being read may include others.  One that a command may have written may
 * not: it could name any file of the host's.  Judged is what was opened: the name may be another file's by
 * now. */
static bool may_include(const struct reading *c) {
        _cleanup_free_ char *canonical = fd_name(c->file_fd);

        STRV_FOREACH (folder, c->request->untrusted)
                if (canonical && path_is_beneath(canonical, *folder))
                        return false;
        return canonical;
}

/* Adds to a list of what is named, once; the file that names more than it holds is told. */
static int take_named(struct reading *c, char ***to, const char *named) {
        if (strv_contains(*to, named) || c->overfull)
                return 0;
        if (strv_length(*to) < NAMED_MAX)
                return strv_add(to, named);
        return (c->overfull = strdup(c->file)) ? 0 : -ENOMEM;
}

/* A command without a path lies in no folder. */
static int take_program(struct reading *c, const struct gitconfig_entry *entry) {
        return gitorders_names_program(entry) && strpbrk(entry->value, "/.")
                       ? take_named(c, &c->programs, entry->value)
                       : 0;
}

/* Whether its condition holds or not: on another day it may. */
static int include(struct reading *c, const char *value, bool holds) {
        _cleanup_free_ char *named = NULL, *path = NULL;
        const char *slash;
        int r;

        if (!value)
                return -EBADMSG;
        r = interpolate(c->home, value, &named);
        if (r < 0 || !named)
                return r;
        slash = strrchr(c->file, '/');
        if (!path_is_absolute(named) &&
            !(path = str_format("%.*s%s", (int)(slash + 1 - c->file), c->file, named)))
                return -ENOMEM;
        if (take_named(c, &c->included, path ? path : named) < 0)
                return -ENOMEM;
        return holds && may_include(c) ? read_users_file(c, path ? path : named) : 0;
}

static int include_if(struct reading *c, const char *condition, size_t n, const char *value) {
        _cleanup_free_ char *copy = strndup(condition, n);
        int r = copy ? condition_holds(c, copy) : -ENOMEM;

        return r < 0 ? r : include(c, value, r > 0);
}

/* Whoever wrote the file that names it chooses what of the host's is read. */
static int take_excludes(struct reading *c, const char *value) {
        char *path = NULL;
        int r;

        if (!value || !may_include(c))
                return 0;
        r = interpolate(c->home, value, &path);
        if (r < 0)
                return r;
        free(c->excludes);
        c->excludes = path ? path : strdup("");
        return c->excludes ? 0 : -ENOMEM;
}

static int take_hooks(struct reading *c, const char *value, bool is_users) {
        c->hooks_are_users = is_users;
        free(c->hooks);
        c->hooks = strdup(value ? value : "");
        return c->hooks ? 0 : -ENOMEM;
}

/* As git has it: a later one adds, an empty one takes all back. */
static int take_safe(struct reading *c, const char *value) {
        _cleanup_free_ char *path = NULL, *canonical = NULL;
        size_t n;
        int r;

        if (!value || !*value || streq(value, "*")) {
                c->is_safe = value && *value;
                return 0;
        }
        r = interpolate(c->home, value, &path);
        if (r < 0 || !path || !c->top)
                return r == -ENOMEM ? r : 0;
        n = strlen(path);
        if (n > 2 && streq(path + n - 2, "/*")) {
                path[n - 2] = '\0';
                c->is_safe |= path_is_beneath(c->top, path);
                return 0;
        }
        r = path_is_absolute(path) ? path_canonical(path, &canonical, NULL) : 0;
        c->is_safe |= canonical && streq(canonical, c->top);
        return r == -ENOMEM ? r : 0;
}

/* 1: it was an entry of these.  A file that a command may have written doesn't name a key's file. */
static int take_signing(struct reading *c, const struct gitconfig_entry *entry) {
        struct identity_signing *signing = &c->signing;
        char **text = streq(entry->name, "user.signingkey") ? &signing->key
                      : streq(entry->name, "gpg.format")    ? &signing->format
                                                            : NULL;
        bool *flag = streq(entry->name, "commit.gpgsign") ? &signing->commits
                     : streq(entry->name, "tag.gpgsign")  ? &signing->tags
                                                          : NULL;

        if (!text && !flag)
                return 0;
        if (flag) {
                *flag = gitconfig_is_true(entry->value);
                return 1;
        }
        if (entry->value && identity_is_line(entry->value) && may_include(c)) {
                free(*text);
                *text = strdup(entry->value);
                return *text ? 1 : -ENOMEM;
        }
        return 1;
}

static int identity_take_entry(void *data, const struct gitconfig_entry *entry) {
        struct reading *c = data;
        const char *condition;
        size_t n;
        int r = take_signing(c, entry);

        if (r != 0)
                return r < 0 ? r : 0;
        if (streq(entry->name, "include.path"))
                return include(c, entry->value, true);
        if (gitconfig_is_in(entry->name, "includeif", "path", &condition, &n))
                return include_if(c, condition, n, entry->value);
        if (streq(entry->name, "core.excludesfile"))
                return take_excludes(c, entry->value);
        if (streq(entry->name, "core.hookspath"))
                return take_hooks(c, entry->value, may_include(c));
        if (gitorders_names_path(entry))
                return include(c, entry->value, false);
        if (streq(entry->name, "safe.directory"))
                return take_safe(c, entry->value);
        if (!gitorders_is_harmless(entry)) {
                if (take_program(c, entry) < 0)
                        return -ENOMEM;
        } else if (c->settings.length < SETTINGS_MAX) {
                gitconfig_write(&c->settings, entry);
        }
        return take_value(c->values, entry->name, entry->value);
}

static int read_users_text(struct reading *c, const char *path, size_t most) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = responds_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        const char *outer = c->file;
        int outer_fd = c->file_fd, r = fd < 0 ? fd : read_small_fd(fd, most, &text);

        if (r < 0)
                return r == -ENOMEM || r == -EBADMSG || r == -EFBIG || r == -ETIMEDOUT ? r : 0;
        if (c->depth > 0)
                c->n_bytes += strlen(text);
        c->file = path;
        c->file_fd = fd;
        c->depth++;
        r = gitconfig_parse(text, strlen(text), identity_take_entry, c);
        c->depth--;
        c->file = outer;
        c->file_fd = outer_fd;
        return r;
}

/* What can't be read, and what is no plain file (/dev/null, say), is passed over.  A file that others
 * include, which a command may have written, uses up no bound of theirs, and keeps no entry behind it from
 * being taken. */
static int read_users_file(struct reading *c, const char *path) {
        int r;

        if (!path_is_absolute(path)) /* relative to the working directory, mostly a project */
                return 0;
        if (c->depth == 0)
                return read_users_text(c, path, CONFIG_MAX);
        r = c->depth > DEPTH_MAX || c->n_files++ >= FILES_MAX
                    ? -EBADMSG
                    : read_users_text(c, path, CONFIG_MAX - c->n_bytes);
        c->is_cut |= r < 0;
        return r == -ENOMEM || r == -ETIMEDOUT ? r : 0;
}

static int read_below(struct reading *c, const char *folder, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name);

        return path ? read_users_file(c, path) : -ENOMEM;
}

static int read_users(struct reading *c) {
        char *const *inherited = c->request->environ;
        const char *xdg = environment_get(inherited, "XDG_CONFIG_HOME");
        const char *global = environment_get(inherited, "GIT_CONFIG_GLOBAL");
        const char *system = environment_get(inherited, "GIT_CONFIG_SYSTEM");
        const char *no_system = environment_get(inherited, "GIT_CONFIG_NOSYSTEM");
        int r = 0;

        /* A file that a variable names may lie anywhere. */
        c->file = "/";
        if (system && path_is_absolute(system))
                r = take_named(c, &c->included, system);
        if (r >= 0 && global && path_is_absolute(global))
                r = take_named(c, &c->included, global);
        if (r < 0)
                return r;
        if (!no_system || !gitconfig_is_true(no_system))
                r = read_users_file(c, system ? system : "/etc/gitconfig");
        if (r < 0 || global)
                return r < 0 ? r : read_users_file(c, global);
        if (xdg && path_is_absolute(xdg))
                r = read_below(c, xdg, "git/config");
        else if ((!xdg || !*xdg) && c->home)
                r = read_below(c, c->home, ".config/git/config");
        return r < 0 || !c->home ? r : read_below(c, c->home, ".gitconfig");
}

/* Opens a file whose text the sandbox gets.  A symlink below the home, or anywhere if it lies elsewhere, may
 * be one that a command has planted to have another file read. */
static int open_without_links(const struct reading *c, const char *path) {
        const char *below = c->home ? path_below(path, c->home) : NULL;
        const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
        _cleanup_close_ int top = -EBADF;
        /* As a rule there is none in the home's own path, either. */
        int fd = strstr(path, "..") ? -ELOOP : responds_open(AT_FDCWD, path, flags, RESOLVE_NO_SYMLINKS);

        if (fd != -ELOOP)
                return fd;
        top = open(below ? c->home : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return top < 0 ? -errno
                       : responds_open(top, below ? below : path + 1, flags,
                                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

static int read_ignores(const struct reading *c, char **ret) {
        const char *xdg = environment_get(c->request->environ, "XDG_CONFIG_HOME");
        _cleanup_free_ char *usual = NULL;
        _cleanup_close_ int fd = -EBADF;
        const char *path = c->excludes;
        int r;

        if (!path && xdg && path_is_absolute(xdg))
                path = usual = path_join(xdg, "git/ignore");
        else if (!path && (!xdg || !*xdg) && c->home)
                path = usual = path_join(c->home, ".config/git/ignore");
        if (!path || !path_is_absolute(path))
                return 0;
        fd = open_without_links(c, path);
        r = fd < 0 ? fd : read_small_fd(fd, IGNORES_MAX, ret);
        return r == -ENOMEM ? r : 0;
}

/* An entry of a variable's: files that it includes are protected, and not read. */
static int take_variable(struct reading *c, const char *key, const char *value) {
        _cleanup_free_ char *name = strdup(key), *subsection = NULL;
        char *from = name ? strchr(name, '.') : NULL, *to = name ? strrchr(name, '.') : NULL;
        const struct gitconfig_entry entry = {name, value};

        if (!name)
                return -ENOMEM;
        if (from != to && !(subsection = strndup(from, (size_t)(to - from))))
                return -ENOMEM;
        fold_case(name);
        if (subsection)
                memcpy(from, subsection, strlen(subsection));
        if (streq(name, "core.hookspath"))
                return take_hooks(c, value, true);
        if (gitorders_names_path(&entry) || streq(name, "include.path") ||
            (startswith(name, "includeif.") && streq(to, ".path")))
                return include(c, value, false);
        return gitorders_names_program(&entry) ? take_program(c, &entry) : take_value(c->values, key, value);
}

/* Takes what GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0 and so on say. */
static int read_variables(struct reading *c) {
        const char *text = environment_get(c->request->environ, "GIT_CONFIG_COUNT");
        uint64_t count = 0;
        int r = 0;

        if (!text || str_parse_number(text, false, &count) < 0)
                return 0;
        c->file = "/GIT_CONFIG_COUNT"; /* to which nothing is relative */
        for (unsigned i = 0; i < count && i < COUNT_MAX && r >= 0; i++) {
                char key_name[32], value_name[32];
                const char *key, *value;

                (void)snprintf(key_name, sizeof(key_name), "GIT_CONFIG_KEY_%u", i);
                (void)snprintf(value_name, sizeof(value_name), "GIT_CONFIG_VALUE_%u", i);
                key = environment_get(c->request->environ, key_name);
                value = environment_get(c->request->environ, value_name);
                if (key && value)
                        r = take_variable(c, key, value);
        }
        return r;
}

/* ------------------------------------------------------------- the variables */

const char *const identity_variables[IDENTITY_N_VARIABLES] = {
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
};

int identity_to_environment(const struct identity *id, char ***v) {
        int r = 0;

        for (size_t i = 0; i < IDENTITY_N_VARIABLES && r >= 0; i++) {
                char *entry = id->values[i] ? str_concat(identity_variables[i], "=", id->values[i]) : NULL;

                if (id->values[i])
                        r = entry ? strv_consume(v, entry) : -ENOMEM;
        }
        return r;
}

/* Whether a name or address can be used: git would remove angle brackets. */
static bool identity_is_fit(const char *value) {
        return *value && identity_is_line(value) && !strpbrk(value, "<>");
}

static int identity_fill(char *const values[ARRAY_SIZE(keys)], struct identity *ret) {
        for (size_t i = 0; i < IDENTITY_N_VARIABLES; i++) {
                const char *special = values[2 + i];
                const char *value = special && *special ? special : values[i % 2];

                if (value && identity_is_fit(value) && !(ret->values[i] = strdup(value)))
                        return -ENOMEM;
        }
        return 0;
}

int identity_find(const struct identity_request *request, struct identity *ret) {
        _cleanup_(reading_clear) struct reading c = {.request = request};
        int r, users;

        c.home = environment_get(request->environ, "HOME");
        if (c.home && !path_is_absolute(c.home))
                c.home = NULL;
        r = request->project ? read_repository(&c) : 0;
        /* What the repository says, a command may have written: it keeps nothing of the user's from being
         * read. */
        users = read_users(&c);
        r = r < 0 ? r : users < 0 || !c.is_cut ? users : -EBADMSG;
        for (size_t i = 0; i < ARRAY_SIZE(keys) && r >= 0; i++)
                if (c.repositorys[i])
                        r = take_value(c.values, keys[i], c.repositorys[i]);
        users = read_variables(&c);
        r = r < 0 ? r : users;
        ret->hooks = TAKE_PTR(c.hooks);
        ret->hooks_are_users = c.hooks_are_users;
        ret->repositorys_hooks = TAKE_PTR(c.repositorys_hooks);
        ret->included = TAKE_PTR(c.included);
        ret->programs = TAKE_PTR(c.programs);
        ret->overfull = TAKE_PTR(c.overfull);
        ret->has_repository = c.dirs.git_dir != NULL;
        if (r < 0 && r != -ENOMEM)
                return 0;
        if (r >= 0)
                r = identity_fill(c.values, ret);
        if (r >= 0)
                r = read_ignores(&c, &ret->ignores);
        ret->signing = c.signing;
        ret->signing.commits &= !c.is_unsigned;
        c.signing = (struct identity_signing){0};
        if (c.is_safe && c.top)
                gitconfig_write(&c.settings, &(struct gitconfig_entry){"safe.directory", c.top});
        if (r >= 0 && c.settings.length > 0 && !(ret->settings = strbuf_finish(&c.settings)))
                r = -ENOMEM;
        if (r < 0)
                identity_clear(ret);
        return r;
}
