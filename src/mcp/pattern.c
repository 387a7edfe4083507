/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Patterns become a program for a machine that is in many places at once (Thompson's), so that nothing is
 * tried twice. */
#include "pattern.h"

#include "base/str.h"

enum step_kind {
        STEP_BYTE,  /* one of a set of bytes */
        STEP_SPLIT, /* go on at both targets */
        STEP_JUMP,
        STEP_BEGIN, /* of the line */
        STEP_END,
        STEP_WORD_EDGE,
        STEP_NO_WORD_EDGE,
        STEP_MATCH
};

struct byte_set {
        uint64_t bits[4];
};

struct step {
        enum step_kind kind;
        unsigned to, other;
        struct byte_set set;
};

/* The places that the machine is in: `list` in their order, `index` to find them. */
struct places {
        unsigned n;
        unsigned list[PATTERN_STEPS_MOST], index[PATTERN_STEPS_MOST];
};

struct pattern {
        unsigned n;
        struct step steps[PATTERN_STEPS_MOST];
        struct places now, next;
        unsigned stack[2 * PATTERN_STEPS_MOST];
};

struct compiling {
        struct pattern *p;
        const char *at;
        bool ignores_case;
        unsigned depth;
        const char *why;
};

static int compile_fail(struct compiling *c, int r, const char *why) {
        c->why = why;
        return r;
}

static void set_add(struct byte_set *set, unsigned char byte) {
        set->bits[byte / 64] |= UINT64_C(1) << (byte % 64);
}

static bool set_has(const struct byte_set *set, unsigned char byte) {
        return (set->bits[byte / 64] >> (byte % 64)) & 1;
}

static void set_invert(struct byte_set *set) {
        for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
                set->bits[i] = ~set->bits[i];
}

static void set_add_range(struct byte_set *set, unsigned char from, unsigned char to) {
        for (unsigned byte = from; byte <= to; byte++)
                set_add(set, (unsigned char)byte);
}

static bool is_word_byte(unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void set_fold(struct byte_set *set) {
        for (unsigned char c = 'a'; c <= 'z'; c++)
                if (set_has(set, c) || set_has(set, (unsigned char)(c - 'a' + 'A'))) {
                        set_add(set, c);
                        set_add(set, (unsigned char)(c - 'a' + 'A'));
                }
}

/* ---------------------------------------------------------------------- compiling */

static int add_step(struct compiling *c, struct step step) {
        if (c->p->n >= PATTERN_STEPS_MOST)
                return compile_fail(c, -E2BIG, "the pattern is too large");
        c->p->steps[c->p->n++] = step;
        return 0;
}

static int add_set_step(struct compiling *c, struct byte_set set) {
        if (c->ignores_case)
                set_fold(&set);
        return add_step(c, (struct step){.kind = STEP_BYTE, .set = set});
}

/* Puts a step before those from `start` on. */
static int put_before(struct compiling *c, unsigned start, struct step step) {
        int r = add_step(c, step);

        if (r < 0)
                return r;
        memmove(&c->p->steps[start + 1], &c->p->steps[start], (c->p->n - 1 - start) * sizeof(step));
        c->p->steps[start] = step;
        for (unsigned i = start + 1; i < c->p->n; i++) {
                struct step *s = &c->p->steps[i];

                s->to += (s->kind == STEP_SPLIT || s->kind == STEP_JUMP) && s->to >= start;
                s->other += s->kind == STEP_SPLIT && s->other >= start;
        }
        return 0;
}

/* The set that a letter after a backslash stands for; false: none. */
static bool class_of(char letter, struct byte_set *ret) {
        static const char spaces[] = " \t\r\n\v\f";

        *ret = (struct byte_set){{0}};
        switch (letter | 0x20) {
        case 'd':
                set_add_range(ret, '0', '9');
                break;
        case 'w':
                for (unsigned byte = 0; byte < 128; byte++)
                        if (is_word_byte((unsigned char)byte))
                                set_add(ret, (unsigned char)byte);
                break;
        case 's':
                for (const char *s = spaces; *s; s++)
                        set_add(ret, (unsigned char)*s);
                break;
        default:
                return false;
        }
        if (letter < 'a')
                set_invert(ret);
        return true;
}

static char escaped(char letter) {
        return letter == 't' ? '\t' : letter == 'r' ? '\r' : letter == 'n' ? '\n' : letter;
}

/* One byte of a set, or a class.  1: a byte; 0: a class, which is in *set now. */
static int take_set_item(struct compiling *c, struct byte_set *set, unsigned char *ret) {
        struct byte_set class;

        if (*c->at == '\0')
                return compile_fail(c, -EINVAL, "a [ has no ]");
        if (*c->at != '\\') {
                *ret = (unsigned char)*c->at++;
                return 1;
        }
        if (c->at[1] == '\0')
                return compile_fail(c, -EINVAL, "nothing follows a backslash");
        c->at += 2;
        if (!class_of(c->at[-1], &class)) {
                *ret = (unsigned char)escaped(c->at[-1]);
                return 1;
        }
        for (size_t i = 0; i < ARRAY_SIZE(class.bits); i++)
                set->bits[i] |= class.bits[i];
        return 0;
}

/* What follows a "[". */
static int take_set(struct compiling *c, struct byte_set *ret) {
        bool inverts = *c->at == '^' || *c->at == '!', is_first = true;
        struct byte_set set = {{0}};

        for (c->at += inverts; is_first || *c->at != ']'; is_first = false) {
                unsigned char from = 0, to = 0;
                int r = take_set_item(c, &set, &from);

                if (r == 1 && c->at[0] == '-' && c->at[1] != ']' && c->at[1] != '\0') {
                        c->at++;
                        r = take_set_item(c, &set, &to);
                        if (r == 0 || (r == 1 && to < from))
                                return compile_fail(c, -EINVAL, "a range in [] is none");
                        set_add_range(&set, from, to);
                } else if (r == 1) {
                        set_add(&set, from);
                }
                if (r < 0)
                        return r;
        }
        c->at++;
        if (inverts)
                set_invert(&set);
        *ret = set;
        return 0;
}

static int take_alternatives(struct compiling *c);

static int take_escape(struct compiling *c) {
        char letter = *c->at;
        struct byte_set set = {{0}};

        if (letter == '\0')
                return compile_fail(c, -EINVAL, "nothing follows a backslash");
        c->at++;
        if (letter == 'b' || letter == 'B')
                return add_step(c,
                                (struct step){.kind = letter == 'b' ? STEP_WORD_EDGE : STEP_NO_WORD_EDGE});
        if (letter >= '1' && letter <= '9')
                return compile_fail(c, -EINVAL, "there are no back references");
        if (!class_of(letter, &set))
                set_add(&set, (unsigned char)escaped(letter));
        return add_set_step(c, set);
}

static int take_group(struct compiling *c) {
        unsigned start = c->p->n;
        int r;

        if (c->at[0] == '?' && c->at[1] == ':')
                c->at += 2;
        else if (c->at[0] == '?')
                return compile_fail(c, -EINVAL, "a group can't begin with ? but as (?:");
        if (++c->depth > PATTERN_DEPTH_MOST)
                return compile_fail(c, -E2BIG, "the pattern is too deep");
        r = take_alternatives(c);
        c->depth--;
        if (r < 0)
                return r;
        if (*c->at != ')')
                return compile_fail(c, -EINVAL, "a ( has no )");
        c->at++;
        /* An empty group has a step, too: how often it is repeated is bounded by the steps. */
        return c->p->n > start ? 0 : add_step(c, (struct step){.kind = STEP_JUMP, .to = start + 1});
}

static int take_atom(struct compiling *c) {
        struct byte_set set = {{0}};
        char letter = *c->at++;
        int r;

        switch (letter) {
        case '(':
                return take_group(c);
        case '\\':
                return take_escape(c);
        case '^':
                return add_step(c, (struct step){.kind = STEP_BEGIN});
        case '$':
                return add_step(c, (struct step){.kind = STEP_END});
        case '.':
                set_invert(&set);
                return add_set_step(c, set);
        case '[':
                r = take_set(c, &set);
                return r < 0 ? r : add_set_step(c, set);
        case '*':
        case '+':
        case '?':
                return compile_fail(c, -EINVAL, "nothing is there to be repeated");
        default:
                set_add(&set, (unsigned char)letter);
                return add_set_step(c, set);
        }
}

/* Makes the steps from `start` on optional, and repeated if they may be. */
static int repeat(struct compiling *c, unsigned start, bool is_optional, bool repeats) {
        unsigned end = c->p->n;
        int r;

        if (repeats && !is_optional)
                return add_step(c, (struct step){.kind = STEP_SPLIT, .to = start, .other = end + 1});
        r = put_before(c, start,
                       (struct step){.kind = STEP_SPLIT, .to = start + 1, .other = end + 1 + repeats});
        return r < 0 || !repeats ? r : add_step(c, (struct step){.kind = STEP_JUMP, .to = start});
}

static bool take_count(struct compiling *c, unsigned *ret) {
        unsigned n = 0;

        if (*c->at < '0' || *c->at > '9')
                return false;
        for (; *c->at >= '0' && *c->at <= '9'; c->at++)
                n = n > PATTERN_REPEAT_MOST ? n : n * 10 + (unsigned)(*c->at - '0');
        *ret = n;
        return true;
}

/* What follows a "{": false, and nothing is taken, where it is no count. */
static bool take_bounds(struct compiling *c, unsigned *least, unsigned *most, bool *is_open) {
        const char *start = c->at;

        *is_open = false;
        if (take_count(c, least)) {
                *most = *least;
                if (*c->at == ',') {
                        c->at++;
                        *is_open = !take_count(c, most);
                }
                if (*c->at == '}') {
                        c->at++;
                        return true;
                }
        }
        c->at = start;
        return false;
}

/* Compiles the atom's text again for each time that it may be there. */
static int take_counted(struct compiling *c, const char *atom, unsigned start, unsigned least, unsigned most,
                        bool is_open) {
        const char *after = c->at;
        int r = 0;

        if (least > PATTERN_REPEAT_MOST || (!is_open && (most > PATTERN_REPEAT_MOST || most < least)))
                return compile_fail(c, -EINVAL, "a count in {} is none, or above 255");
        c->p->n = start;
        for (unsigned i = 0; i < (is_open ? least + 1 : most) && r >= 0; i++) {
                unsigned begin = c->p->n;

                c->at = atom;
                r = take_atom(c);
                if (r >= 0 && i >= least)
                        r = repeat(c, begin, true, is_open);
        }
        c->at = after;
        return r;
}

static int take_repeated(struct compiling *c) {
        const char *atom = c->at;
        unsigned start = c->p->n, least = 0, most = 0;
        bool is_open;
        int r = take_atom(c);

        for (bool is_first = true; r >= 0; is_first = false) {
                char letter = *c->at;

                if (letter != '*' && letter != '+' && letter != '?' && letter != '{')
                        break;
                c->at++;
                if (letter == '{') {
                        if (!take_bounds(c, &least, &most, &is_open)) {
                                c->at--;
                                break;
                        }
                        if (!is_first)
                                return compile_fail(c, -EINVAL, "a count follows another repetition");
                        r = take_counted(c, atom, start, least, most, is_open);
                } else if (letter == '?' && !is_first) {
                        continue; /* whether a match is short makes no difference here */
                } else {
                        r = repeat(c, start, letter != '+', letter != '?');
                }
        }
        return r;
}

static int take_alternatives(struct compiling *c) {
        unsigned start = c->p->n, jump;
        int r = 0;

        while (r >= 0 && *c->at && *c->at != '|' && *c->at != ')')
                r = *c->at == '{'
                            ? (c->at++,
                               add_set_step(c, (struct byte_set){.bits = {0, UINT64_C(1) << ('{' - 64)}}))
                            : take_repeated(c);
        if (r < 0 || *c->at != '|')
                return r;
        c->at++;
        if (++c->depth > PATTERN_DEPTH_MOST)
                return compile_fail(c, -E2BIG, "the pattern is too deep");
        r = put_before(c, start, (struct step){.kind = STEP_SPLIT, .to = start + 1, .other = c->p->n + 2});
        if (r < 0)
                return r;
        jump = c->p->n;
        r = add_step(c, (struct step){.kind = STEP_JUMP});
        if (r >= 0)
                r = take_alternatives(c);
        c->depth--;
        if (r >= 0)
                c->p->steps[jump].to = c->p->n;
        return r;
}

int pattern_compile(const char *text, bool ignores_case, struct pattern **ret, const char **ret_why) {
        struct compiling c = {.at = text, .ignores_case = ignores_case};
        int r;

        if (strlen(text) > PATTERN_LENGTH_MOST) {
                *ret_why = "the pattern is too long";
                return -E2BIG;
        }
        c.p = calloc(1, sizeof(*c.p));
        if (!c.p) {
                *ret_why = "out of memory";
                return -ENOMEM;
        }
        r = take_alternatives(&c);
        if (r >= 0 && *c.at == ')')
                r = compile_fail(&c, -EINVAL, "a ) has no (");
        if (r >= 0)
                r = add_step(&c, (struct step){.kind = STEP_MATCH});
        if (r < 0) {
                *ret_why = c.why;
                free(c.p);
                return r;
        }
        *ret = c.p;
        return 0;
}

int pattern_compile_glob(const char *glob, struct pattern **ret, const char **ret_why) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, strchr(glob, '/') ? "^" : "(^|/)");
        for (const char *at = glob + (*glob == '/'); *at; at++) {
                if (at[0] == '*' && at[1] == '*') {
                        bool has_slash = at[2] == '/';

                        strbuf_add(&b, has_slash ? "(.*/)?" : ".*");
                        at += 1 + has_slash;
                } else if (*at == '*') {
                        strbuf_add(&b, "[^/]*");
                } else if (*at == '?') {
                        strbuf_add(&b, "[^/]");
                } else if (*at == '[') {
                        strbuf_add(&b, "[");
                        if (at[1] == '!' || at[1] == '^')
                                strbuf_add_bytes(&b, ++at, 1);
                        if (at[1] == ']')
                                strbuf_add_bytes(&b, ++at, 1);
                        while (at[1] && at[1] != ']')
                                strbuf_add_bytes(&b, ++at, 1);
                } else if (strchr("\\^$.|()+{}", *at)) {
                        strbuf_addf(&b, "\\%c", *at);
                } else {
                        strbuf_add_bytes(&b, at, 1);
                }
        }
        strbuf_add(&b, "$");
        if (b.has_failed) {
                *ret_why = "out of memory";
                return -ENOMEM;
        }
        return pattern_compile(b.text, false, ret, ret_why);
}

void pattern_free(struct pattern *p) {
        free(p);
}

/* ----------------------------------------------------------------------- matching */

static bool is_edge(const char *line, size_t n, size_t at) {
        bool before = at > 0 && is_word_byte((unsigned char)line[at - 1]);
        bool after = at < n && is_word_byte((unsigned char)line[at]);

        return before != after;
}

static bool holds_at(enum step_kind kind, const char *line, size_t n, size_t at) {
        switch (kind) {
        case STEP_BEGIN:
                return at == 0;
        case STEP_END:
                return at == n;
        case STEP_WORD_EDGE:
                return is_edge(line, n, at);
        case STEP_NO_WORD_EDGE:
                return !is_edge(line, n, at);
        default:
                return true;
        }
}

static bool places_have(const struct places *set, unsigned place) {
        return set->index[place] < set->n && set->list[set->index[place]] == place;
}

/* Adds a step and all that is reached from there without a byte.  True: the end of the pattern is. */
static bool places_add(struct pattern *p, struct places *set, unsigned first, const char *line, size_t n,
                       size_t at) {
        unsigned depth = 0;

        p->stack[depth++] = first;
        while (depth > 0) {
                unsigned place = p->stack[--depth];
                const struct step *s = &p->steps[place];

                if (places_have(set, place))
                        continue;
                set->index[place] = set->n;
                set->list[set->n++] = place;
                if (s->kind == STEP_MATCH)
                        return true;
                if (s->kind == STEP_BYTE || !holds_at(s->kind, line, n, at))
                        continue;
                /* At most two for each place that is in the set. */
                p->stack[depth++] = s->kind == STEP_SPLIT || s->kind == STEP_JUMP ? s->to : place + 1;
                if (s->kind == STEP_SPLIT)
                        p->stack[depth++] = s->other;
        }
        return false;
}

bool pattern_matches(struct pattern *p, const char *line, size_t n) {
        struct places *now = &p->now, *next = &p->next;

        now->n = 0;
        for (size_t at = 0; at <= n; at++) {
                struct places *was = now;

                if (places_add(p, now, 0, line, n, at))
                        return true;
                if (at == n)
                        break;
                next->n = 0;
                for (unsigned i = 0; i < now->n; i++) {
                        const struct step *s = &p->steps[now->list[i]];

                        if (s->kind == STEP_BYTE && set_has(&s->set, (unsigned char)line[at]) &&
                            places_add(p, next, now->list[i] + 1, line, n, at + 1))
                                return true;
                }
                now = next;
                next = was;
        }
        return false;
}
