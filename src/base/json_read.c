/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a JSON text, in one walk: RFC 8259, and nothing else.  The grammar's other mistakes end the walk;
 * one that leaves no doubt where the value ends (an escape, a word, a number, a character, a key that is
 * there twice, too many brackets) refuses the text all the same, but the rest is read: whoever asks for
 * JSON_REPAIRED finds there whom to answer. */
#include "array.h"
#include "json_value.h"

struct reading {
        struct json_document *document;
        const char *text;
        size_t n, at;
        enum json_reading how;
        char open;            /* the innermost bracket that is open; 0: none */
        bool is_key;          /* the string that is being read */
        struct strbuf string; /* the last one that was read */
        struct json_trouble *trouble;
};

/* Notes what is wrong, if nothing was before. */
static void note(struct reading *w, size_t at, const char *why) {
        if (!w->trouble->why)
                *w->trouble = (struct json_trouble){.at = at, .why = why};
}

static int stop(struct reading *w, size_t at, const char *why) {
        note(w, at, why);
        return -EINVAL;
}

/* Stops at what should be something else, or at the text's end. */
static int stop_here(struct reading *w, const char *why) {
        if (w->at < w->n)
                return stop(w, w->at, why);
        return stop(w, w->n,
                    w->open == '{'   ? "it ends too early: a } is missing"
                    : w->open == '[' ? "it ends too early: a ] is missing"
                                     : "it is empty");
}

static bool is_at(const struct reading *w, char c) {
        return w->at < w->n && w->text[w->at] == c;
}

static void skip_blank(struct reading *w) {
        while (is_at(w, ' ') || is_at(w, '\t') || is_at(w, '\n') || is_at(w, '\r'))
                w->at++;
}

/* ------------------------------------------------------------------- strings */

static bool read_hex(const struct reading *w, size_t at, unsigned *ret) {
        unsigned code = 0;

        if (w->n - at < 4)
                return false;
        for (size_t i = at; i < at + 4; i++) {
                char c = w->text[i];

                if (c >= '0' && c <= '9')
                        code = code << 4 | (unsigned)(c - '0');
                else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
                        code = code << 4 | (unsigned)((c | 0x20) - 'a' + 10);
                else
                        return false;
        }
        *ret = code;
        return true;
}

static void add_utf8(struct strbuf *b, unsigned code) {
        const char bytes[] = {(char)(0xf0 | code >> 18), (char)(0x80 | (code >> 12 & 0x3f)),
                              (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f))};
        char first;

        if (code >= 0x10000) {
                strbuf_add_bytes(b, bytes, 4);
                return;
        }
        first = (char)(code < 0x80 ? code : code < 0x800 ? 0xc0 | code >> 6 : 0xe0 | code >> 12);
        strbuf_add_bytes(b, &first, 1);
        if (code >= 0x800)
                strbuf_add_bytes(b, bytes + 2, 1);
        if (code >= 0x80)
                strbuf_add_bytes(b, bytes + 3, 1);
}

/* An escape of the string that begins at `start`; w->at is behind the backslash.  What stands for no
 * character is U+FFFD. */
static void read_escape(struct reading *w, size_t start) {
        static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        const char *known = w->at < w->n && w->text[w->at] ? strchr(escapes, w->text[w->at]) : NULL;
        unsigned code = 0, low = 0;
        bool is_good;

        if (known) {
                strbuf_add_bytes(&w->string, &meanings[known - escapes], 1);
                w->at++;
                return;
        }
        if (w->at == w->n)
                return; /* so does the string */
        is_good = is_at(w, 'u') && read_hex(w, w->at + 1, &code);
        w->at += is_good ? 5 : 0;
        if (is_good && code >= 0xd800 && code <= 0xdbff && w->n - w->at >= 6 && w->text[w->at] == '\\' &&
            w->text[w->at + 1] == 'u' && read_hex(w, w->at + 2, &low) && low >= 0xdc00 && low <= 0xdfff) {
                w->at += 6;
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        if (code >= 0xd800 && code <= 0xdfff) {
                is_good &= (w->how & JSON_REPAIRED) != 0;
                code = 0xfffd;
        }
        if (code == 0)
                is_good &= !w->is_key && !(w->how & JSON_CAREFUL);
        if (!is_good)
                note(w, start, "an escape in this string stands for no character");
        add_utf8(&w->string, is_good ? code : 0xfffd);
}

/* A byte of a string that is neither printable ASCII nor one of the string's own signs. */
static void read_character(struct reading *w) {
        size_t n = json_character(w->text + w->at, w->n - w->at);

        bool is_control = (unsigned char)w->text[w->at] < ' ';

        if (n > 0 && !is_control)
                strbuf_add_bytes(&w->string, w->text + w->at, n);
        else
                strbuf_add(&w->string, JSON_REPLACEMENT);
        if (is_control)
                note(w, w->at, "a control character in a string");
        else if (n == 0 && !(w->how & JSON_REPAIRED))
                note(w, w->at, "this byte is no UTF-8");
        w->at += n > 0 ? n : 1;
}

/* Decodes the string whose quote is at w->at to w->string. */
static int read_string(struct reading *w) {
        size_t start = w->at++;

        w->string.length = 0;
        strbuf_add(&w->string, "");
        for (;;) {
                size_t from = w->at;

                while (w->at < w->n && w->text[w->at] >= ' ' && w->text[w->at] < 0x7f &&
                       w->text[w->at] != '"' && w->text[w->at] != '\\')
                        w->at++;
                strbuf_add_bytes(&w->string, w->text + from, w->at - from);
                if (w->at == w->n)
                        return stop(w, w->n, "it ends too early: a \" is missing");
                if (is_at(w, '"'))
                        break;
                if (!is_at(w, '\\')) {
                        read_character(w);
                        continue;
                }
                w->at++;
                read_escape(w, start);
        }
        w->at++;
        return w->string.has_failed ? -ENOMEM : 0;
}

/* -------------------------------------------------------------------- values */

/* Hangs a value into its object or array, or makes it the root.  Takes both over. */
static int hang(struct reading *w, struct json_value *parent, struct json_value *v, char *key) {
        if (!v || (parent && ARRAY_GROW(parent->items, parent->n) < 0)) {
                json_free(v);
                free(key);
                return -ENOMEM;
        }
        v->key = key;
        if (parent)
                parent->items[parent->n++] = v;
        else
                w->document->root = v;
        return 0;
}

static size_t count_digits(const char *s) {
        return strspn(s, "0123456789");
}

/* JSON_NUMBER or JSON_REAL; JSON_NULL: no number at all. */
static enum json_kind judge_number(const char *text) {
        const char *s = text + (*text == '-');
        size_t n = count_digits(s);
        bool is_whole;

        if (n == 0 || (n > 1 && *s == '0'))
                return JSON_NULL;
        s += n;
        is_whole = !*s;
        if (*s == '.') {
                n = count_digits(++s);
                if (n == 0)
                        return JSON_NULL;
                s += n;
        }
        if (*s == 'e' || *s == 'E') {
                s += 1 + (s[1] == '+' || s[1] == '-');
                n = count_digits(s);
                if (n == 0)
                        return JSON_NULL;
                s += n;
        }
        if (*s)
                return JSON_NULL;
        errno = 0;
        if (*text == '-')
                (void)strtoll(text, NULL, 10);
        else
                (void)strtoull(text, NULL, 10);
        return is_whole && errno == 0 ? JSON_NUMBER : JSON_REAL;
}

/* A string, or a word: null, a bool or a number.  *ret stays NULL for a word that means nothing. */
static int read_scalar(struct reading *w, struct json_value **ret) {
        struct json_value *v;
        size_t start = w->at;
        int r;

        if (is_at(w, '"')) {
                r = read_string(w);
                if (r < 0)
                        return r;
                *ret = json_new(JSON_STRING, w->string.text, w->string.length);
                return *ret ? 0 : -ENOMEM;
        }
        while (w->at < w->n && !(w->text[w->at] && strchr(",:\"[]{} \t\r\n", w->text[w->at])))
                w->at++;
        /* With a word that the end of the text may have cut nothing is begun. */
        if (w->at == start || (w->at == w->n && w->open))
                return stop_here(w, "a value is expected here");
        v = json_new(JSON_NULL, w->text + start, w->at - start);
        if (!v)
                return -ENOMEM;
        if (streq(v->text, "true") || streq(v->text, "false"))
                v->kind = JSON_BOOL;
        else if (!streq(v->text, "null"))
                v->kind = judge_number(v->text);
        if (strlen(v->text) != v->n || (v->kind == JSON_NULL && !streq(v->text, "null"))) {
                note(w, start, "this is no value");
                json_free(v);
                return 0;
        }
        *ret = v;
        return 0;
}

/* Over what is nested too deeply, brackets and strings alone being looked at. */
static int skip_too_deep(struct reading *w) {
        size_t depth = 0;

        note(w, w->at, "too many brackets in one another");
        do {
                char c;

                if (w->at == w->n)
                        return stop_here(w, NULL);
                c = w->text[w->at];
                if (c == '"') {
                        int r = read_string(w);

                        if (r < 0)
                                return r;
                        continue;
                }
                depth += c == '{' || c == '[';
                depth -= c == '}' || c == ']';
                w->at++;
        } while (depth > 0);
        return 0;
}

static int compare_keys(const void *a, const void *b) {
        const struct json_value *x = *(const struct json_value *const *)a,
                                *y = *(const struct json_value *const *)b;
        int c = strcmp(x->key, y->key);

        return c != 0 ? c : x->key_at < y->key_at ? -1 : x->key_at > y->key_at;
}

/* Of equal keys the last one counts, unless two are refused. */
static int judge_keys(struct reading *w, struct json_value *object) {
        _cleanup_free_ struct json_value **sorted = NULL;
        struct json_trouble trouble = {.at = SIZE_MAX, .why = "this key is there twice"};
        size_t n = 0;

        if (object->n < 2)
                return 0;
        sorted = calloc(object->n, sizeof(*sorted));
        if (!sorted)
                return -ENOMEM;
        memcpy(sorted, object->items, object->n * sizeof(*sorted));
        qsort(sorted, object->n, sizeof(*sorted), compare_keys);
        for (size_t i = 1; i < object->n; i++)
                if (streq(sorted[i - 1]->key, sorted[i]->key)) {
                        if (sorted[i]->key_at < trouble.at) {
                                trouble.at = sorted[i]->key_at;
                                trouble.other = sorted[i - 1]->key_at;
                        }
                        free(TAKE_PTR(sorted[i - 1]->key));
                }
        if (trouble.at < SIZE_MAX && (w->how & JSON_CAREFUL) && !w->trouble->why)
                *w->trouble = trouble;
        for (size_t i = 0; i < object->n; i++)
                if (object->items[i]->key)
                        object->items[n++] = object->items[i];
                else
                        json_free(object->items[i]);
        object->n = n;
        return 0;
}

static int read_value(struct reading *w, struct json_value *parent, char *key, size_t key_at, size_t depth);

/* One "key": value. */
static int read_member(struct reading *w, struct json_value *object, size_t depth) {
        size_t key_at = w->at;
        char *key;
        int r;

        if (!is_at(w, '"'))
                return stop_here(w, "a key is expected here");
        w->is_key = true;
        r = read_string(w);
        w->is_key = false;
        if (r < 0)
                return r;
        skip_blank(w);
        if (!is_at(w, ':'))
                return stop_here(w, "a colon is expected here");
        w->at++;
        skip_blank(w);
        key = strdup(w->string.text);
        return key ? read_value(w, object, key, key_at, depth) : -ENOMEM;
}

static int read_items(struct reading *w, struct json_value *v, size_t depth) {
        char outer = w->open, close = v->kind == JSON_OBJECT ? '}' : ']';
        int r;

        w->open = w->text[w->at++];
        skip_blank(w);
        for (bool is_first = true; !is_first || !is_at(w, close); is_first = false) {
                r = v->kind == JSON_OBJECT ? read_member(w, v, depth) : read_value(w, v, NULL, w->at, depth);
                if (r < 0)
                        return r;
                skip_blank(w);
                if (is_at(w, close))
                        break;
                if (!is_at(w, ','))
                        return stop_here(w, "a comma is expected here");
                w->at++;
                skip_blank(w);
        }
        w->at++;
        w->open = outer;
        return v->kind == JSON_OBJECT ? judge_keys(w, v) : 0;
}

/* Takes `key` over; `depth` is the number of brackets around the value. */
static int read_value(struct reading *w, struct json_value *parent, char *key, size_t key_at, size_t depth) {
        bool is_object = is_at(w, '{'), has_items = is_object || is_at(w, '[');
        struct json_value *v = NULL;
        size_t at = w->at;
        int r;

        if (!has_items)
                r = read_scalar(w, &v);
        else if (depth == JSON_DEPTH)
                r = skip_too_deep(w);
        else
                r = (v = json_new(is_object ? JSON_OBJECT : JSON_ARRAY, NULL, 0)) ? 0 : -ENOMEM;
        /* In the place of what was refused, so that its key is known to be there. */
        if (r >= 0 && !v) {
                v = json_new(JSON_NULL, "null", 4);
                has_items = false;
        }
        if (r < 0 || !v) {
                free(key);
                return r < 0 ? r : -ENOMEM;
        }
        v->at = at;
        v->key_at = key_at;
        r = hang(w, parent, v, key);
        return r < 0 || !has_items ? r : read_items(w, v, depth + 1);
}

int json_read(struct json_document *d, const char *text, size_t n, enum json_reading how,
              struct json_trouble *ret_trouble) {
        struct reading w = {.document = d, .text = text, .n = n, .how = how, .trouble = ret_trouble};
        int r;

        *d = (struct json_document){0};
        *ret_trouble = (struct json_trouble){0};
        skip_blank(&w);
        r = read_value(&w, NULL, NULL, w.at, 0);
        skip_blank(&w);
        if (r >= 0 && w.at < n)
                r = stop(&w, w.at, "something follows its end");
        if (r >= 0 && ret_trouble->why)
                r = -EINVAL;
        strbuf_clear(&w.string);
        if (r == -ENOMEM || (r < 0 && !(how & JSON_REPAIRED)))
                json_close(d);
        return r;
}

int json_parse(struct json_document *d, const char *text, size_t n, size_t *ret_line, const char **ret_why) {
        struct json_trouble trouble;
        int r = json_read(d, text, n, JSON_STRICT, &trouble);

        if (r == -EINVAL && ret_why) {
                *ret_why = trouble.why;
                *ret_line = 1;
                for (size_t i = 0; i < trouble.at; i++)
                        *ret_line += text[i] == '\n';
        }
        return r;
}

/* ------------------------------------------------------------------------ places */

struct json_place json_place_of(struct json_cursor *cursor, const char *text, size_t at) {
        struct json_place *place = &cursor->place;

        if (at < cursor->at)
                *cursor = JSON_CURSOR_INIT;
        for (; cursor->at < at && text[cursor->at]; cursor->at++)
                if (text[cursor->at] == '\n')
                        *place = (struct json_place){place->line + 1, 1};
                else
                        place->column += ((unsigned char)text[cursor->at] & 0xc0) != 0x80;
        return *place;
}

static int add_node(struct json_map *m, const struct json_value *v) {
        bool has_items = v->kind == JSON_ARRAY || v->kind == JSON_OBJECT;
        size_t node = m->n;
        int r = ARRAY_GROW(m->nodes, m->n);

        if (r < 0)
                return r;
        m->nodes[m->n++] = (struct json_node){
                .value = v->kind == JSON_NULL ? NULL : v, .key = v->key, .key_at = v->key_at, .at = v->at};
        for (size_t i = 0; has_items && i < v->n && r >= 0; i++)
                r = add_node(m, v->items[i]);
        m->nodes[node].end = m->n;
        return r;
}

int json_map_read(struct json_map *m, const char *text, size_t n, struct json_trouble *ret_trouble) {
        int r;

        *m = (struct json_map){0};
        r = json_read(&m->document, text, n, JSON_CAREFUL, ret_trouble);
        if (r >= 0)
                r = add_node(m, m->document.root);
        if (r < 0)
                json_map_clear(m);
        return r;
}

void json_map_clear(struct json_map *m) {
        free(m->nodes);
        json_close(&m->document);
        *m = (struct json_map){0};
}
