/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* npm's and pip's files: two grammars of lines.  npm's is that of its package "ini", pip's that of Python's
 * RawConfigParser.  Pure. */
#include <ctype.h>

#include "toolsettings.h"

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
        if (earlier)
                free(TAKE_PTR(earlier->value));
        if (earlier && value && setting_is_fit(kind, value)) {
                earlier->value = strdup(value);
                return earlier->value ? 0 : -ENOMEM;
        }
        return earlier ? 0 : settings_add(s, "", key, kind, value);
}

int toolsettings_npm(const char *text, struct strbuf *to) {
        _cleanup_settings_ struct settings s = {0};
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
