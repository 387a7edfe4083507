/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table.  A row is here because git does nothing with its value but what a person sees: it names no
 * program, no file of configuration, no folder of hooks.  Whatever has no row is kept aside. */
#include "git_keys.h"

#include <fnmatch.h>

enum {
        VALUE_MOST = 4096,
};

static bool has_letters_and(const char *value, const char *others, bool has_letters_of_others) {
        for (const unsigned char *c = (const void *)value; *c; c++)
                if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9') &&
                    !(has_letters_of_others && *c >= 0x80) && !strchr(others, *c))
                        return false;
        return true;
}

static bool is_alphanumeric(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool takes_bool(const char *value) {
        static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "1", "0"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcasecmp(value, words[i]) == 0)
                        return true;
        return false;
}

/* A word: git compares it with those that it knows, and takes no other. */
static bool takes_word(const char *value) {
        return is_alphanumeric(*value) && has_letters_and(value, "-_", false);
}

/* One line, or several, of what is printed: nothing that draws on a terminal. */
static bool takes_text(const char *value) {
        for (const unsigned char *c = (const void *)value; *c; c++)
                if ((*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f ||
                    (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
                        return false;
        return true;
}

static bool takes_line(const char *value) {
        return takes_text(value) && !strpbrk(value, "\n\t");
}

/* A branch's, a tag's or a remote's name, which is no option, no way up and no address. */
static bool takes_name(const char *value) {
        return *value && *value != '-' && *value != '/' && *value != '.' && !strstr(value, "..") &&
               has_letters_and(value, "-._/@+#=,", true);
}

static bool is_reference(const char *value) {
        return strncmp(value, "refs/", 5) == 0 && takes_name(value);
}

/* The remote of a branch: its name, or "." for the repository itself. */
static bool is_remote(const char *value) {
        return streq(value, ".") || takes_name(value);
}

/* What is fetched goes to where no branch of the user's is. */
static bool is_refspec(const char *value) {
        const char *from = value + (*value == '+'), *to = strchr(from, ':');

        return to && strncmp(from, "refs/", 5) == 0 && strncmp(to + 1, "refs/remotes/", 13) == 0 &&
               !strchr(to + 1, ':') && !strstr(value, "..") && has_letters_and(from, "-._/@+#=,*:", true);
}

static bool is_tag_option(const char *value) {
        return streq(value, "--tags") || streq(value, "--no-tags");
}

static bool is_update(const char *value) {
        return streq(value, "checkout") || streq(value, "rebase") || streq(value, "merge") ||
               streq(value, "none");
}

static bool is_version(const char *value) {
        return streq(value, "0") || streq(value, "1");
}

/* [USER@]HOST, which ssh takes for no option; `n` bytes. */
static bool is_host(const char *host, size_t n, bool has_more) {
        char text[256];
        const char *at;

        if (n == 0 || n >= sizeof(text))
                return false;
        memcpy(text, host, n);
        text[n] = '\0';
        at = strrchr(text, '@');
        return (!at || is_alphanumeric(*text)) && (at ? at != text : true) &&
               (is_alphanumeric(at ? at[1] : *text) || (has_more && (at ? at[1] : *text) == '[')) &&
               has_letters_and(text, has_more ? "-._@:[]%" : "-._@", false);
}

/* An address of a server.  Not one of a folder: git would start what lies there for whoever pushes to it,
 * and a command can make such a folder. */
static bool is_address(const char *value) {
        static const char *const schemes[] = {"https://", "http://", "ssh://", "git://"};
        const char *colon = strchr(value, ':');

        if (!has_letters_and(value, "-._~:/?#[]@%+,=&", false))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
                const char *host = startswith(value, schemes[i]);

                if (host)
                        return is_host(host, strcspn(host, "/"), true);
        }
        return colon && is_host(value, (size_t)(colon - value), false) && colon[1] && colon[1] != ':' &&
               colon[1] != '-' && strncmp(colon + 1, "//", 2) != 0;
}

static const struct {
        const char *key;
        bool (*takes)(const char *value);
} rows[] = {
        /* push -u, branch --set-upstream-to, checkout --track, gh and code */
        {"branch.*.description", takes_text},
        {"branch.*.gh-merge-base", takes_name},
        {"branch.*.merge", is_reference},
        {"branch.*.rebase", takes_word},
        {"branch.*.remote", is_remote},
        {"branch.*.vscode-merge-base", takes_name},
        /* remote add: a server, and where what comes of it is put */
        {"remote.*.fetch", is_refspec},
        {"remote.*.gh-resolved", takes_name},
        {"remote.*.prune", takes_bool},
        {"remote.*.pushurl", is_address},
        {"remote.*.tagopt", is_tag_option},
        {"remote.*.url", is_address},
        /* submodule init, update; without "!COMMAND" */
        {"submodule.*.active", takes_bool},
        {"submodule.*.branch", is_remote},
        {"submodule.*.update", is_update},
        {"submodule.*.url", is_address},
        /* who commits; the key that signs is a file's name */
        {"user.email", takes_line},
        {"user.name", takes_line},
        {"user.useconfigonly", takes_bool},
        /* sparse-checkout; the format's version.  Not extensions.worktreeConfig: with it git obeys a
         * config.worktree in the git dir of each worktree that a command makes. */
        {"core.repositoryformatversion", is_version},
        {"core.sparsecheckout", takes_bool},
        {"core.sparsecheckoutcone", takes_bool},
        {"index.sparse", takes_bool},
        /* how files are written, which a command can write as it likes */
        {"core.autocrlf", takes_word},
        {"core.eol", takes_word},
        {"core.ignorecase", takes_bool},
        {"core.logallrefupdates", takes_word},
        /* what git does by itself in its own repository */
        {"core.splitindex", takes_bool},
        {"core.untrackedcache", takes_word},
        {"fetch.prune", takes_bool},
        {"fetch.prunetags", takes_bool},
        {"gc.auto", takes_word},
        {"index.threads", takes_word},
        {"lfs.repositoryformatversion", is_version},
        {"maintenance.auto", takes_bool},
        {"merge.conflictstyle", takes_word},
        {"merge.ff", takes_word},
        {"pull.ff", takes_word},
        {"pull.rebase", takes_word},
        {"push.autosetupremote", takes_bool},
        {"push.default", takes_word},
        {"push.followtags", takes_bool},
        {"rerere.enabled", takes_bool},
};

/* Between the section and the key's last part, where there is something. */
static bool has_plain_middle(const char *key) {
        const char *from = strchr(key, '.'), *to = strrchr(key, '.');
        char middle[256];

        if (!from || from == to)
                return from;
        if ((size_t)(to - from) > sizeof(middle))
                return false;
        memcpy(middle, from + 1, (size_t)(to - from - 1));
        middle[to - from - 1] = '\0';
        return takes_name(middle);
}

bool git_key_is_carried(const char *key, const char *value) {
        if (!value || strlen(value) > VALUE_MOST || !has_plain_middle(key))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (fnmatch(rows[i].key, key, 0) == 0)
                        return *value && rows[i].takes(value);
        return false;
}

bool git_key_can_go(const char *key) {
        return startswith(key, "branch.") || startswith(key, "submodule.");
}

bool git_key_leads(const char *key) {
        const char *last = strrchr(key, '.');

        return startswith(key, "branch.") &&
               (streq(last, ".merge") || streq(last, ".pushremote") || streq(last, ".remote"));
}

bool git_key_is_of_remote(const char *key, const char **ret_name, size_t *ret_n) {
        const char *name = startswith(key, "remote."), *last = strrchr(key, '.');

        if (!name || last < name ||
            (!streq(last, ".fetch") && !streq(last, ".pushurl") && !streq(last, ".url")))
                return false;
        *ret_name = name;
        *ret_n = (size_t)(last - name);
        return true;
}
