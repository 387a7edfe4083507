/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The grammar of git-config(1).  Which keys matter is the callers' to know. */
#include "gitconfig.h"

#include "base/str.h"

struct parser {
        const char *at;
        char *section; /* "" before the first heading */
        char *subsection;
};

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void skip_blanks(struct parser *p) {
        while (is_blank(*p->at))
                p->at++;
}

static void skip_line(struct parser *p) {
        while (*p->at && *p->at != '\n')
                p->at++;
}

/* The bytes from `start` to where the parser stands, in lower case. */
static char *lower_copy(const struct parser *p, const char *start) {
        char *copy = strndup(start, (size_t)(p->at - start));

        for (char *c = copy; c && *c; c++)
                *c = lower(*c);
        return copy;
}

/* "sub", with a backslash before whatever follows it. */
static int parse_quoted(struct parser *p, char **ret) {
        _cleanup_strbuf_ struct strbuf b = {0};

        for (p->at++; *p->at != '"'; p->at++) {
                if (*p->at == '\\')
                        p->at++;
                if (!*p->at || *p->at == '\n')
                        return -EBADMSG;
                strbuf_add_bytes(&b, p->at, 1);
        }
        p->at++;
        *ret = strbuf_finish(&b);
        return *ret ? 0 : -ENOMEM;
}

/* [section], [section "subsection"] or the old [section.subsection]. */
static int parse_heading(struct parser *p) {
        _cleanup_free_ char *section = NULL, *subsection = NULL;
        const char *start = ++p->at;
        char *dot;
        int r = 0;

        while (is_word(*p->at) || *p->at == '.')
                p->at++;
        section = lower_copy(p, start);
        if (!section)
                return -ENOMEM;
        skip_blanks(p);
        if (*p->at == '"')
                r = parse_quoted(p, &subsection);
        if (r < 0)
                return r;
        if (*p->at++ != ']' || !*section)
                return -EBADMSG;
        dot = subsection ? NULL : strchr(section, '.');
        if (dot)
                *dot++ = '\0';
        if (!subsection)
                subsection = strdup(dot ? dot : "");
        if (!subsection)
                return -ENOMEM;
        free(p->section);
        p->section = TAKE_PTR(section);
        free(p->subsection);
        p->subsection = TAKE_PTR(subsection);
        return 0;
}

/* One backslash and what follows it, in a value. */
static int parse_escape(struct parser *p, struct strbuf *b) {
        static const char letters[] = "tbn\\\"", meanings[] = "\t\b\n\\\"";
        const char *letter;

        p->at++;
        if (*p->at == '\r' && p->at[1] == '\n')
                p->at++;
        if (*p->at == '\n')
                return 0; /* the value goes on in the next line */
        letter = *p->at ? strchr(letters, *p->at) : NULL;
        if (!letter)
                return -EBADMSG;
        strbuf_add_bytes(b, &meanings[letter - letters], 1);
        return 0;
}

/* What follows the "=", up to the end of the line. */
static int parse_value(struct parser *p, char **ret) {
        _cleanup_strbuf_ struct strbuf b = {0};
        bool is_quoted = false;
        size_t end = 0; /* blanks beyond it are dropped, but for those in quotes */

        skip_blanks(p);
        for (; *p->at && *p->at != '\n'; p->at++) {
                int r = 0;

                if (!is_quoted && (*p->at == '#' || *p->at == ';')) {
                        skip_line(p);
                        break;
                }
                if (*p->at == '"') {
                        is_quoted = !is_quoted;
                        end = b.length;
                        continue;
                }
                if (*p->at == '\\')
                        r = parse_escape(p, &b);
                else
                        strbuf_add_bytes(&b, p->at, 1);
                if (r < 0)
                        return r;
                if (is_quoted || !is_blank(*p->at))
                        end = b.length;
        }
        if (is_quoted)
                return -EBADMSG;
        if (!b.has_failed && b.length > end) {
                b.length = end;
                b.text[end] = '\0';
        }
        *ret = strbuf_finish(&b);
        return *ret ? 0 : -ENOMEM;
}

static int parse_entry(struct parser *p, int (*found)(void *data, const struct gitconfig_entry *entry),
                       void *data) {
        _cleanup_free_ char *key = NULL, *value = NULL;
        const char *start = p->at;
        int r = 0;

        while (is_word(*p->at))
                p->at++;
        key = lower_copy(p, start);
        if (!key)
                return -ENOMEM;
        skip_blanks(p);
        if (*p->at == '=') {
                p->at++;
                r = parse_value(p, &value);
        } else if (*p->at == '#' || *p->at == ';') {
                skip_line(p);
        } else if (*p->at && *p->at != '\n') {
                r = -EBADMSG;
        }
        if (r < 0)
                return r;
        return found(data, &(struct gitconfig_entry){p->section, p->subsection, key, value});
}

static int parse(struct parser *p, int (*found)(void *data, const struct gitconfig_entry *entry),
                 void *data) {
        int r = 0;

        while (*p->at && r == 0) {
                if (*p->at == '\n' || is_blank(*p->at))
                        p->at++;
                else if (*p->at == '#' || *p->at == ';')
                        skip_line(p);
                else if (*p->at == '[')
                        r = parse_heading(p);
                else
                        r = is_letter(*p->at) && p->section ? parse_entry(p, found, data) : -EBADMSG;
        }
        return r;
}

int gitconfig_each(const char *text, int (*found)(void *data, const struct gitconfig_entry *entry),
                   void *data) {
        const char *after_mark = startswith(text, "\xef\xbb\xbf");
        struct parser p = {.at = after_mark ? after_mark : text};
        int r = parse(&p, found, data);

        free(p.section);
        free(p.subsection);
        return r;
}

bool gitconfig_is_true(const char *value) {
        static const char *const words[] = {"true", "yes", "on"};

        if (!value) /* the bare key */
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcasecmp(value, words[i]) == 0)
                        return true;
        return strtol(value, NULL, 10) != 0;
}
