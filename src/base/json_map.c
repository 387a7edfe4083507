/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A second walk over a text that json-c took: it notes where everything stands.
 * Whatever this walk and json-c don't agree on is refused. */
#include "json_map.h"

#include "array.h"
#include "str.h"

/* json-c itself stops at 16. */
#define MAX_DEPTH 16

struct walk {
        struct json_map *map;
        const char *text;
        size_t at;
        struct json_trouble *trouble;
};

static int no_json(struct walk *w, size_t at, const char *why) {
        *w->trouble = (struct json_trouble){.at = at, .why = why};
        return -EINVAL;
}

static void skip_blank(struct walk *w) {
        w->at += strspn(w->text + w->at, " \t\r\n");
}

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

/* The index of a new node, or -ENOMEM. */
static ssize_t add_node(struct json_map *m, char *key, size_t key_at, size_t at) {
        if (ARRAY_GROW(m->nodes, m->n) < 0) {
                free(key);
                return -ENOMEM;
        }
        m->nodes[m->n] = (struct json_node){.key = key, .key_at = key_at, .at = at, .end = m->n + 1};
        return (ssize_t)m->n++;
}

static bool read_hex(const char *s, unsigned *ret) {
        unsigned code = 0;

        for (int i = 0; i < 4; i++) {
                char c = s[i];

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
        char bytes[4];
        size_t n;

        if (code < 0x80) {
                bytes[0] = (char)code;
                n = 1;
        } else if (code < 0x800) {
                bytes[0] = (char)(0xc0 | code >> 6);
                bytes[1] = (char)(0x80 | (code & 0x3f));
                n = 2;
        } else if (code < 0x10000) {
                bytes[0] = (char)(0xe0 | code >> 12);
                bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
                bytes[2] = (char)(0x80 | (code & 0x3f));
                n = 3;
        } else {
                bytes[0] = (char)(0xf0 | code >> 18);
                bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
                bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
                bytes[3] = (char)(0x80 | (code & 0x3f));
                n = 4;
        }
        strbuf_add_bytes(b, bytes, n);
}

/* Decodes \uXXXX, or the two of a surrogate pair, to UTF-8; w->at is behind the 'u'. False for \u0000 and
 * for half a pair. */
static bool read_code(struct walk *w, struct strbuf *b) {
        unsigned code, low;

        if (!read_hex(w->text + w->at, &code) || code == 0 || (code >= 0xdc00 && code <= 0xdfff))
                return false;
        w->at += 4;
        if (code >= 0xd800 && code <= 0xdbff) {
                if (w->text[w->at] != '\\' || w->text[w->at + 1] != 'u' ||
                    !read_hex(w->text + w->at + 2, &low) || low < 0xdc00 || low > 0xdfff)
                        return false;
                w->at += 6;
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        add_utf8(b, code);
        return true;
}

/* The key at w->at, decoded. */
static int read_key(struct walk *w, char **ret) {
        static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        _cleanup_strbuf_ struct strbuf b = {0};
        size_t start = w->at;

        if (w->text[w->at] != '"')
                return no_json(w, w->at, "a key is expected here");
        strbuf_add(&b, "");
        for (w->at++; w->text[w->at] != '"';) {
                const char *known;

                if ((unsigned char)w->text[w->at] < ' ')
                        return no_json(w, w->at, "a control character in a key");
                if (w->text[w->at] != '\\') {
                        strbuf_add_bytes(&b, w->text + w->at++, 1);
                        continue;
                }
                w->at++;
                known = w->text[w->at] ? strchr(escapes, w->text[w->at]) : NULL;
                if (known)
                        strbuf_add_bytes(&b, &meanings[known - escapes], 1);
                if (known || w->text[w->at] == 'u')
                        w->at++;
                if (!known && (w->text[w->at - 1] != 'u' || !read_code(w, &b)))
                        return no_json(w, start, "an escape in this key stands for no character");
        }
        w->at++;
        *ret = strbuf_finish(&b);
        return *ret ? 0 : -ENOMEM;
}

static int walk_value(struct walk *w, const struct json_value *value, char *key, size_t key_at,
                      unsigned depth);

/* Past a string or a word, which json-c has read. */
static int skip_scalar(struct walk *w) {
        size_t start = w->at;

        if (w->text[w->at] != '"') {
                w->at += strcspn(w->text + w->at, ",]} \t\r\n");
                return w->at > start ? 0 : no_json(w, start, "a value is expected here");
        }
        for (w->at++; w->text[w->at] && w->text[w->at] != '"';) {
                _cleanup_strbuf_ struct strbuf ignored = {0};
                bool is_escape = w->text[w->at] == '\\' && w->text[w->at + 1];
                bool is_code = is_escape && w->text[w->at + 1] == 'u';

                w->at += is_escape ? 2 : 1;
                /* For half a surrogate pair json-c would give U+FFFD, a character that nobody wrote:
                 * refused. */
                if (is_code && !read_code(w, &ignored))
                        return no_json(w, start, "an escape in this string stands for no character");
        }
        if (!w->text[w->at])
                return no_json(w, start, "this string has no end");
        w->at++;
        return 0;
}

/* One "key": value. */
static int walk_member(struct walk *w, const struct json_value *object, unsigned depth) {
        const struct json_value *value;
        size_t key_at = w->at;
        char *key = NULL;
        int r;

        r = read_key(w, &key);
        if (r < 0)
                return r;
        skip_blank(w);
        if (w->text[w->at] != ':') {
                free(key);
                return no_json(w, w->at, "a colon is expected here");
        }
        w->at++;
        skip_blank(w);
        value = json_get(object, key);
        if (!value && !startswith(w->text + w->at, "null")) {
                free(key);
                return no_json(w, key_at, "this key can't be read");
        }
        return walk_value(w, value, key, key_at, depth);
}

static int walk_items(struct walk *w, const struct json_value *value, char close, unsigned depth) {
        size_t i = 0;
        int r;

        if (depth >= MAX_DEPTH)
                return no_json(w, w->at, "too deep");
        w->at++;
        skip_blank(w);
        if (w->text[w->at] == close) {
                w->at++;
                return 0;
        }
        for (;; i++) {
                if (close == '}')
                        r = walk_member(w, value, depth + 1);
                else if (i < json_length(value))
                        r = walk_value(w, json_at(value, i), NULL, w->at, depth + 1);
                else
                        r = no_json(w, w->at, "an item too many");
                if (r < 0)
                        return r;
                skip_blank(w);
                if (w->text[w->at] == close) {
                        w->at++;
                        return 0;
                }
                if (w->text[w->at] != ',')
                        return no_json(w, w->at, "a comma is expected here");
                w->at++;
                skip_blank(w);
        }
}

static int compare_keys(const void *a, const void *b) {
        const struct json_node *x = *(const struct json_node *const *)a,
                               *y = *(const struct json_node *const *)b;
        int c = strcmp(x->key, y->key);

        return c != 0 ? c : x->key_at < y->key_at ? -1 : x->key_at > y->key_at;
}

/* Refuses an object in which a key stands twice: json-c would take the last of the two. */
static int refuse_repeated(struct walk *w, size_t object) {
        const struct json_node *nodes = w->map->nodes;
        _cleanup_free_ const struct json_node **sorted = NULL;
        size_t n = 0, found = SIZE_MAX, first = 0;

        for (size_t i = object + 1; i < nodes[object].end; i = nodes[i].end)
                n++;
        if (n < 2)
                return 0;
        sorted = calloc(n, sizeof(*sorted));
        if (!sorted)
                return -ENOMEM;
        n = 0;
        for (size_t i = object + 1; i < nodes[object].end; i = nodes[i].end)
                sorted[n++] = &nodes[i];
        qsort(sorted, n, sizeof(*sorted), compare_keys);
        for (size_t i = 1; i < n; i++)
                if (streq(sorted[i - 1]->key, sorted[i]->key) && sorted[i]->key_at < found) {
                        found = sorted[i]->key_at;
                        first = sorted[i - 1]->key_at;
                }
        if (found == SIZE_MAX)
                return 0;
        *w->trouble = (struct json_trouble){.at = found, .other = first, .why = "this key is there twice"};
        return -EINVAL;
}

/* Takes `key` over. */
static int walk_value(struct walk *w, const struct json_value *value, char *key, size_t key_at,
                      unsigned depth) {
        ssize_t node = add_node(w->map, key, key_at, w->at);
        char open = w->text[w->at];
        int r;

        if (node < 0)
                return (int)node;
        if ((open == '{') != (json_kind(value) == JSON_OBJECT) ||
            (open == '[') != (json_kind(value) == JSON_ARRAY))
                return no_json(w, w->at, "this value can't be read");
        w->map->nodes[node].value = value;
        r = open == '{'   ? walk_items(w, value, '}', depth)
            : open == '[' ? walk_items(w, value, ']', depth)
                          : skip_scalar(w);
        w->map->nodes[node].end = w->map->n;
        return r < 0 || open != '{' ? r : refuse_repeated(w, (size_t)node);
}

int json_map_read(struct json_map *m, const char *text, size_t n, struct json_trouble *ret_trouble) {
        struct walk w = {.map = m, .text = text, .trouble = ret_trouble};
        int r;

        *m = (struct json_map){0};
        *ret_trouble = (struct json_trouble){0};
        if (memchr(text, '\0', n))
                return no_json(&w, strlen(text), "a NUL");
        r = json_parse_at(&m->document, text, n, &ret_trouble->at, &ret_trouble->why);
        if (r < 0)
                return r;
        skip_blank(&w);
        r = walk_value(&w, m->document.root, NULL, w.at, 0);
        if (r < 0)
                json_map_clear(m);
        return r;
}

void json_map_clear(struct json_map *m) {
        for (size_t i = 0; i < m->n; i++)
                free(m->nodes[i].key);
        free(m->nodes);
        json_close(&m->document);
        *m = (struct json_map){0};
}
