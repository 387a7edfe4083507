/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The grammar of git-config(1), and its globs.  Which keys matter and which files are read is
 * decided by the callers. */
#include "gitconfig.h"

struct parser {
        const char *at, *end;
        struct strbuf name;
        size_t heading; /* the length of "section." or "section.subsection." at the beginning of `name` */
};

static bool gitconfig_is_blank(int c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_letter(int c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(int c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static int lower(int c) {
        return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Takes the next byte.  CR LF counts as one newline, and the end of the text as one, too. */
static int take_byte(struct parser *p) {
        if (p->at == p->end)
                return '\n';
        if (*p->at == '\r' && p->end - p->at > 1 && p->at[1] == '\n')
                p->at++;
        return (unsigned char)*p->at++;
}

static void skip_comment(struct parser *p) {
        while (p->at < p->end && take_byte(p) != '\n')
                ;
}

static void add_byte(struct strbuf *b, int c) {
        const char byte = (char)c;

        strbuf_add_bytes(b, &byte, 1);
}

static void cut(struct strbuf *b, size_t length) {
        if (b->has_failed || b->length <= length)
                return;
        b->length = length;
        b->text[length] = '\0';
}

/* Parses the rest of [section "subsection"], from the blank on.  A backslash in it stands for the
 * byte that follows. */
static int parse_subsection(struct parser *p, int blank) {
        int c = blank;

        while (gitconfig_is_blank(c) && c != '\n')
                c = take_byte(p);
        if (c != '"' || c == blank)
                return -EBADMSG;
        add_byte(&p->name, '.');
        for (c = take_byte(p); c != '"'; c = take_byte(p)) {
                if (c == '\\')
                        c = take_byte(p);
                if (c == '\n' || p->name.length > GITCONFIG_NAME_MAX)
                        return -EBADMSG;
                add_byte(&p->name, c);
        }
        return take_byte(p) == ']' ? 0 : -EBADMSG;
}

/* Parses a heading after its "[": [section], [section "subsection"] or the old
 * [section.subsection]. */
static int parse_heading(struct parser *p) {
        int c, r = 0;

        cut(&p->name, 0);
        for (c = take_byte(p); is_word(c) || c == '.'; c = take_byte(p)) {
                if (p->name.length > GITCONFIG_NAME_MAX)
                        return -EBADMSG;
                add_byte(&p->name, lower(c));
        }
        if (c != ']')
                r = parse_subsection(p, c);
        if (p->name.has_failed)
                return -ENOMEM;
        if (r < 0 || p->name.length == 0)
                return -EBADMSG;
        add_byte(&p->name, '.');
        p->heading = p->name.length;
        return 0;
}

/* Parses what follows a backslash in a value.  A backslash at the end of a line adds nothing: the
 * value goes on in the next one. */
static int parse_escape(struct parser *p, struct strbuf *b) {
        static const char letters[] = "tbn\\\"", meanings[] = "\t\b\n\\\"";
        const char *letter;
        int c = take_byte(p);

        if (c == '\n')
                return 0;
        letter = strchr(letters, c);
        if (!letter)
                return -EBADMSG;
        add_byte(b, meanings[letter - letters]);
        return 0;
}

/* Parses a value, from the "=" to the end of the line. */
static int parse_value(struct parser *p, struct strbuf *b) {
        bool is_quoted = false;
        size_t end = 0; /* length of the value without trailing blanks, but for those in quotes */
        int r = 0;

        for (int c = take_byte(p); c != '\n' && r >= 0; c = take_byte(p)) {
                if (b->length > GITCONFIG_VALUE_MAX)
                        return -EBADMSG;
                if (!is_quoted && gitconfig_is_blank(c)) {
                        if (b->length > 0) /* a tab becomes a blank, so that identity_is_fit() doesn't refuse
                                              a name for it */
                                add_byte(b, ' ');
                        continue;
                }
                if (!is_quoted && (c == '#' || c == ';')) {
                        skip_comment(p);
                        break;
                }
                if (c == '"')
                        is_quoted = !is_quoted;
                else if (c == '\\')
                        r = parse_escape(p, b);
                else
                        add_byte(b, c);
                end = b->length;
        }
        cut(b, end);
        return r < 0 || is_quoted ? -EBADMSG : 0;
}

/* Parses an entry whose key begins with the byte `c`. */
static int parse_entry(struct parser *p, int c,
                       int (*found)(void *data, const struct gitconfig_entry *entry), void *data) {
        _cleanup_strbuf_ struct strbuf value = {0};
        bool has_value;

        cut(&p->name, p->heading);
        for (; is_word(c); c = take_byte(p)) {
                if (p->name.length > GITCONFIG_NAME_MAX)
                        return -EBADMSG;
                add_byte(&p->name, lower(c));
        }
        while (c == ' ' || c == '\t')
                c = take_byte(p);
        has_value = c == '=';
        if (!has_value && c != '\n')
                return -EBADMSG;
        strbuf_add(&value, "");
        if (has_value && parse_value(p, &value) < 0)
                return -EBADMSG;
        if (p->name.has_failed || value.has_failed)
                return -ENOMEM;
        return found(data, &(struct gitconfig_entry){p->name.text, has_value ? value.text : NULL});
}

int gitconfig_parse(const char *text, size_t n,
                    int (*found)(void *data, const struct gitconfig_entry *entry), void *data) {
        static const char mark[] = "\xef\xbb\xbf";
        struct parser p = {.at = text};
        int r;

        /* `text` may be NULL if n is 0. */
        if (n == 0)
                return 0;
        p.end = text + n;
        r = memchr(text, '\0', n) ? -EBADMSG : 0;

        if (n >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0)
                p.at += strlen(mark);
        while (p.at < p.end && r == 0) {
                int c = take_byte(&p);

                if (c == '#' || c == ';')
                        skip_comment(&p);
                else if (c == '[')
                        r = parse_heading(&p);
                else if (is_letter(c))
                        r = parse_entry(&p, c, found, data);
                else if (!gitconfig_is_blank(c))
                        r = -EBADMSG;
        }
        strbuf_clear(&p.name);
        return r;
}

bool gitconfig_is_in(const char *name, const char *section, const char *key, const char **ret,
                     size_t *ret_n) {
        const char *rest = startswith(name, section), *dot;

        if (!rest || *rest != '.')
                return false;
        rest++;
        dot = strrchr(rest, '.');
        if (!dot || !streq(dot + 1, key))
                return false;
        *ret = rest;
        *ret_n = (size_t)(dot - rest);
        return true;
}

bool gitconfig_is_true(const char *value) {
        static const char *const words[] = {"true", "yes", "on"};

        if (!value) /* a key without "=", which git takes for true */
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcasecmp(value, words[i]) == 0)
                        return true;
        return strtol(value, NULL, 10) != 0;
}

/* Between double quotes, as git-config(1) has it. */
static void quote_into(struct strbuf *b, const char *text, size_t n) {
        strbuf_add(b, "\"");
        for (size_t i = 0; i < n; i++) {
                if (text[i] == '"' || text[i] == '\\')
                        strbuf_add(b, "\\");
                if (text[i] == '\n')
                        strbuf_add(b, "\\n");
                else
                        strbuf_add_bytes(b, text + i, 1);
        }
        strbuf_add(b, "\"");
}

void gitconfig_write(struct strbuf *to, const struct gitconfig_entry *entry) {
        const char *first = strchr(entry->name, '.'), *last = strrchr(entry->name, '.');

        if (!first)
                return;
        strbuf_add(to, "[");
        strbuf_add_bytes(to, entry->name, (size_t)(first - entry->name));
        if (last != first) {
                strbuf_add(to, " ");
                quote_into(to, first + 1, (size_t)(last - first - 1));
        }
        strbuf_add(to, "]\n\t");
        strbuf_add(to, last + 1);
        if (entry->value) {
                strbuf_add(to, " = ");
                quote_into(to, entry->value, strlen(entry->value));
        }
        strbuf_add(to, "\n");
}
