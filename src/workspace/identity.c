/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git's user.name and user.email, from its files or from git itself.  Which
 * variables they become, and when they are not wanted, is policy's to say. */
#include "identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "git_process.h"
#include "gitconfig.h"
#include "project.h"

enum {
        CONFIG_MAX = 1 << 20,
        VALUE_MAX = 1024,
};

/* What git says of six keys, the last word on each. */
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
        *id = (struct identity){0};
}

/* The value ends up in an environment and in commits: one line, and no angle
 * brackets, which git would take out itself. */
static bool is_fit(const char *value) {
        if (!*value || strlen(value) > VALUE_MAX)
                return false;
        for (const char *c = value; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '<' || *c == '>')
                        return false;
        return true;
}

static char **find_slot(struct keys *k, const char *section, const char *key) {
        const struct {
                const char *section, *key;
                char **slot;
        } slots[] = {
                {"user", "name", &k->user_name},           {"user", "email", &k->user_email},
                {"author", "name", &k->author_name},       {"author", "email", &k->author_email},
                {"committer", "name", &k->committer_name}, {"committer", "email", &k->committer_email},
        };

        for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
                if (streq(slots[i].section, section) && streq(slots[i].key, key))
                        return slots[i].slot;
        return NULL;
}

static int take_value(struct keys *k, const char *section, const char *key, const char *value) {
        char **slot = find_slot(k, section, key);
        char *copy;

        if (!slot)
                return 0;
        copy = strdup(value ? value : "");
        if (!copy)
                return -ENOMEM;
        free(*slot);
        *slot = copy;
        return 0;
}

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

/* author.name goes before user.name. */
static int choose(const char *special, const char *general, char **ret) {
        const char *value = special && *special ? special : general;

        if (value && is_fit(value) && !(*ret = strdup(value)))
                return -ENOMEM;
        return 0;
}

static int fill(const struct keys *k, struct identity *ret) {
        struct identity id = {0};
        int r;

        r = choose(k->author_name, k->user_name, &id.author_name);
        if (r >= 0)
                r = choose(k->author_email, k->user_email, &id.author_email);
        if (r >= 0)
                r = choose(k->committer_name, k->user_name, &id.committer_name);
        if (r >= 0)
                r = choose(k->committer_email, k->user_email, &id.committer_email);
        if (r < 0) {
                identity_clear(&id);
                return r;
        }
        *ret = id;
        return 0;
}

/* -EAGAIN: other files have a say, too. */
static int take_entry(void *data, const struct gitconfig_entry *entry) {
        if (streq(entry->section, "include") || streq(entry->section, "includeif") ||
            (streq(entry->section, "extensions") && streq(entry->key, "worktreeconfig")))
                return -EAGAIN;
        return *entry->subsection ? 0 : take_value(data, entry->section, entry->key, entry->value);
}

static int read_file(struct keys *k, const char *path) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = read_small_file(AT_FDCWD, path, 0, CONFIG_MAX, &text);
        if (r == -ENOENT || r == -ENOTDIR)
                return 0;
        if (r >= 0)
                r = gitconfig_each(text, take_entry, k);
        return r < 0 && r != -ENOMEM ? -EAGAIN : r;
}

static int read_below(struct keys *k, const char *folder, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name);

        return path ? read_file(k, path) : -ENOMEM;
}

/* The repository's own file.  git passes over one of another user. */
static int read_repository(struct keys *k, const struct identity_request *request) {
        _cleanup_free_ char *top = NULL, *dot_git = NULL;
        struct stat st;
        int r;

        if (request->common_dir)
                return read_below(k, request->common_dir, "config");
        r = project_find(request->project, &top);
        if (r < 0)
                return r;
        dot_git = path_join(top, ".git");
        if (!dot_git)
                return -ENOMEM;
        if (lstat(dot_git, &st) < 0)
                return errno == ENOENT ? 0 : -EAGAIN;
        if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || stat(top, &st) < 0 || st.st_uid != geteuid())
                return -EAGAIN;
        return read_below(k, dot_git, "config");
}

int identity_read(const struct identity_request *request, struct identity *ret) {
        const char *home = git_process_variable(request->environ, "HOME");
        const char *xdg = git_process_variable(request->environ, "XDG_CONFIG_HOME");
        _cleanup_(keys_clear) struct keys k = {0};
        int r;

        STRV_FOREACH (entry, request->environ)
                if (startswith(*entry, "GIT_CONFIG"))
                        return -EAGAIN;
        r = read_file(&k, "/etc/gitconfig");
        if (r >= 0 && xdg && *xdg)
                r = path_is_absolute(xdg) ? read_below(&k, xdg, "git/config") : -EAGAIN;
        else if (r >= 0 && home && path_is_absolute(home))
                r = read_below(&k, home, ".config/git/config");
        if (r >= 0 && home)
                r = path_is_absolute(home) ? read_below(&k, home, ".gitconfig") : -EAGAIN;
        if (r >= 0)
                r = read_repository(&k, request);
        return r < 0 ? r : fill(&k, ret);
}

/* "section.key\nvalue", or "section.key" alone. */
static int take_record(struct keys *k, char *record) {
        char *value = strchr(record, '\n'), *key = strchr(record, '.');

        if (value)
                *value++ = '\0';
        if (!key)
                return 0;
        *key++ = '\0';
        return take_value(k, record, key, value);
}

int identity_ask(const struct identity_request *request, const char *git, struct identity *ret) {
        _cleanup_(keys_clear) struct keys k = {0};
        _cleanup_free_ char *out = NULL;
        size_t length = 0;
        int r;

        r = git_process_config(git, request->project, request->environ,
                               "^(user|author|committer)\\.(name|email)$", &out, &length);
        for (size_t at = 0; r >= 0 && at < length;) {
                char *record = out + at;

                at += strlen(record) + 1;
                r = take_record(&k, record);
        }
        if (r >= 0)
                return fill(&k, ret);
        return r == -ENOMEM ? r : 0;
}

int identity_find(const struct identity_request *request, struct identity *ret) {
        _cleanup_free_ char *git = NULL;
        int r;

        r = git_process_find(request->environ, request->untrusted, &git);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        /* Another one may have been built to look elsewhere than in /etc. */
        r = streq(git, "/usr/bin/git") || streq(git, "/bin/git") ? identity_read(request, ret) : -EAGAIN;
        return r == -EAGAIN ? identity_ask(request, git, ret) : r;
}
