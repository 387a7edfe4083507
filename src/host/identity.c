/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds git's user.name and user.email in its configuration files.  policy/git.c decides whether
 * they are wanted, and policy/environment.c makes variables of them; the grammar of the files is
 * gitconfig.c's. */
#include "identity.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "gitconfig.h"
#include "gitdir.h"
#include "gitsettings.h"
#include "project.h"

enum {
        CONFIG_MAX = 1 << 20, /* bytes of all configuration files together */
        FILES_MAX = 64,
        DEPTH_MAX = 10, /* git's own bound on nested includes */
        COUNT_MAX = 1000,
        URLS_MAX = 256,
        VALUE_MAX = 1024,
        SETTINGS_MAX = 64 << 10,
        IGNORES_MAX = 64 << 10,
};

/* The values of six keys.  A later entry for a key replaces an earlier one. */
struct keys {
        char *user_name, *user_email;
        char *author_name, *author_email;
        char *committer_name, *committer_email;
};

static void keys_clear(struct keys *k) {
        free(k->user_name);
        free(k->user_email);
        free(k->author_name);
        free(k->author_email);
        free(k->committer_name);
        free(k->committer_email);
}

void identity_clear(struct identity *id) {
        free(id->author_name);
        free(id->author_email);
        free(id->committer_name);
        free(id->committer_email);
        free(id->settings);
        free(id->ignores);
        *id = (struct identity){0};
}

/* Whether a name or address can be used.  It goes into environment variables and commits: so it
 * must be one line, and have no angle brackets, which git would remove. */
static bool identity_is_fit(const char *value) {
        if (!*value || strlen(value) > VALUE_MAX)
                return false;
        for (const char *c = value; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '<' || *c == '>')
                        return false;
        return true;
}

/* One search: what it is for, and what was read so far. */
struct reading {
        const struct identity_request *request;
        struct keys keys;
        const char *home;
        char *top; /* the top level of the project's work tree */
        struct gitdir dirs;
        const char *file; /* the file being read, to which includes are relative; NULL: variables */
        int file_fd;      /* of that */
        unsigned depth, n_files;
        size_t n_bytes;
        bool is_safe;             /* safe.directory lists the top level */
        bool has_worktree_config; /* the repository has extensions.worktreeConfig on */
        char **urls;              /* the repository's remote.*.url; NULL: not read yet */
        struct strbuf settings;
        char *excludes; /* core.excludesFile */
};

static void reading_clear(struct reading *c) {
        keys_clear(&c->keys);
        free(c->top);
        gitdir_clear(&c->dirs);
        strv_free(c->urls);
        free(c->excludes);
        free(strbuf_finish(&c->settings));
}

static int keys_take(struct keys *k, const struct gitconfig_entry *entry) {
        const struct {
                const char *name;
                char **slot;
        } slots[] = {
                {"user.name", &k->user_name},           {"user.email", &k->user_email},
                {"author.name", &k->author_name},       {"author.email", &k->author_email},
                {"committer.name", &k->committer_name}, {"committer.email", &k->committer_email},
        };

        for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
                if (!streq(slots[i].name, entry->name))
                        continue;
                free(*slots[i].slot);
                *slots[i].slot = strdup(entry->value ? entry->value : "");
                return *slots[i].slot ? 0 : -ENOMEM;
        }
        return 0;
}

/* ------------------------------------------------------------- the repository */

/* Whether git would trust a file's owner: this user, and for root also the one who called sudo. */
static bool is_owned(const struct reading *c, const char *path) {
        const char *sudo = environment_get(c->request->environ, "SUDO_UID");
        struct stat st;

        if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        return st.st_uid == geteuid() ||
               (geteuid() == 0 && sudo && *sudo && st.st_uid == strtoul(sudo, NULL, 10));
}

/* Calls `found` for each entry of a file of the repository.  0 if it is no plain file. */
static int read_plain(struct reading *c, const char *folder, const char *name,
                      int (*found)(void *data, const struct gitconfig_entry *entry)) {
        _cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        int r = fd < 0 ? -errno : read_small_file(fd, name, O_NOFOLLOW, CONFIG_MAX, &text);

        if (r < 0)
                return r == -ENOMEM || r == -EBADMSG || r == -EFBIG ? r : 0;
        return gitconfig_parse(text, strlen(text), found, c);
}

static int take_plain(void *data, const struct gitconfig_entry *entry) {
        struct reading *c = data;

        if (streq(entry->name, "extensions.worktreeconfig"))
                c->has_worktree_config = gitconfig_is_true(entry->value);
        return keys_take(&c->keys, entry);
}

static int take_url(void *data, const struct gitconfig_entry *entry) {
        struct reading *c = data;
        const char *remote;
        size_t n;

        if (!gitconfig_is_in(entry->name, "remote", "url", &remote, &n) || !entry->value ||
            strv_length(c->urls) >= URLS_MAX)
                return 0;
        return strv_add(&c->urls, entry->value);
}

static int read_repository(struct reading *c,
                           int (*found)(void *data, const struct gitconfig_entry *entry)) {
        const struct gitdir *g = &c->dirs;
        int r;

        if (!g->git_dir ||
            (!c->is_safe && !(is_owned(c, c->top) && is_owned(c, g->dot_git) && is_owned(c, g->git_dir))))
                return 0;
        r = read_plain(c, g->common_dir ? g->common_dir : g->git_dir, "config", found);
        return r < 0 || !c->has_worktree_config ? r : read_plain(c, g->git_dir, "config.worktree", found);
}

/* Finds the project's repository.  A .git file that isn't believed leads to none. */
static int find_repository(struct reading *c) {
        const char *why, *hint;
        int r = project_find(c->request->project, c->home, &c->top);

        if (r >= 0)
                r = gitdir_find(c->top, &c->dirs, &why, &hint);
        return r == -EPERM ? 0 : r;
}

/* ------------------------------------------------------ includeIf's conditions */

/* Makes a path of a configuration absolute where it begins with "~/".  *ret is NULL for forms that
 * nsrun doesn't follow: another user's home ("~name"), and "%(prefix)".  -EBADMSG: there is no home
 * folder; -ENOMEM. */
static int interpolate(const char *home, const char *path, char **ret) {
        *ret = NULL;
        if (startswith(path, "~/")) {
                if (!home)
                        return -EBADMSG;
                if (asprintf(ret, "%s%s", home, path + 1) >= 0)
                        return 0;
                *ret = NULL;
                return -ENOMEM;
        }
        if (*path == '~' || startswith(path, "%(prefix)"))
                return 0;
        *ret = strdup(path);
        return *ret ? 0 : -ENOMEM;
}

/* Completes the glob of a gitdir condition as git does: "~/" and "./" become folders, before a relative
 * one any folders may stand, and "/" at its end takes all that is below.  The first *ret_literal bytes
 * of *ret are to be compared as they are.  *ret is NULL for a glob that matches nothing. */
static int expand_pattern(const struct reading *c, const char *condition, char **ret, size_t *ret_literal) {
        _cleanup_free_ char *home = NULL, *pattern = NULL, *folder = NULL, *file = NULL;
        size_t n = strlen(condition);
        int r;

        if (c->home)
                (void)path_canonical(c->home, &home, NULL);
        r = interpolate(home, condition, &pattern);
        if (r < 0 || !pattern)
                return r == -EBADMSG ? 0 : r;
        if (startswith(pattern, "./")) {
                if (!c->file || path_canonical(c->file, &file, NULL) < 0)
                        return 0;
                folder = path_parent(file);
                if (!folder)
                        return -ENOMEM;
                *ret_literal = strlen(folder) + 1;
        }
        r = asprintf(ret, "%s%s%s",
                     folder                      ? folder
                     : path_is_absolute(pattern) ? ""
                                                 : "**/",
                     pattern + (folder ? 1 : 0), n > 0 && condition[n - 1] == '/' ? "**" : "");
        if (r < 0)
                *ret = NULL;
        return r < 0 ? -ENOMEM : 0;
}

static bool match_path(const char *pattern, size_t literal, const char *path, bool folds_case) {
        if ((folds_case ? strncasecmp(pattern, path, literal) : strncmp(pattern, path, literal)) != 0)
                return false;
        return gitconfig_glob(pattern + literal, path + literal, folds_case);
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

static int is_in_git_dir(const struct reading *c, const char *condition, bool folds_case) {
        _cleanup_free_ char *pattern = NULL, *spelled = NULL;
        size_t literal = 0;
        int r;

        if (!c->dirs.git_dir)
                return 0;
        r = expand_pattern(c, condition, &pattern, &literal);
        if (r < 0 || !pattern)
                return r;
        if (match_path(pattern, literal, c->dirs.git_dir, folds_case))
                return 1;
        spelled = spelled_git_dir(c);
        return spelled && match_path(pattern, literal, spelled, folds_case);
}

static int is_on_branch(const struct reading *c, const char *condition) {
        _cleanup_free_ char *head = NULL, *pattern = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n = strlen(condition);
        const char *branch;
        int r;

        if (!c->dirs.git_dir)
                return 0;
        fd = open(c->dirs.git_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = fd < 0 ? -errno : read_small_file(fd, "HEAD", O_NOFOLLOW, VALUE_MAX, &head);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        head[strcspn(head, "\r\n")] = '\0';
        branch = startswith(head, "ref:");
        branch = branch ? startswith(branch + strspn(branch, " \t"), "refs/heads/") : NULL;
        if (!branch)
                return 0;
        if (asprintf(&pattern, "%s%s", condition, n > 0 && condition[n - 1] == '/' ? "**" : "") < 0) {
                pattern = NULL;
                return -ENOMEM;
        }
        return gitconfig_glob(pattern, branch, false);
}

static int has_remote(struct reading *c, const char *pattern) {
        if (!c->urls) {
                int r = read_repository(c, take_url);

                if (r < 0)
                        return r;
        }
        STRV_FOREACH (url, c->urls)
                if (gitconfig_glob(pattern, *url, false))
                        return 1;
        return 0;
}

/* Whether an includeIf's condition holds: 1 or 0; -EBADMSG, -ENOMEM. */
static int condition_holds(struct reading *c, const char *condition) {
        const char *rest;

        if ((rest = startswith(condition, "gitdir:")))
                return is_in_git_dir(c, rest, false);
        if ((rest = startswith(condition, "gitdir/i:")))
                return is_in_git_dir(c, rest, true);
        if ((rest = startswith(condition, "onbranch:")))
                return is_on_branch(c, rest);
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
        char self[sizeof("/proc/self/fd/") + 3 * sizeof(int)], canonical[PATH_MAX];
        ssize_t n;

        if (!c->file)
                return true;
        (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", c->file_fd);
        n = readlink(self, canonical, sizeof(canonical) - 1);
        if (n < 0 || n == (ssize_t)sizeof(canonical) - 1)
                return false;
        canonical[n] = '\0';
        STRV_FOREACH (folder, c->request->untrusted)
                if (path_is_beneath(canonical, *folder))
                        return false;
        return true;
}

static int include(struct reading *c, const char *value) {
        _cleanup_free_ char *named = NULL, *path = NULL;
        const char *slash;
        int r;

        if (!value)
                return -EBADMSG;
        if (!may_include(c))
                return 0;
        r = interpolate(c->home, value, &named);
        if (r < 0 || !named)
                return r;
        if (path_is_absolute(named))
                return read_users_file(c, named);
        slash = c->file ? strrchr(c->file, '/') : NULL;
        if (!slash)
                return -EBADMSG;
        if (asprintf(&path, "%.*s%s", (int)(slash + 1 - c->file), c->file, named) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        return read_users_file(c, path);
}

static int include_if(struct reading *c, const char *condition, size_t n, const char *value) {
        _cleanup_free_ char *copy = strndup(condition, n);
        int r = copy ? condition_holds(c, copy) : -ENOMEM;

        return r > 0 ? include(c, value) : r;
}

/* Takes an entry of safe.directory.  An empty value empties the list. */
static int take_safe(struct reading *c, const char *value) {
        _cleanup_free_ char *path = NULL;
        size_t n;
        int r;

        if (!value || !*value) {
                c->is_safe = false;
                return 0;
        }
        r = interpolate(c->home, value, &path);
        if (r < 0 || !path)
                return r;
        n = strlen(path);
        if (streq(path, "*") || streq(path, c->top) ||
            (n > 2 && streq(path + n - 2, "/*") && strncmp(path, c->top, n - 1) == 0))
                c->is_safe = true;
        return 0;
}

/* Whoever wrote the file that names it chooses what of the host's is read. */
static int take_excludes(struct reading *c, const char *value) {
        char *path = NULL;
        int r;

        if (!value || !c->file || !may_include(c))
                return 0;
        r = interpolate(c->home, value, &path);
        if (r < 0)
                return r;
        free(c->excludes);
        c->excludes = path ? path : strdup("");
        return c->excludes ? 0 : -ENOMEM;
}

static int identity_take_entry(void *data, const struct gitconfig_entry *entry) {
        struct reading *c = data;
        const char *condition;
        size_t n;

        if (streq(entry->name, "include.path"))
                return include(c, entry->value);
        if (gitconfig_is_in(entry->name, "includeif", "path", &condition, &n))
                return include_if(c, condition, n, entry->value);
        if (streq(entry->name, "safe.directory"))
                return take_safe(c, entry->value);
        if (streq(entry->name, "core.excludesfile"))
                return take_excludes(c, entry->value);
        if (c->file && gitsettings_is_harmless(entry) && c->settings.length < SETTINGS_MAX)
                gitconfig_write(&c->settings, entry);
        return keys_take(&c->keys, entry);
}

/* What can't be read, and what is no plain file (/dev/null, say), is passed over. */
static int read_users_file(struct reading *c, const char *path) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        const char *outer = c->file;
        int outer_fd = c->file_fd, r;

        if (!path_is_absolute(path)) /* relative to the working directory, mostly a project */
                return 0;
        if (c->depth > DEPTH_MAX || c->n_files++ == FILES_MAX)
                return -EBADMSG;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        r = fd < 0 ? -errno : read_small_fd(fd, CONFIG_MAX - c->n_bytes, &text);
        if (r < 0)
                return r == -ENOMEM || r == -EBADMSG || r == -EFBIG ? r : 0;
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
        _cleanup_close_ int top = open(below ? c->home : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return top < 0 ? -errno
                       : beneath_open(top, below ? below : path + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
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

/* Puts section and key of "section.subsection.key" into lower case, as gitconfig_parse() does. */
static void lower_name(char *name) {
        char *first = strchr(name, '.'), *last = strrchr(name, '.');

        for (char *at = name; *at; at++)
                if ((at < first || at > last) && *at >= 'A' && *at <= 'Z')
                        *at = (char)(*at - 'A' + 'a');
}

/* Takes the entries that GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0 and so on give. */
static int read_variables(struct reading *c) {
        const char *text = environment_get(c->request->environ, "GIT_CONFIG_COUNT");
        uint64_t count = 0;
        int r = 0;

        if (!text || !*text)
                return 0;
        if (str_parse_number(text, false, &count) < 0 || count > COUNT_MAX)
                return -EBADMSG;
        for (unsigned i = 0; i < count && r >= 0; i++) {
                char key_name[32], value_name[32];
                _cleanup_free_ char *name = NULL;
                const char *key, *value;

                (void)snprintf(key_name, sizeof(key_name), "GIT_CONFIG_KEY_%u", i);
                (void)snprintf(value_name, sizeof(value_name), "GIT_CONFIG_VALUE_%u", i);
                key = environment_get(c->request->environ, key_name);
                value = environment_get(c->request->environ, value_name);
                if (!key || !value || !strchr(key, '.'))
                        return -EBADMSG;
                name = strdup(key);
                if (!name)
                        return -ENOMEM;
                lower_name(name);
                r = identity_take_entry(c, &(struct gitconfig_entry){name, value});
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
        const char *const values[IDENTITY_N_VARIABLES] = {id->author_name, id->author_email,
                                                          id->committer_name, id->committer_email};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(values) && r >= 0; i++) {
                char *entry;

                if (!values[i])
                        continue;
                r = asprintf(&entry, "%s=%s", identity_variables[i], values[i]);
                r = r < 0 ? -ENOMEM : strv_consume(v, entry);
        }
        return r;
}

/* Chooses between a `special` value (author.name) and the `general` one (user.name). */
static int identity_choose(const char *special, const char *general, char **ret) {
        const char *value = special && *special ? special : general;

        if (value && identity_is_fit(value) && !(*ret = strdup(value)))
                return -ENOMEM;
        return 0;
}

static int identity_fill(const struct keys *k, struct identity *ret) {
        struct identity id = {0};
        int r;

        r = identity_choose(k->author_name, k->user_name, &id.author_name);
        if (r >= 0)
                r = identity_choose(k->author_email, k->user_email, &id.author_email);
        if (r >= 0)
                r = identity_choose(k->committer_name, k->user_name, &id.committer_name);
        if (r >= 0)
                r = identity_choose(k->committer_email, k->user_email, &id.committer_email);
        if (r < 0) {
                identity_clear(&id);
                return r;
        }
        *ret = id;
        return 0;
}

int identity_find(const struct identity_request *request, struct identity *ret) {
        _cleanup_(reading_clear) struct reading c = {.request = request};
        int r;

        c.home = environment_get(request->environ, "HOME");
        if (c.home && !path_is_absolute(c.home))
                c.home = NULL;
        r = find_repository(&c);
        if (r >= 0)
                r = read_users(&c);
        /* The variables are taken twice: before the repository, since their safe.directory decides
         * whether that is read; and after it, since their other entries win over the repository's. */
        if (r >= 0)
                r = read_variables(&c);
        if (r >= 0)
                r = read_repository(&c, take_plain);
        if (r >= 0)
                r = read_variables(&c);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = identity_fill(&c.keys, ret);
        if (r >= 0)
                r = read_ignores(&c, &ret->ignores);
        if (r >= 0 && c.settings.length > 0 && !(ret->settings = strbuf_finish(&c.settings)))
                r = -ENOMEM;
        if (r < 0)
                identity_clear(ret);
        return r;
}
