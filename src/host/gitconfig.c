/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The grammar of git-config(1), and its globs.  Which keys matter and which files are read is
 * decided by the callers. */
#include "gitconfig.h"

#include "base/str.h"

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

/* ------------------------------------------------------------------------- globs */

/* The parts of a pattern and a text that are still to be matched, each up to the end of a path
 * component. */
struct glob {
        const char *pattern, *pattern_end;
        const char *text, *text_end;
        bool folds_case;
};

static int fold(const struct glob *g, char c) {
        return g->folds_case ? lower((unsigned char)c) : (unsigned char)c;
}

/* Matches a byte against a [set], to whose bracket `at` points.  Returns what follows the set, or
 * NULL if it has no end. */
static const char *match_set(const struct glob *g, const char *at, int c, bool *ret) {
        bool is_negated, is_in = false, is_first = true;

        at++;
        is_negated = at < g->pattern_end && (*at == '!' || *at == '^');
        at += is_negated;
        for (; at < g->pattern_end && (*at != ']' || is_first); is_first = false) {
                int from, to;

                at += *at == '\\' && g->pattern_end - at > 1;
                from = to = fold(g, *at++);
                if (g->pattern_end - at > 1 && at[0] == '-' && at[1] != ']') {
                        at++;
                        at += *at == '\\' && g->pattern_end - at > 1;
                        to = fold(g, *at++);
                }
                is_in = is_in || (c >= from && c <= to);
        }
        if (at >= g->pattern_end)
                return NULL;
        *ret = is_in != is_negated;
        return at + 1;
}

/* Matches a byte of the text against the pattern at `at`, where no '*' stands.  Returns what
 * follows in the pattern, or NULL if they differ. */
static const char *match_byte(const struct glob *g, const char *at, char byte) {
        int c = fold(g, byte);
        bool is_in = false;

        if (at == g->pattern_end)
                return NULL;
        if (*at == '?')
                return at + 1;
        if (*at == '[') {
                at = match_set(g, at, c, &is_in);
                return is_in ? at : NULL;
        }
        at += *at == '\\' && g->pattern_end - at > 1;
        return fold(g, *at) == c ? at + 1 : NULL;
}

/* Matches a component of the text against one of the pattern.  On a mismatch only the last '*' is
 * tried with one byte more, which suffices. */
static bool match_component(const struct glob *g) {
        const char *at = g->pattern, *text = g->text, *star = NULL, *star_text = NULL, *next;

        while (text < g->text_end) {
                if (at < g->pattern_end && *at == '*') {
                        star = ++at;
                        star_text = text;
                } else if ((next = match_byte(g, at, *text))) {
                        at = next;
                        text++;
                } else if (star) {
                        at = star;
                        text = ++star_text;
                } else {
                        return false;
                }
        }
        while (at < g->pattern_end && *at == '*')
                at++;
        return at == g->pattern_end;
}

/* The end of the path component at `at`; and the component after that end, NULL if there is none. */
static const char *component_end(const char *at) {
        return at + strcspn(at, "/");
}

static const char *component_next(const char *end) {
        return *end ? end + 1 : NULL;
}

bool gitconfig_glob(const char *pattern, const char *text, bool folds_case) {
        const char *stars = NULL, *stars_text = NULL;

        while (text) {
                struct glob g = {.text = text, .text_end = component_end(text), .folds_case = folds_case};

                if (pattern) {
                        g.pattern = pattern;
                        g.pattern_end = component_end(pattern);
                }
                if (pattern && g.pattern_end - pattern == 2 && memcmp(pattern, "**", 2) == 0) {
                        if (!*g.pattern_end) /* a "**" at the pattern's end matches all that is left, at
                                                least one component */
                                return true;
                        stars = pattern = component_next(g.pattern_end);
                        stars_text = text;
                } else if (pattern && match_component(&g)) {
                        pattern = component_next(g.pattern_end);
                        text = component_next(g.text_end);
                } else if (stars) {
                        /* On a mismatch the last "**" is tried with one component more. */
                        pattern = stars;
                        stars_text = text = component_next(component_end(stars_text));
                } else {
                        return false;
                }
        }
        return !pattern;
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
