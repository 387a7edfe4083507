/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON: the tree, how it is built, printed and asked.  json_read.c reads one. */
#include "json.h"

#include "array.h"
#include "json_value.h"

/* ---------------------------------------------------------------- characters */

size_t json_character(const char *bytes, size_t length) {
        const unsigned char *s = (const unsigned char *)bytes;
        unsigned low = 0x80, high = 0xbf;
        size_t n;

        if (length == 0)
                return 0;
        if (s[0] < 0x80)
                return 1;
        if (s[0] >= 0xc2 && s[0] <= 0xdf) {
                n = 2;
        } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
                n = 3;
                low = s[0] == 0xe0 ? 0xa0 : low;
                high = s[0] == 0xed ? 0x9f : high;
        } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
                n = 4;
                low = s[0] == 0xf0 ? 0x90 : low;
                high = s[0] == 0xf4 ? 0x8f : high;
        } else {
                return 0;
        }
        if (n > length || s[1] < low || s[1] > high)
                return 0;
        for (size_t i = 2; i < n; i++)
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
        return n;
}

size_t json_utf8_length(const char *text) {
        return json_character(text, strnlen(text, 4));
}

/* A copy of which all is UTF-8. */
static char *clean_bytes(const char *bytes, size_t length, size_t *ret_length) {
        struct strbuf b = {0};

        while (length > 0) {
                size_t n = 0, next;

                while ((next = json_character(bytes + n, length - n)) > 0)
                        n += next;
                strbuf_add_bytes(&b, bytes, n);
                if (n < length) {
                        strbuf_add(&b, JSON_REPLACEMENT);
                        n++;
                }
                bytes += n;
                length -= n;
        }
        *ret_length = b.length;
        return strbuf_finish(&b);
}

/* ------------------------------------------------------------------ building */

struct json_value *json_new(enum json_kind kind, const char *text, size_t n) {
        struct json_value *v = n < SIZE_MAX / 2 ? malloc(sizeof(*v) + n + 1) : NULL;

        if (!v)
                return NULL;
        *v = (struct json_value){.kind = kind, .n = n};
        if (n > 0)
                memcpy(v->text, text, n);
        v->text[n] = '\0';
        return v;
}

static bool has_items(const struct json_value *v) {
        return v->kind == JSON_ARRAY || v->kind == JSON_OBJECT;
}

void json_free(struct json_value *v) {
        if (!v)
                return;
        for (size_t i = 0; has_items(v) && i < v->n; i++)
                json_free(v->items[i]);
        free(v->items);
        free(v->index);
        free(v->key);
        free(v);
}

/* Of an object's first n items the places in these, from 1, by their keys' hashes. */
struct json_index {
        size_t n, n_slots; /* a power of two, more than twice n */
        size_t slots[];
};

enum {
        LARGE = 32,
};

/* Whoever writes the keys doesn't know where the object is: no text makes them all fall together. */
static size_t *slot_of_key(const struct json_value *object, const char *key) {
        struct json_index *x = object->index;
        uint64_t hash = (uintptr_t)object;

        for (const char *at = key; *at; at++)
                hash = ((hash ^ (unsigned char)*at) * 0x100000001b3) ^ hash >> 29;
        for (;; hash++) {
                size_t *slot = &x->slots[hash & (x->n_slots - 1)];

                if (*slot == 0 || streq(object->items[*slot - 1]->key, key))
                        return slot;
        }
}

/* Has the index of an object, `object`, be of all its items. */
static bool index_items(struct json_value *object) {
        struct json_index *x = object->index;

        if (!x || 2 * object->n >= x->n_slots) {
                size_t n_slots = x ? x->n_slots : LARGE;

                while (2 * object->n >= n_slots)
                        n_slots *= 2;
                free(x);
                n_slots *= 2;
                x = object->index = calloc(1, sizeof(*x) + n_slots * sizeof(*x->slots));
                if (!x)
                        return false;
                x->n_slots = n_slots;
        }
        for (; x->n < object->n; x->n++)
                *slot_of_key(object, object->items[x->n]->key) = x->n + 1;
        return true;
}

/* The place of a member in an object's items; the last one, where a text that was refused has two. */
static struct json_value **place_of_key(const struct json_value *object, const char *key) {
        struct json_value *all = (struct json_value *)(uintptr_t)object;

        if (json_kind(object) == JSON_OBJECT && object->n >= LARGE && index_items(all)) {
                size_t place = *slot_of_key(object, key);

                return place > 0 ? &all->items[place - 1] : NULL;
        }
        for (size_t i = json_kind(object) == JSON_OBJECT ? object->n : 0; i > 0; i--)
                if (streq(object->items[i - 1]->key, key))
                        return &object->items[i - 1];
        return NULL;
}

/* Takes `v` over, which may be NULL: a failure. */
static struct json_value *add_value(struct json_document *d, struct json_value *parent, const char *key,
                                    struct json_value *v) {
        struct json_value **place = NULL;
        size_t n;

        d->has_failed |= !v || json_kind(parent) != (key ? JSON_OBJECT : JSON_ARRAY);
        if (!d->has_failed && key) {
                v->key = clean_bytes(key, strlen(key), &n);
                d->has_failed = !v->key;
                d->is_other |= n != strlen(key);
                place = v->key ? place_of_key(parent, v->key) : NULL;
        }
        if (!d->has_failed && !place) {
                d->has_failed = ARRAY_GROW(parent->items, parent->n) < 0;
                if (!d->has_failed)
                        parent->items[parent->n++] = v;
        } else if (!d->has_failed) {
                json_free(*place);
                *place = v;
        }
        if (!d->has_failed)
                return v;
        json_free(v);
        return NULL;
}

static struct json_value *add_new(struct json_document *d, struct json_value *parent, const char *key,
                                  enum json_kind kind, const char *text, size_t n) {
        return d->has_failed ? NULL : add_value(d, parent, key, json_new(kind, text, n));
}

struct json_document json_begin(void) {
        struct json_value *root = json_new(JSON_OBJECT, NULL, 0);

        return (struct json_document){.root = root, .has_failed = !root};
}

struct json_value *json_add_object(struct json_document *d, struct json_value *parent, const char *key) {
        return add_new(d, parent, key, JSON_OBJECT, NULL, 0);
}

struct json_value *json_add_array(struct json_document *d, struct json_value *parent, const char *key) {
        return add_new(d, parent, key, JSON_ARRAY, NULL, 0);
}

void json_add_bytes(struct json_document *d, struct json_value *parent, const char *key, const char *bytes,
                    size_t n) {
        size_t length = n;
        _cleanup_free_ char *clean = d->has_failed ? NULL : clean_bytes(bytes, n, &length);

        d->has_failed |= !clean;
        d->is_other |= length != n;
        (void)add_new(d, parent, key, JSON_STRING, clean, length);
}

void json_add_string(struct json_document *d, struct json_value *parent, const char *key, const char *text) {
        if (text)
                json_add_bytes(d, parent, key, text, strlen(text));
        else
                (void)add_new(d, parent, key, JSON_NULL, "null", 4);
}

void json_add_number(struct json_document *d, struct json_value *parent, const char *key, uint64_t number) {
        char text[24];

        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
        (void)add_new(d, parent, key, JSON_NUMBER, text, strlen(text));
}

void json_add_bool(struct json_document *d, struct json_value *parent, const char *key, bool value) {
        (void)add_new(d, parent, key, JSON_BOOL, value ? "true" : "false", value ? 4 : 5);
}

void json_add_strings(struct json_document *d, struct json_value *parent, const char *key,
                      char *const *texts) {
        struct json_value *array = json_add_array(d, parent, key);

        for (; array && texts && *texts; texts++)
                json_add_string(d, array, NULL, *texts);
}

void json_add_json(struct json_document *d, struct json_value *parent, const char *key, const char *text) {
        _cleanup_json_ struct json_document part = {0};
        struct json_trouble trouble;

        if (d->has_failed)
                return;
        d->has_failed = json_read(&part, text, strlen(text), JSON_REPAIRED, &trouble) < 0;
        if (!d->has_failed)
                (void)add_value(d, parent, key, TAKE_PTR(part.root));
}

void json_close(struct json_document *d) {
        json_free(d->root);
        *d = (struct json_document){0};
}

/* ------------------------------------------------------------------ printing */

/* What a terminal may obey: the controls, DEL, the C1 controls (U+0080 to U+009F, CSI among them) and the
 * marks that turn the direction of a line.  0 where s, which is UTF-8, begins with none, else its length and
 * *ret_code. */
static size_t terminal_control(const char *text, unsigned *ret_code) {
        const unsigned char *s = (const unsigned char *)text;
        unsigned code;
        bool turns;

        if (s[0] < ' ' || s[0] == 0x7f) {
                *ret_code = s[0];
                return 1;
        }
        if (s[0] == 0xc2 && s[1] <= 0x9f) {
                *ret_code = s[1];
                return 2;
        }
        if (s[0] == 0xd8 && s[1] == 0x9c) {
                *ret_code = 0x61c;
                return 2;
        }
        if (s[0] != 0xe2 || (s[1] != 0x80 && s[1] != 0x81))
                return 0;
        code = 0x2000U | (s[1] & 0x3fU) << 6 | (s[2] & 0x3fU);
        turns = code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
                (code >= 0x2066 && code <= 0x2069);
        if (!turns)
                return 0;
        *ret_code = code;
        return 3;
}

static void print_string(struct strbuf *b, const char *text, size_t length) {
        static const char meanings[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
        const char *start = text, *end = text + length;
        char escape[] = "\\?";

        strbuf_add(b, "\"");
        while (text < end) {
                const char *known = *text ? strchr(meanings, *text) : NULL;
                unsigned code = 0;
                size_t n = known ? 1 : terminal_control(text, &code);

                if (n == 0) {
                        text++;
                        continue;
                }
                strbuf_add_bytes(b, start, (size_t)(text - start));
                if (known) {
                        escape[1] = escapes[known - meanings];
                        strbuf_add(b, escape);
                } else
                        strbuf_addf(b, "\\u%04x", code);
                text += n;
                start = text;
        }
        strbuf_add_bytes(b, start, (size_t)(end - start));
        strbuf_add(b, "\"");
}

/* How a value is laid out. */
struct json_style {
        const char *colon, *comma;
        size_t indent; /* of a line more for each depth; 0: all is one line */
        size_t width;  /* what has at most as many bytes stands on one line, the root never */
};

static void print_value(struct strbuf *b, const struct json_value *v, const struct json_style *style,
                        size_t depth);

/* The items of an array or an object: on lines of their own, or behind one another. */
static void print_items(struct strbuf *b, const struct json_value *v, const struct json_style *style,
                        size_t depth) {
        int indent = (int)(style->indent * depth);

        strbuf_add(b, v->kind == JSON_ARRAY ? "[" : "{");
        for (size_t i = 0; i < v->n; i++) {
                if (style->indent > 0)
                        strbuf_addf(b, "%s\n%*s", i > 0 ? "," : "", indent + (int)style->indent, "");
                else
                        strbuf_add(b, i > 0 ? style->comma : "");
                print_value(b, v->items[i], style, depth + 1);
        }
        if (style->indent > 0 && v->n > 0)
                strbuf_addf(b, "\n%*s", indent, "");
        strbuf_add(b, v->kind == JSON_ARRAY ? "]" : "}");
}

/* With its key. */
static void print_value(struct strbuf *b, const struct json_value *v, const struct json_style *style,
                        size_t depth) {
        const struct json_style line = {.colon = style->colon, .comma = style->comma};
        size_t start = b->length, used;

        if (v->key) {
                print_string(b, v->key, strlen(v->key));
                strbuf_add(b, style->colon);
        }
        if (v->kind == JSON_STRING) {
                print_string(b, v->text, v->n);
        } else if (!has_items(v)) {
                strbuf_add(b, v->text);
        } else if (style->width > 0 && depth > 0) {
                used = b->length;
                print_items(b, v, &line, depth);
                if (style->indent * depth + b->length - start <= style->width || b->has_failed)
                        return;
                b->length = used;
                print_items(b, v, style, depth);
        } else {
                print_items(b, v, style, depth);
        }
}

static const struct json_style one_line = {.colon = ":", .comma = ","};

static int print_document(const struct json_document *d, const struct json_style *style, const char *end,
                          char **ret, struct nsrun_error *err) {
        struct strbuf b = {0};
        char *text;

        if (d->has_failed)
                return error_oom(err);
        print_value(&b, d->root, style, 0);
        strbuf_add(&b, end);
        text = strbuf_finish(&b);
        if (!text)
                return error_oom(err);
        *ret = text;
        return 0;
}

int json_finish(struct json_document *d, bool is_indented, char **ret, struct nsrun_error *err) {
        static const struct json_style indented = {.colon = ": ", .indent = 2};

        return print_document(d, is_indented ? &indented : &one_line, "", ret, err);
}

char *json_line(struct json_document *d) {
        char *text = NULL;

        return json_finish(d, false, &text, NULL) < 0 ? NULL : text;
}

int json_lay_out(struct json_document *d, char **ret, struct nsrun_error *err) {
        static const struct json_style style = {
                .colon = ": ", .comma = ", ", .indent = 4, .width = JSON_WIDTH};

        return print_document(d, &style, "\n", ret, err);
}

char *json_spell(const struct json_value *v) {
        struct strbuf b = {0};

        if (!v)
                return strdup("null");
        if (has_items(v))
                print_items(&b, v, &one_line, 0);
        else if (v->kind == JSON_STRING)
                print_string(&b, v->text, v->n);
        else
                strbuf_add(&b, v->text);
        return strbuf_finish(&b);
}

/* -------------------------------------------------------------------- asking */

enum json_kind json_kind(const struct json_value *v) {
        return v ? v->kind : JSON_NULL;
}

struct json_value *json_get(const struct json_value *object, const char *key) {
        struct json_value **found = place_of_key(object, key);

        return found && (*found)->kind != JSON_NULL ? *found : NULL;
}

bool json_has(const struct json_value *object, const char *key) {
        return place_of_key(object, key) != NULL;
}

size_t json_length(const struct json_value *array) {
        return json_kind(array) == JSON_ARRAY ? array->n : 0;
}

struct json_value *json_at(const struct json_value *array, size_t i) {
        return i < json_length(array) && array->items[i]->kind != JSON_NULL ? array->items[i] : NULL;
}

const char *json_text(const struct json_value *v) {
        return json_kind(v) == JSON_STRING && strlen(v->text) == v->n ? v->text : NULL;
}

bool json_array_has(const struct json_value *array, const char *text) {
        for (size_t i = 0; i < json_length(array); i++) {
                const char *item = json_text(json_at(array, i));

                if (item && streq(item, text))
                        return true;
        }
        return false;
}

bool json_number(const struct json_value *v, uint64_t *ret) {
        /* The one with a sign is -0. */
        if (json_kind(v) != JSON_NUMBER || (v->text[0] == '-' && !streq(v->text, "-0")))
                return false;
        *ret = strtoull(v->text, NULL, 10);
        return true;
}

bool json_is_true(const struct json_value *v) {
        return json_kind(v) == JSON_BOOL && v->text[0] == 't';
}

const char *json_unknown_key(const struct json_value *object, const char *const *allowed, size_t n) {
        for (size_t k = 0; json_kind(object) == JSON_OBJECT && k < object->n; k++) {
                size_t i;

                for (i = 0; i < n && !streq(allowed[i], object->items[k]->key); i++)
                        ;
                if (i == n)
                        return object->items[k]->key;
        }
        return NULL;
}
