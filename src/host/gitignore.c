/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gitignore.h"

#include <ctype.h>

#include "base/array.h"
#include "base/str.h"

/* ---------------------------------------------------------------------- globs */

struct glob {
        const char *start, *end;
        bool crosses;
};

enum outcome {
        DIFFERS,
        MATCHES,
        IS_MALFORMED, /* the glob matches nothing */
};

/* The C locale's classes, whatever the program's: they have ASCII alone. */
static enum outcome match_class(const char *name, size_t n, unsigned char c) {
        static const struct {
                const char *name;
                int (*holds)(int c);
        } classes[] = {
                {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
                {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
                {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
        };

        for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
                if (strlen(classes[i].name) == n && memcmp(classes[i].name, name, n) == 0)
                        return c < 0x80 && classes[i].holds(c) ? MATCHES : DIFFERS;
        return IS_MALFORMED;
}

/* One item of a set: a class, a range or a character, with what a backslash protects.  *at is moved behind
 * it.
 */
static enum outcome match_item(const struct glob *g, const char **at, unsigned char c) {
        const char *p = *at, *close;
        unsigned char first, last;

        if (p + 1 < g->end && p[0] == '[' && p[1] == ':') {
                close = memchr(p + 2, ']', (size_t)(g->end - p - 2));
                if (!close)
                        return IS_MALFORMED;
                if (close > p + 2 && close[-1] == ':') {
                        *at = close + 1;
                        return match_class(p + 2, (size_t)(close - 1 - (p + 2)), c);
                }
        }
        if (*p == '\\' && ++p == g->end)
                return IS_MALFORMED;
        first = last = (unsigned char)*p++;
        if (p + 1 < g->end && p[0] == '-' && p[1] != ']') {
                p++;
                if (*p == '\\' && ++p == g->end)
                        return IS_MALFORMED;
                last = (unsigned char)*p++;
        }
        *at = p;
        /* A range beginning with a character that lies behind its end holds that character, as git has it.
         */
        return c == first || (c >= first && c <= last) ? MATCHES : DIFFERS;
}

/* *at is behind the '[' and is moved behind the ']'. */
static enum outcome match_bracket(const struct glob *g, const char **at, unsigned char c) {
        bool is_negated = *at < g->end && (**at == '!' || **at == '^'), holds = false;

        *at += is_negated;
        /* A ']' that comes first is a character like others. */
        for (bool is_first = true; *at < g->end && (is_first || **at != ']'); is_first = false) {
                enum outcome item = match_item(g, at, c);

                if (item == IS_MALFORMED)
                        return item;
                holds |= item == MATCHES;
        }
        if (*at == g->end)
                return IS_MALFORMED;
        ++*at;
        return holds != is_negated && (c != '/' || g->crosses) ? MATCHES : DIFFERS;
}

/* What stands for one character; *at is moved behind it. */
static enum outcome match_one(const struct glob *g, const char **at, unsigned char c) {
        unsigned char p = (unsigned char)*(*at)++;

        if (p == '[')
                return match_bracket(g, at, c);
        if (p == '?')
                return c != '/' || g->crosses ? MATCHES : DIFFERS;
        if (p == '\\') {
                if (*at == g->end)
                        return IS_MALFORMED;
                p = (unsigned char)*(*at)++;
        }
        return p == c ? MATCHES : DIFFERS;
}

/* Where to go on after a mismatch: an asterisk takes one character more, or a double one a component. */
struct retry {
        const char *pattern, *text; /* NULL: none */
};

static bool takes_more(const struct glob *g, struct retry *star, struct retry *components, const char **p,
                       const char **t) {
        if (star->text && *star->text && (g->crosses || *star->text != '/')) {
                *p = star->pattern;
                *t = ++star->text;
                return true;
        }
        components->text = components->text ? strchr(components->text, '/') : NULL;
        if (!components->text)
                return false;
        star->text = NULL;
        *p = components->pattern;
        *t = ++components->text;
        return true;
}

/* Whether the asterisks at `p`, which end before `behind`, are a component of their own. */
static bool is_component(const struct glob *g, const char *p, const char *behind) {
        if (g->crosses || behind - p < 2 || (p > g->start && p[-1] != '/'))
                return false;
        return behind == g->end || *behind == '/' ||
               (behind + 1 < g->end && behind[0] == '\\' && behind[1] == '/');
}

/* *p is at an asterisk.  true: whatever the rest of the text is, it matches. */
static bool pass_asterisks(const struct glob *g, const char **p, const char *t, struct retry *star,
                           struct retry *components) {
        const char *behind = *p;

        while (behind < g->end && *behind == '*')
                behind++;
        if (is_component(g, *p, behind)) {
                if (behind == g->end)
                        return true;
                *p = behind + 1 + (*behind == '\\');
                *components = (struct retry){*p, t};
                star->text = NULL;
        } else {
                *p = behind;
                *star = (struct retry){behind, t};
        }
        return false;
}

bool gitignore_glob(const char *pattern, size_t n, const char *text, bool crosses) {
        const struct glob g = {pattern, pattern + n, crosses};
        struct retry star = {NULL, NULL}, components = {NULL, NULL};
        const char *p = pattern, *t = text;

        for (;;) {
                enum outcome one;

                if (p < g.end && *p == '*') {
                        if (pass_asterisks(&g, &p, t, &star, &components))
                                return true;
                        continue;
                }
                if (*t == '\0')
                        return p == g.end;
                one = p == g.end ? DIFFERS : match_one(&g, &p, (unsigned char)*t++);
                if (one == IS_MALFORMED || (one == DIFFERS && !takes_more(&g, &star, &components, &p, &t)))
                        return false;
        }
}

/* ---------------------------------------------------------------------- files */

/* Spaces at the end don't count, unless a backslash is before them. */
static size_t trim(const char *line, size_t n) {
        size_t spaces = n; /* where those begin that are last so far */

        for (size_t i = 0; i < n; i++) {
                if (line[i] == ' ') {
                        spaces = spaces < i ? spaces : i;
                        continue;
                }
                i += line[i] == '\\';
                spaces = n;
        }
        return spaces;
}

static int add_rule(struct gitignore *g, const char *line, size_t n) {
        struct gitignore_rule rule = {0};

        n = trim(line, n);
        rule.is_negated = n > 0 && *line == '!';
        line += rule.is_negated;
        n -= rule.is_negated;
        rule.is_for_folders = n > 0 && line[n - 1] == '/';
        n -= rule.is_for_folders;
        rule.is_anchored = memchr(line, '/', n) != NULL;
        if (n > 0 && *line == '/') {
                line++;
                n--;
        }
        if (n == 0)
                return 0;
        if (ARRAY_GROW(g->rules, g->n) < 0)
                return -ENOMEM;
        rule.pattern = line;
        rule.length = n;
        g->rules[g->n++] = rule;
        return 0;
}

int gitignore_parse(char *text, struct gitignore *ret) {
        _cleanup_gitignore_ struct gitignore g = {.text = text};
        const char *line = startswith(text, "\xef\xbb\xbf"), *next;

        for (line = line ? line : text; *line; line = next) {
                size_t n = strcspn(line, "\n");

                next = line + n + (line[n] == '\n');
                if (n > 0 && line[n - 1] == '\r')
                        n--;
                if (*line != '#' && add_rule(&g, line, n) < 0)
                        return -ENOMEM;
        }
        *ret = g;
        g = (struct gitignore){0};
        return 0;
}

void gitignore_clear(struct gitignore *g) {
        free(g->text);
        free(g->rules);
        *g = (struct gitignore){0};
}

enum gitignore_says gitignore_ask(const struct gitignore *g, const char *path, bool is_folder) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

        for (size_t i = g->n; i > 0; i--) {
                const struct gitignore_rule *rule = &g->rules[i - 1];

                if (rule->is_for_folders && !is_folder)
                        continue;
                if (gitignore_glob(rule->pattern, rule->length, rule->is_anchored ? path : name, false))
                        return rule->is_negated ? GITIGNORE_KEPT : GITIGNORE_IGNORED;
        }
        return GITIGNORE_NOTHING;
}
