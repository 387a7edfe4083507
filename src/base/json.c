/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON over json-c.  With NSRUN_STATIC_JSON_C its functions are linked in;
 * otherwise they are looked up once. */
#include "json.h"

#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <json-c/linkhash.h>

#include "dl.h"
#include "str.h"

/* The functions of json-c that this file calls, under json-c's names. */
#define JSON_C_FUNCTIONS(X)               \
        X(json_object_new_object)         \
        X(json_object_new_array)          \
        X(json_object_new_string_len)     \
        X(json_object_new_uint64)         \
        X(json_object_new_boolean)        \
        X(json_object_object_add)         \
        X(json_object_array_add)          \
        X(json_object_to_json_string_ext) \
        X(json_object_put)                \
        X(json_object_get_type)           \
        X(json_object_get_object)         \
        X(json_object_object_get_ex)      \
        X(json_object_array_length)       \
        X(json_object_array_get_idx)      \
        X(json_object_get_string)         \
        X(json_object_get_string_len)     \
        X(json_object_get_int64)          \
        X(json_object_get_boolean)        \
        X(json_object_get_uint64)         \
        X(json_tokener_new_ex)            \
        X(json_tokener_free)              \
        X(json_tokener_set_flags)         \
        X(json_tokener_parse_ex)          \
        X(json_tokener_get_error)         \
        X(json_tokener_get_parse_end)     \
        X(json_tokener_error_desc)

#define DECLARE_POINTER(name) __typeof__(&name) name##_;
#define LINKED(name)          .name##_ = name,
#define LOOKED_UP(name)       {#name, &loaded.name##_},

struct json_c {
        JSON_C_FUNCTIONS(DECLARE_POINTER)
};

#ifdef NSRUN_STATIC_JSON_C

static const struct json_c *json_c(void) {
        static const struct json_c linked = {JSON_C_FUNCTIONS(LINKED)};

        return &linked;
}

#else

#include <pthread.h>

DL_NOTE(json_c_note, "json", "plans and status as JSON", "recommended", "libjson-c.so.5");

static struct json_c loaded;
static bool is_loaded;

static void json_load(void) {
        static const struct dl_symbol symbols[] = {JSON_C_FUNCTIONS(LOOKED_UP)};

        is_loaded = dl_load("libjson-c.so.5", symbols, ARRAY_SIZE(symbols)) == 0;
}

/* The table of json-c's functions, loaded once for all threads; NULL where json-c isn't installed. */
static const struct json_c *json_c(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        (void)pthread_once(&once, json_load);
        return is_loaded ? &loaded : NULL;
}

#endif

static struct json_object *to_object(struct json_value *v) {
        return (struct json_object *)(void *)v;
}

size_t json_utf8_length(const char *text) {
        const unsigned char *s = (const unsigned char *)text;
        unsigned low = 0x80, high = 0xbf;
        size_t n;

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
        if (s[1] < low || s[1] > high)
                return 0;
        for (size_t i = 2; i < n; i++)
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
        return n;
}

/* A copy with each stray byte replaced by U+FFFD. */
static char *clean_bytes(const char *text, size_t length, size_t *ret_length) {
        char *copy = malloc(3 * length + 1);
        char *to = copy;

        if (!copy)
                return NULL;
        for (const char *end = text + length; text < end;) {
                /* The NUL behind the text ends a character that is cut off. */
                size_t n = json_utf8_length(text);

                memcpy(to, n > 0 ? text : "\xef\xbf\xbd", n > 0 ? n : 3);
                to += n > 0 ? n : 3;
                text += n > 0 ? n : 1;
        }
        *to = '\0';
        *ret_length = (size_t)(to - copy);
        return copy;
}

static char *clean_utf8(const char *text) {
        size_t n;

        return clean_bytes(text, strlen(text), &n);
}

/* Appends `child` (NULL: null, or a failed allocation when !may_be_null). */
static struct json_value *json_add_member(struct json_document *d, struct json_value *parent,
                                          const char *key, struct json_object *child, bool may_be_null) {
        const struct json_c *c = json_c();
        _cleanup_free_ char *clean = key ? clean_utf8(key) : NULL;
        int r = -1;

        if (!child && !may_be_null) {
                d->has_failed = true;
                return NULL;
        }
        if (!key)
                r = c->json_object_array_add_(to_object(parent), child);
        else if (clean)
                r = c->json_object_object_add_(to_object(parent), clean, child);
        if (r < 0) {
                c->json_object_put_(child);
                d->has_failed = true;
                return NULL;
        }
        return (struct json_value *)(void *)child;
}

int json_open(struct json_document *d, struct nsrun_error *err) {
        const struct json_c *c = json_c();
        struct json_object *root;

        if (!c)
                return error_set(err, NSRUN_STAGE_PLAN, -EOPNOTSUPP, "libjson-c.so.5",
                                 "the JSON library can't be loaded", "install json-c (Debian: libjson-c5)");
        root = c->json_object_new_object_();
        if (!root)
                return error_oom(err);
        *d = (struct json_document){.root = (struct json_value *)(void *)root};
        return 0;
}

struct json_value *json_add_object(struct json_document *d, struct json_value *parent, const char *key) {
        if (d->has_failed)
                return NULL;
        return json_add_member(d, parent, key, json_c()->json_object_new_object_(), false);
}

struct json_value *json_add_array(struct json_document *d, struct json_value *parent, const char *key) {
        if (d->has_failed)
                return NULL;
        return json_add_member(d, parent, key, json_c()->json_object_new_array_(), false);
}

void json_add_bytes(struct json_document *d, struct json_value *parent, const char *key, const char *bytes,
                    size_t n) {
        _cleanup_free_ char *clean = NULL;

        if (d->has_failed)
                return;
        clean = clean_bytes(bytes, n, &n);
        if (!clean || n > INT32_MAX) {
                d->has_failed = true;
                return;
        }
        (void)json_add_member(d, parent, key, json_c()->json_object_new_string_len_(clean, (int)n), false);
}

void json_add_string(struct json_document *d, struct json_value *parent, const char *key, const char *text) {
        if (text)
                json_add_bytes(d, parent, key, text, strlen(text));
        else if (!d->has_failed)
                (void)json_add_member(d, parent, key, NULL, true);
}

void json_add_number(struct json_document *d, struct json_value *parent, const char *key, uint64_t number) {
        if (d->has_failed)
                return;
        (void)json_add_member(d, parent, key, json_c()->json_object_new_uint64_(number), false);
}

void json_add_bool(struct json_document *d, struct json_value *parent, const char *key, bool value) {
        if (d->has_failed)
                return;
        (void)json_add_member(d, parent, key, json_c()->json_object_new_boolean_(value), false);
}

void json_add_strings(struct json_document *d, struct json_value *parent, const char *key,
                      char *const *texts) {
        struct json_value *array = json_add_array(d, parent, key);

        for (; array && texts && *texts; texts++)
                json_add_string(d, array, NULL, *texts);
}

/* json-c's readers take what they don't change without const. */
static struct json_object *object_of(const struct json_value *v) {
        struct json_object *object;

        memcpy(&object, &v, sizeof(object));
        return object;
}

/* What json-c leaves as it is and a terminal may obey: DEL, the C1 controls (U+0080 to U+009F, CSI
 * among them) and the marks that turn the direction of a line.  0 where s begins with none,
 * else its length and *ret_code. */
static size_t terminal_control(const char *text, unsigned *ret_code) {
        const unsigned char *s = (const unsigned char *)text;
        unsigned code;
        bool turns;

        if (s[0] == 0x7f) {
                *ret_code = 0x7f;
                return 1;
        }
        if (s[0] == 0xc2 && s[1] <= 0x9f) {
                *ret_code = s[1];
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

/* A copy of a JSON text with every such control escaped. All of them stand inside strings, since JSON has
 * none elsewhere. */
static char *escape_controls(const char *text) {
        _cleanup_strbuf_ struct strbuf b = {0};

        while (*text) {
                const char *start = text;
                unsigned code = 0;
                size_t n = 0;

                while (*text && (n = terminal_control(text, &code)) == 0)
                        text++;
                strbuf_add_bytes(&b, start, (size_t)(text - start));
                if (n > 0)
                        strbuf_addf(&b, "\\u%04x", code);
                text += n;
        }
        return strbuf_finish(&b);
}

int json_finish(struct json_document *d, bool is_indented, char **ret, struct nsrun_error *err) {
        int flags =
                JSON_C_TO_STRING_NOSLASHESCAPE |
                (is_indented ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : JSON_C_TO_STRING_PLAIN);
        const char *text;
        char *copy;

        if (d->has_failed)
                return error_oom(err);
        text = json_c()->json_object_to_json_string_ext_(to_object(d->root), flags);
        copy = text ? escape_controls(text) : NULL;
        if (!copy)
                return error_oom(err);
        *ret = copy;
        return 0;
}

char *json_spell(const struct json_value *v) {
        const char *text;

        if (!v)
                return strdup("null");
        text = json_c()->json_object_to_json_string_ext_(object_of(v), JSON_C_TO_STRING_NOSLASHESCAPE |
                                                                               JSON_C_TO_STRING_PLAIN);
        return text ? escape_controls(text) : NULL;
}

void json_add_json(struct json_document *d, struct json_value *parent, const char *key, const char *text) {
        _cleanup_free_ char *ended = str_concat(text, " ", ""); /* else json-c waits for a number's end */
        struct json_document part = {0};
        const char *why;
        size_t at;

        if (d->has_failed)
                return;
        if (!ended || json_parse_at(&part, ended, strlen(ended), &at, &why) < 0) {
                d->has_failed = true;
                return;
        }
        (void)json_add_member(d, parent, key, to_object(part.root), false);
}

void json_close(struct json_document *d) {
        if (d->root)
                (void)json_c()->json_object_put_(to_object(d->root));
        *d = (struct json_document){0};
}

/* ----------------------------------------------------------------- reading */

#define MAX_DEPTH 16

static const struct json_object *read_object(const struct json_value *v) {
        return (const struct json_object *)(const void *)v;
}

static size_t line_of(const char *text, size_t at) {
        size_t line = 1;

        for (size_t i = 0; i < at; i++)
                line += text[i] == '\n';
        return line;
}

static bool json_is_blank(const char *text, size_t from, size_t n) {
        for (; from < n; from++)
                if (!strchr(" \t\r\n", text[from]) || text[from] == '\0')
                        return false;
        return true;
}

/* What is missing at the end of a text that ends too early: the innermost bracket that is open, or the
 * quote.
 */
static const char *json_lack(const char *text, size_t n) {
        char open[MAX_DEPTH + 1];
        bool is_string = false;
        size_t depth = 0;

        for (size_t i = 0; i < n; i++) {
                if (is_string && text[i] == '\\') {
                        i++;
                } else if (is_string) {
                        is_string = text[i] != '"';
                } else if (text[i] == '"') {
                        is_string = true;
                } else if (strchr("{[", text[i]) && text[i] && depth < sizeof(open)) {
                        open[depth++] = text[i];
                } else if (strchr("}]", text[i]) && text[i] && depth > 0) {
                        depth--;
                }
        }
        if (is_string)
                return "it ends too early: a \" is missing";
        if (depth > 0)
                return open[depth - 1] == '{' ? "it ends too early: a } is missing"
                                              : "it ends too early: a ] is missing";
        return json_is_blank(text, 0, n) ? "it is empty" : "it ends too early";
}

int json_parse_at(struct json_document *d, const char *text, size_t n, size_t *ret_at,
                  const char **ret_why) {
        const struct json_c *c = json_c();
        enum json_tokener_error error;
        struct json_tokener *tokener;
        struct json_object *root;
        size_t end;

        if (!c)
                return -EOPNOTSUPP;
        if (n > INT32_MAX - 1)
                return -E2BIG;
        tokener = c->json_tokener_new_ex_(MAX_DEPTH);
        if (!tokener)
                return -ENOMEM;
        c->json_tokener_set_flags_(tokener, JSON_TOKENER_STRICT);
        root = c->json_tokener_parse_ex_(tokener, text, (int)n);
        error = c->json_tokener_get_error_(tokener);
        end = c->json_tokener_get_parse_end_(tokener);
        c->json_tokener_free_(tokener);
        if (error == json_tokener_success && json_is_blank(text, end, n) && root) {
                *d = (struct json_document){.root = (struct json_value *)(void *)root};
                return 0;
        }
        (void)c->json_object_put_(root);
        *ret_at = end < n ? end : n;
        if (error == json_tokener_continue)
                *ret_why = json_lack(text, n);
        else if (error == json_tokener_success)
                *ret_why = "something follows its end";
        else
                *ret_why = c->json_tokener_error_desc_(error);
        return -EINVAL;
}

int json_parse(struct json_document *d, const char *text, size_t n, size_t *ret_line, const char **ret_why) {
        size_t at;
        int r = json_parse_at(d, text, n, &at, ret_why);

        if (r == -EINVAL)
                *ret_line = line_of(text, at);
        return r;
}

enum json_kind json_kind(const struct json_value *v) {
        switch (v ? json_c()->json_object_get_type_(read_object(v)) : json_type_null) {
        case json_type_null:
                return JSON_NULL;
        case json_type_boolean:
                return JSON_BOOL;
        case json_type_int:
                return JSON_NUMBER;
        case json_type_double:
                return JSON_REAL;
        case json_type_string:
                return JSON_STRING;
        case json_type_array:
                return JSON_ARRAY;
        case json_type_object:
                return JSON_OBJECT;
        }
        return JSON_NULL;
}

struct json_value *json_get(const struct json_value *object, const char *key) {
        struct json_object *found = NULL;

        if (json_kind(object) != JSON_OBJECT ||
            !json_c()->json_object_object_get_ex_(read_object(object), key, &found))
                return NULL;
        return (struct json_value *)(void *)found;
}

bool json_has(const struct json_value *object, const char *key) {
        struct json_object *found = NULL;

        return json_kind(object) == JSON_OBJECT &&
               json_c()->json_object_object_get_ex_(read_object(object), key, &found);
}

size_t json_length(const struct json_value *array) {
        return json_kind(array) == JSON_ARRAY ? json_c()->json_object_array_length_(read_object(array)) : 0;
}

struct json_value *json_at(const struct json_value *array, size_t i) {
        return (struct json_value *)(void *)json_c()->json_object_array_get_idx_(read_object(array), i);
}

const char *json_text(const struct json_value *v) {
        const char *text;

        if (json_kind(v) != JSON_STRING)
                return NULL;
        text = json_c()->json_object_get_string_(object_of(v));
        return strlen(text) == (size_t)json_c()->json_object_get_string_len_(read_object(v)) ? text : NULL;
}

bool json_number(const struct json_value *v, uint64_t *ret) {
        int64_t number;

        if (json_kind(v) != JSON_NUMBER)
                return false;
        number = json_c()->json_object_get_int64_(read_object(v));
        if (number < 0)
                return false;
        *ret = number == INT64_MAX ? json_c()->json_object_get_uint64_(read_object(v)) : (uint64_t)number;
        return true;
}

bool json_is_true(const struct json_value *v) {
        return json_kind(v) == JSON_BOOL && json_c()->json_object_get_boolean_(read_object(v));
}

const char *json_unknown_key(const struct json_value *object, const char *const *allowed, size_t n) {
        const struct lh_entry *entry;

        if (json_kind(object) != JSON_OBJECT)
                return NULL;
        for (entry = json_c()->json_object_get_object_(read_object(object))->head; entry;
             entry = entry->next) {
                size_t i;

                for (i = 0; i < n && !streq(allowed[i], (const char *)entry->k); i++)
                        ;
                if (i == n)
                        return (const char *)entry->k;
        }
        return NULL;
}
