/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See toolsettings.h.  Which values are harmless; the two grammars of lines, npm's, which is that of its
 * package "ini", and pip's, that of Python's RawConfigParser; and reading the files. */
#include "toolsettings.h"

#include <ctype.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"

enum {
        FILE_MOST = 256 << 10,
        ENTRIES_MOST = 1000,
        ADDRESS_MOST = 256,
        TOKEN_LEAST = 12,
        WORD_MOST = 24, /* letters of one kind */
};

#define SMALL    "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define LETTERS  SMALL CAPITALS DIGITS

/* ------------------------------------------------------------------- values */

/* 1: a small letter, 2: a capital, 3: a digit. */
static int kind_of(char c) {
        return strchr(DIGITS, c) ? 3 : strchr(CAPITALS, c) ? 2 : 1;
}

/* Whether `n` letters and digits look like a random text rather than a word: long, and of more than one
 * kind. */
static bool is_random(const char *text, size_t n) {
        bool is_mixed = false;

        for (size_t i = 1; i < n; i++)
                is_mixed |= kind_of(text[i]) != kind_of(text[0]);
        return n > WORD_MOST || (n >= TOKEN_LEAST && is_mixed);
}

/* Whether a word would go over from one kind to another as often: "python3" and "NuGetFeed" do so less, and
 * a part of a UUID doesn't. */
static bool is_jumbled(const char *text, size_t n) {
        size_t changes = 0;

        for (size_t i = 1; i < n; i++)
                changes += kind_of(text[i]) != kind_of(text[i - 1]) &&
                           !(kind_of(text[i - 1]) == 2 && kind_of(text[i]) == 1);
        return changes > 0 && changes * 4 >= n;
}

/* Whether the part of a path of `n` bytes has a random text in it, also one in which '-', '_' or '.' stands
 * here and there, as in a UUID and in base64 for addresses. */
static bool has_random(const char *part, size_t n) {
        size_t jumbled = 0, length;

        for (size_t at = 0; at < n; at += length + (length == 0)) {
                length = strspn(part + at, LETTERS);
                if (is_random(part + at, length))
                        return true;
                jumbled += is_jumbled(part + at, length) ? length : 0;
        }
        return jumbled >= TOKEN_LEAST;
}

/* Some servers take a token as a part of the path: https://host/TOKEN/simple. */
static bool setting_is_address(const char *value) {
        const char *host = startswith(value, "https://"), *path;

        host = host ? host : startswith(value, "http://");
        if (!host || !strchr(LETTERS, *host) || !*host || strlen(value) > ADDRESS_MOST ||
            host[strspn(host, LETTERS ".-_~:/+")])
                return false;
        path = host + strspn(host, LETTERS ".-_~");
        /* What follows a colon is a port, or the password of an address that was cut. */
        if (*path == ':')
                path += 1 + strspn(path + 1, DIGITS);
        if (*path && *path != '/')
                return false;
        for (size_t n; *path; path += n + strspn(path + n, "/")) {
                n = strcspn(path, "/");
                if (has_random(path, n))
                        return false;
        }
        return true;
}

static bool are_addresses(const char *value) {
        for (const char *at = value; *at;) {
                size_t n = strcspn(at, " ");
                _cleanup_free_ char *one = strndup(at, n);

                if (!one || !setting_is_address(one))
                        return false;
                at += n + strspn(at + n, " ");
        }
        return *value;
}

static bool is_flag(const char *value) {
        static const char *const flags[] = {"true", "false", "yes", "no", "on", "off", "1", "0"};

        return STR_IS_ANY(value, flags);
}

static bool has_bytes_alone(const char *value, const char *bytes, size_t most) {
        size_t n = strlen(value);

        return n > 0 && n <= most && strspn(value, bytes) == n;
}

bool setting_is_fit(enum setting_kind kind, const char *value) {
        switch (kind) {
        case SETTING_FLAG:
                return is_flag(value);
        case SETTING_NUMBER:
                return has_bytes_alone(value, DIGITS, 9);
        case SETTING_WORD:
                return !*value || has_bytes_alone(value, SMALL "-^~:", 24);
        case SETTING_ADDRESS:
                return setting_is_address(value);
        case SETTING_ADDRESSES:
                return are_addresses(value);
        }
        return false;
}

/* --------------------------------------------------------------- the entries */

/* One entry of a file, in its order. */
struct setting {
        char *section; /* "" outside of all */
        char *key;
        char *value; /* NULL: it is left out */
};

struct settings {
        struct setting *items;
        size_t n;
};

/* Adds an entry, which is left out if its `value` is NULL or not fit.  -EBADMSG: there are too many;
 * -ENOMEM. */
static int settings_add(struct settings *s, const char *section, const char *key, enum setting_kind kind,
                        const char *value) {
        struct setting *one;

        if (s->n == ENTRIES_MOST)
                return -EBADMSG;
        if (ARRAY_GROW(s->items, s->n) < 0)
                return -ENOMEM;
        value = value && setting_is_fit(kind, value) ? value : NULL;
        one = &s->items[s->n++];
        *one = (struct setting){strdup(section), strdup(key), value ? strdup(value) : NULL};
        return one->section && one->key && (!value || one->value) ? 0 : -ENOMEM;
}

static struct setting *settings_find(const struct settings *s, const char *section, const char *key) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->items[i].section, section) && streq(s->items[i].key, key))
                        return &s->items[i];
        return NULL;
}

static void settings_clear(struct settings *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->items[i].section);
                free(s->items[i].key);
                free(s->items[i].value);
        }
        free(s->items);
        *s = (struct settings){0};
}

/* Adds the entries that aren't left out, as "[section]" and "key = value"; those of a section stand
 * together. */
static void settings_write(const struct settings *s, struct strbuf *to) {
        const char *section = "";

        for (size_t i = 0; i < s->n; i++) {
                const struct setting *one = &s->items[i];

                if (!one->value)
                        continue;
                if (!streq(section, one->section))
                        strbuf_addf(to, "[%s]\n", one->section);
                section = one->section;
                strbuf_addf(to, "%s = %s\n", one->key, one->value);
        }
}

/* ----------------------------------------------------------------- the keys */

struct known_key {
        const char *name;
        enum setting_kind kind;
};

/* npm-config(7)'s. */
static const struct known_key npm_keys[] = {
        {"audit", SETTING_FLAG},
        {"engine-strict", SETTING_FLAG},
        {"fetch-retries", SETTING_NUMBER},
        {"fetch-retry-factor", SETTING_NUMBER},
        {"fetch-retry-maxtimeout", SETTING_NUMBER},
        {"fetch-retry-mintimeout", SETTING_NUMBER},
        {"fetch-timeout", SETTING_NUMBER},
        {"fund", SETTING_FLAG},
        {"ignore-scripts", SETTING_FLAG},
        {"install-links", SETTING_FLAG},
        {"install-strategy", SETTING_WORD},
        {"legacy-peer-deps", SETTING_FLAG},
        {"loglevel", SETTING_WORD},
        {"maxsockets", SETTING_NUMBER},
        {"package-lock", SETTING_FLAG},
        {"prefer-dedupe", SETTING_FLAG},
        {"prefer-offline", SETTING_FLAG},
        {"prefer-online", SETTING_FLAG},
        {"progress", SETTING_FLAG},
        {"registry", SETTING_ADDRESS},
        {"save", SETTING_FLAG},
        {"save-exact", SETTING_FLAG},
        {"save-prefix", SETTING_WORD},
        {"strict-peer-deps", SETTING_FLAG},
        {"update-notifier", SETTING_FLAG},
};

/* `pip config`'s, in any section: pip normalises names so. */
static const struct known_key pip_keys[] = {
        {"break-system-packages", SETTING_FLAG},
        {"default-timeout", SETTING_NUMBER},
        {"disable-pip-version-check", SETTING_FLAG},
        {"extra-index-url", SETTING_ADDRESSES},
        {"index-url", SETTING_ADDRESS},
        {"no-color", SETTING_FLAG},
        {"no-input", SETTING_FLAG},
        {"pre", SETTING_FLAG},
        {"prefer-binary", SETTING_FLAG},
        {"progress-bar", SETTING_WORD},
        {"require-hashes", SETTING_FLAG},
        {"require-virtualenv", SETTING_FLAG},
        {"retries", SETTING_NUMBER},
        {"timeout", SETTING_NUMBER},
        {"upgrade-strategy", SETTING_WORD},
};

static bool is_known(const struct known_key *keys, size_t n, const char *key, enum setting_kind *ret) {
        for (size_t i = 0; i < n; i++)
                if (streq(keys[i].name, key)) {
                        *ret = keys[i].kind;
                        return true;
                }
        return false;
}

static char *trim_line(char *text) {
        size_t n;

        text += strspn(text, " \t\r\f\v");
        for (n = strlen(text); n > 0 && strchr(" \t\r\f\v", text[n - 1]); n--)
                text[n - 1] = '\0';
        return text;
}

/* Cuts the first line off *at; NULL at the end. */
static char *take_line(char **at) {
        char *line = *at, *end;

        if (!*line)
                return NULL;
        end = line + strcspn(line, "\n");
        *at = *end ? end + 1 : end;
        *end = '\0';
        return line;
}

/* ---------------------------------------------------------------------- npm */

/* "@scope:registry" */
static bool is_scope(const char *key) {
        size_t n = *key == '@' ? strspn(key + 1, "abcdefghijklmnopqrstuvwxyz0123456789-_.~") : 0;

        return n > 0 && n <= 64 && streq(key + 1 + n, ":registry");
}

/* A quoted value is JSON's, else a ';' or '#' begins a comment.  NULL for one with an escape, or with such a
 * byte in a word, which might be a password's. */
static char *npm_value(char *value) {
        size_t n = strlen(value), comment = strcspn(value, ";#");

        if (*value == '"' || *value == '\'') {
                char quote = *value;

                if (n < 2 || value[n - 1] != quote)
                        return NULL;
                value[n - 1] = '\0';
                value++;
                return strpbrk(value, "\"'\\") ? NULL : value;
        }
        if (strchr(value, '\\') || (value[comment] && comment > 0 && !strchr(" \t", value[comment - 1])))
                return NULL;
        value[comment] = '\0';
        return trim_line(value);
}

static int npm_take(struct settings *s, char *line) {
        char *equals = strchr(line, '='), *key, *value;
        enum setting_kind kind = SETTING_ADDRESS;
        struct setting *earlier;

        if (equals)
                *equals = '\0';
        key = trim_line(line);
        value = equals ? npm_value(trim_line(equals + 1)) : (char[]){"true"};
        if (!is_scope(key) && !is_known(npm_keys, ARRAY_SIZE(npm_keys), key, &kind))
                return 0;
        /* The last of a name counts, also where that is left out. */
        earlier = settings_find(s, "", key);
        if (earlier) {
                earlier->key[0] = '\0';
                free(TAKE_PTR(earlier->value));
        }
        return settings_add(s, "", key, kind, value);
}

int toolsettings_npm(const char *text, struct strbuf *to) {
        _cleanup_(settings_clear) struct settings s = {0};
        _cleanup_free_ char *copy = strdup(text);
        char *at = copy, *line;
        int r = copy ? 0 : -ENOMEM;

        if (copy && startswith(copy, "\xef\xbb\xbf"))
                at += 3;
        while (r >= 0 && (line = take_line(&at))) {
                line = trim_line(line);
                /* What follows a section's line is no setting of npm's. */
                if (*line == '[')
                        break;
                if (*line && *line != ';' && *line != '#')
                        r = npm_take(&s, line);
        }
        if (r >= 0)
                settings_write(&s, to);
        return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------------- pip */

struct pip_file {
        struct settings settings;
        char section[32]; /* "": none yet, or one that isn't shown */
        bool has_section; /* there is a heading above */
        char *key;        /* of the entry that the next line may go on with */
        struct strbuf value;
};

/* pip doesn't read a file with two values for a name. */
static int pip_finish_entry(struct pip_file *f) {
        _cleanup_free_ char *value = strbuf_finish(&f->value), *key = TAKE_PTR(f->key);
        enum setting_kind kind;
        const char *text = value ? trim_line(value) : NULL;

        if (!key)
                return 0;
        if (!text)
                return -ENOMEM;
        for (char *c = key; *c; c++)
                *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
        if (!*f->section || !is_known(pip_keys, ARRAY_SIZE(pip_keys), key, &kind))
                return 0;
        if (settings_find(&f->settings, f->section, key))
                return -EBADMSG;
        return settings_add(&f->settings, f->section, key, kind, text);
}

/* "[install]": the name of a command, or "global". */
static int pip_heading(struct pip_file *f, const char *line) {
        size_t n = strcspn(line, "]") - 1;

        if (line[n + 1] != ']')
                return -EBADMSG;
        f->has_section = true;
        f->section[0] = '\0';
        if (n == 0 || n >= sizeof(f->section) || strspn(line + 1, "abcdefghijklmnopqrstuvwxyz") != n)
                return 0;
        (void)snprintf(f->section, sizeof(f->section), "%.*s", (int)n, line + 1);
        /* Nor one with two headings for a section: each leaves an entry. */
        if (settings_find(&f->settings, f->section, ""))
                return -EBADMSG;
        return settings_add(&f->settings, f->section, "", SETTING_FLAG, NULL);
}

static int pip_line(struct pip_file *f, char *line) {
        bool is_indented = *line == ' ' || *line == '\t';
        char *equals;
        int r;

        line = trim_line(line);
        if (!*line || *line == '#' || *line == ';')
                return 0;
        if (is_indented && f->key) {
                strbuf_addf(&f->value, " %s", line);
                return 0;
        }
        r = pip_finish_entry(f);
        if (r < 0)
                return r;
        if (*line == '[')
                return pip_heading(f, line);
        equals = line + strcspn(line, "=:");
        if (!f->has_section || !*equals || equals == line)
                return -EBADMSG;
        *equals = '\0';
        f->key = strdup(trim_line(line));
        strbuf_add(&f->value, trim_line(equals + 1));
        return f->key ? 0 : -ENOMEM;
}

int toolsettings_pip(const char *text, struct strbuf *to) {
        struct pip_file f = {0};
        _cleanup_free_ char *copy = strdup(text);
        char *at = copy, *line;
        int r = copy ? 0 : -ENOMEM;

        while (r >= 0 && (line = take_line(&at)))
                r = pip_line(&f, line);
        if (r >= 0)
                r = pip_finish_entry(&f);
        if (r >= 0)
                settings_write(&f.settings, to);
        settings_clear(&f.settings);
        strbuf_clear(&f.value);
        free(f.key);
        return r < 0 ? r : 0;
}

/* ----------------------------------------------------------------- the files */

const struct toolsettings_file toolsettings_files[] = {
        {{{"npm_config_userconfig", ""}, {"NPM_CONFIG_USERCONFIG", ""}},
         ".npmrc",
         .reader = toolsettings_npm},
        {{{"XDG_CONFIG_HOME", "pip/pip.conf"}}, ".config/pip/pip.conf", .reader = toolsettings_pip},
        {{{0}}, ".pip/pip.conf", .reader = toolsettings_pip},
        {{{0}}, ".ssh/config", .reader = toolsettings_ssh, .is_of_ssh = true},
        /* ssh reads this one, too, and writes to the other. */
        {{{0}},
         ".ssh/known_hosts",
         .reader = toolsettings_known_hosts,
         .inside = ".ssh/known_hosts2",
         .is_of_ssh = true},
};
const size_t n_toolsettings_files = ARRAY_SIZE(toolsettings_files);

static int read_users_own(const char *home, const char *path, char **ret) {
        const char *below = path_below(path, home);
        _cleanup_close_ int top = -EBADF, fd = -EBADF;
        struct stat st;

        if (responds_below(home, path) == -ETIMEDOUT)
                return -ETIMEDOUT;
        /* Every run asks for each, and most aren't there. */
        if (access(path, F_OK) < 0 && errno == ENOENT)
                return -ENOENT;
        top = open(below ? home : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (top < 0)
                return -errno;
        fd = beneath_open(top, below ? below : path + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        return st.st_uid == geteuid() ? read_small_fd(fd, FILE_MOST, ret) : -EPERM;
}

int toolsettings_read(const struct toolsettings_file *file, const char *home, const char *path, char **ret) {
        _cleanup_strbuf_ struct strbuf to = {0};
        _cleanup_free_ char *text = NULL;
        int r = read_users_own(home, path, &text);

        *ret = NULL;
        if (r >= 0)
                r = file->reader(text, &to);
        if (r < 0)
                return r == -ENOMEM || r == -ETIMEDOUT ? r : 0;
        if (to.length == 0 && !to.has_failed)
                return 0;
        *ret = strbuf_finish(&to);
        return *ret ? 0 : -ENOMEM;
}
