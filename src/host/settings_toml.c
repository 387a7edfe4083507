/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cargo's configuration: as much of TOML as people write there.  A text in three quotes could look like any
 * line: with one the whole file is given up.  Pure. */
#include "toolsettings.h"

enum {
        PARTS_MOST = 8,
        DEPTH_MOST = 16,
};

#define BARE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/* cargo's reference, "Configuration".  A star stands for the name of a registry or a source. */
static const struct {
        const char *section, *key;
        enum setting_kind kind;
} cargo_keys[] = {
        {"build", "incremental", SETTING_FLAG},
        {"build", "jobs", SETTING_NUMBER},
        {"http", "multiplexing", SETTING_FLAG},
        {"http", "timeout", SETTING_NUMBER},
        {"net", "offline", SETTING_FLAG},
        {"net", "retry", SETTING_NUMBER},
        {"registries.*", "index", SETTING_ADDRESS},
        {"registries.*", "protocol", SETTING_WORD},
        {"registry", "default", SETTING_NAME},
        {"source.*", "registry", SETTING_ADDRESS},
        {"source.*", "replace-with", SETTING_NAME},
        {"term", "color", SETTING_WORD},
        {"term", "quiet", SETTING_FLAG},
        {"term", "verbose", SETTING_FLAG},
};

struct toml {
        const char *at;
        struct settings settings;
        char *section; /* of the heading; NULL: one that isn't shown */
};

/* The parts of a name, "a.b.c", as they stand in the text. */
struct name {
        size_t n;
        struct {
                const char *text;
                size_t length;
        } parts[PARTS_MOST];
};

static void skip_blanks(struct toml *t) {
        t->at += strspn(t->at, " \t");
}

/* Blanks, newlines and comments. */
static void skip_lines(struct toml *t) {
        for (;;) {
                t->at += strspn(t->at, " \t\r\n");
                if (*t->at != '#')
                        return;
                t->at += strcspn(t->at, "\n");
        }
}

/* The rest of a line has nothing more to say. */
static int end_line(struct toml *t) {
        skip_blanks(t);
        if (*t->at == '#')
                t->at += strcspn(t->at, "\n");
        t->at += *t->at == '\r';
        return !*t->at || *t->at == '\n' ? 0 : -EBADMSG;
}

/* A text in quotes on one line.  *ret is NULL where it has an escape. */
static int take_quoted(struct toml *t, const char **ret, size_t *ret_n) {
        char quote = *t->at;
        const char *from = ++t->at;
        bool is_plain = true;

        if (*from == quote && from[1] == quote)
                return -EBADMSG;
        for (; *t->at != quote; t->at++) {
                if (!*t->at || *t->at == '\n')
                        return -EBADMSG;
                if (*t->at == '\\' && quote == '"') {
                        is_plain = false;
                        if (*++t->at == '\0')
                                return -EBADMSG;
                }
        }
        *ret = is_plain ? from : NULL;
        *ret_n = (size_t)(t->at++ - from);
        return 0;
}

static int toml_name(struct toml *t, struct name *name) {
        int r;

        for (*name = (struct name){0}; name->n < PARTS_MOST; t->at++) {
                const char *text;
                size_t length;

                skip_blanks(t);
                text = t->at;
                length = strspn(t->at, BARE);
                t->at += length;
                if (length == 0) {
                        r = *text == '"' || *text == '\'' ? take_quoted(t, &text, &length) : -EBADMSG;
                        if (r < 0)
                                return r;
                }
                /* One with an escape could be any name. */
                name->parts[name->n].text = text ? text : "";
                name->parts[name->n++].length = text ? length : 0;
                skip_blanks(t);
                if (*t->at != '.')
                        return 0;
        }
        return -E2BIG;
}

/* Joins the parts but the last `n_last`, below the heading's.  *ret is NULL where a part needs quotes. */
static int join_name(const char *section, const struct name *name, size_t n_last, char **ret) {
        _cleanup_strbuf_ struct strbuf b = {0};

        *ret = NULL;
        strbuf_add(&b, section ? section : "");
        for (size_t i = 0; i + n_last < name->n; i++) {
                if (name->parts[i].length == 0 || strspn(name->parts[i].text, BARE) < name->parts[i].length)
                        return 0;
                strbuf_add(&b, b.length > 0 ? "." : "");
                strbuf_add_bytes(&b, name->parts[i].text, name->parts[i].length);
        }
        *ret = strbuf_finish(&b);
        return *ret ? 0 : -ENOMEM;
}

/* Passes over an array or an inline table, whatever is in it. */
static int skip_nested(struct toml *t) {
        char closing[DEPTH_MOST];
        size_t depth = 0, n;
        const char *text;
        int r;

        do {
                skip_lines(t);
                if (*t->at == '[' || *t->at == '{') {
                        if (depth == DEPTH_MOST)
                                return -EBADMSG;
                        closing[depth++] = *t->at++ == '[' ? ']' : '}';
                } else if (*t->at == ']' || *t->at == '}') {
                        if (closing[--depth] != *t->at++)
                                return -EBADMSG;
                } else if (*t->at == '"' || *t->at == '\'') {
                        r = take_quoted(t, &text, &n);
                        if (r < 0)
                                return r;
                } else if (!*t->at++) {
                        return -EBADMSG;
                }
        } while (depth > 0);
        return 0;
}

/* Takes a value.  *ret is NULL for an array, a table and a text with an escape. */
static int toml_value(struct toml *t, char **ret, bool *is_text) {
        const char *text = t->at;
        size_t n;
        int r = 0;

        *ret = NULL;
        *is_text = false;
        if (*text == '[' || *text == '{')
                return skip_nested(t);
        *is_text = *text == '"' || *text == '\'';
        if (*is_text) {
                r = take_quoted(t, &text, &n);
        } else {
                n = strcspn(text, " \t\r\n#");
                t->at += n;
                if (n == 0)
                        return -EBADMSG;
        }
        if (r < 0 || !text)
                return r;
        *ret = strndup(text, n);
        return *ret ? 0 : -ENOMEM;
}

/* Whether `section` is `pattern`, whose star stands for one more part. */
static bool is_section(const char *pattern, const char *section) {
        size_t n = strcspn(pattern, "*");

        if (!pattern[n])
                return streq(pattern, section);
        return strncmp(pattern, section, n) == 0 && section[n] && !strchr(section + n, '.') &&
               setting_is_fit(SETTING_NAME, section + n);
}

/* Whether a value of TOML is of that kind: a flag is no text, and an address is one. */
static bool is_of_kind(enum setting_kind kind, const char *value, bool is_text) {
        if (kind == SETTING_FLAG && !streq(value, "true") && !streq(value, "false"))
                return false;
        return is_text == (kind != SETTING_FLAG && kind != SETTING_NUMBER);
}

static int take_cargo(struct toml *t, const char *section, const struct name *name, const char *value,
                      bool is_text) {
        const char *last = name->parts[name->n - 1].text;
        _cleanup_free_ char *key = strndup(last, name->parts[name->n - 1].length);
        enum setting_kind kind = SETTING_FLAG;
        bool is_known = false;

        if (!key)
                return -ENOMEM;
        if (settings_find(&t->settings, section, key))
                return -EBADMSG;
        for (size_t i = 0; i < ARRAY_SIZE(cargo_keys) && !is_known; i++) {
                is_known = is_section(cargo_keys[i].section, section) && streq(cargo_keys[i].key, key);
                kind = cargo_keys[i].kind;
        }
        if (!is_known || !value || !is_of_kind(kind, value, is_text))
                value = NULL;
        return settings_add(&t->settings, section, key, kind, value);
}

static int take_entry_line(struct toml *t) {
        _cleanup_free_ char *section = NULL, *value = NULL;
        struct name name;
        bool is_text = false;
        int r = toml_name(t, &name);

        if (r < 0)
                return r;
        if (*t->at++ != '=')
                return -EBADMSG;
        skip_blanks(t);
        r = toml_value(t, &value, &is_text);
        if (r >= 0)
                r = end_line(t);
        if (r >= 0 && t->section)
                r = join_name(t->section, &name, 1, &section);
        return r < 0 || !section ? r : take_cargo(t, section, &name, value, is_text);
}

static int take_heading_line(struct toml *t) {
        bool is_array = t->at[1] == '[';
        struct name name;
        int r;

        t->at += is_array ? 2 : 1;
        r = toml_name(t, &name);
        if (r < 0)
                return r;
        if (*t->at++ != ']' || (is_array && *t->at++ != ']'))
                return -EBADMSG;
        free(TAKE_PTR(t->section));
        r = is_array ? 0 : join_name(NULL, &name, 0, &t->section);
        return r < 0 ? r : end_line(t);
}

/* Whether there is a source or a registry of that name, with an address. */
static bool has_source(const struct settings *s, const char *name) {
        for (size_t i = 0; i < s->n; i++) {
                const struct setting *one = &s->items[i];
                const char *source = startswith(one->section, "source."),
                           *registry = startswith(one->section, "registries.");

                if (!one->value)
                        continue;
                if ((source && streq(source, name) && streq(one->key, "registry")) ||
                    (registry && streq(registry, name) && streq(one->key, "index")))
                        return true;
        }
        return false;
}

/* Without one of the sources cargo would fetch from another place than outside, or complain of a name that
 * it doesn't know: they are left out together. */
static void leave_out_sources(struct settings *s) {
        bool is_whole = true;

        for (size_t i = 0; i < s->n; i++) {
                struct setting *one = &s->items[i];

                if (streq(one->section, "registry") && one->value && !has_source(s, one->value))
                        free(TAKE_PTR(one->value));
                if (startswith(one->section, "source."))
                        is_whole &= one->value &&
                                    (!streq(one->key, "replace-with") || has_source(s, one->value));
        }
        for (size_t i = 0; i < s->n && !is_whole; i++)
                if (startswith(s->items[i].section, "source"))
                        free(TAKE_PTR(s->items[i].value));
}

int toolsettings_cargo(const char *text, struct strbuf *to) {
        struct toml t = {.at = text, .section = strdup("")};
        int r = t.section ? 0 : -ENOMEM;

        if (startswith(text, "\xef\xbb\xbf"))
                t.at += 3;
        skip_lines(&t);
        /* Where a line is refused its end may be the text's, and already passed. */
        while (r >= 0 && *t.at) {
                r = *t.at == '[' ? take_heading_line(&t) : take_entry_line(&t);
                if (r >= 0)
                        skip_lines(&t);
        }
        if (r >= 0) {
                leave_out_sources(&t.settings);
                settings_write(&t.settings, "\"", to);
        }
        settings_clear(&t.settings);
        free(t.section);
        return r == -E2BIG ? -EBADMSG : r < 0 ? r : 0;
}
