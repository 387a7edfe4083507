/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The JSON writer over json-c.  With NSRUN_STATIC_JSON_C its functions are
 * linked in; otherwise they are looked up once. */
#include "json.h"

#include <json-c/json_object.h>

#include "dl.h"

/* json-c's functions by the names they have there. */
#define JSON_C_FUNCTIONS(X)               \
        X(json_object_new_object)         \
        X(json_object_new_array)          \
        X(json_object_new_string)         \
        X(json_object_new_int64)          \
        X(json_object_new_boolean)        \
        X(json_object_object_add)         \
        X(json_object_array_add)          \
        X(json_object_to_json_string_ext) \
        X(json_object_put)

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

static void load(void) {
        static const struct dl_symbol symbols[] = {JSON_C_FUNCTIONS(LOOKED_UP)};

        is_loaded = dl_load("libjson-c.so.5", symbols, ARRAY_SIZE(symbols)) == 0;
}

/* NULL where it isn't installed.  Once: two threads may print two plans. */
static const struct json_c *json_c(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        (void)pthread_once(&once, load);
        return is_loaded ? &loaded : NULL;
}

#endif

static struct json_object *to_object(struct json_value *v) {
        return (struct json_object *)(void *)v;
}

/* The length in bytes of the well-formed UTF-8 character at s, 0 where there is
 * none: overlong forms, surrogates and what lies above U+10FFFF included. */
static size_t utf8_length(const unsigned char *s) {
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
static char *clean_utf8(const char *text) {
        char *copy = malloc(3 * strlen(text) + 1);
        char *to = copy;

        if (!copy)
                return NULL;
        while (*text) {
                size_t n = utf8_length((const unsigned char *)text);

                memcpy(to, n > 0 ? text : "\xef\xbf\xbd", n > 0 ? n : 3);
                to += n > 0 ? n : 3;
                text += n > 0 ? n : 1;
        }
        *to = '\0';
        return copy;
}

/* Appends `child` (NULL: null, or a failed allocation when !may_be_null). */
static struct json_value *add(struct json_document *d, struct json_value *parent, const char *key,
                              struct json_object *child, bool may_be_null) {
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
        return add(d, parent, key, json_c()->json_object_new_object_(), false);
}

struct json_value *json_add_array(struct json_document *d, struct json_value *parent, const char *key) {
        if (d->has_failed)
                return NULL;
        return add(d, parent, key, json_c()->json_object_new_array_(), false);
}

void json_add_string(struct json_document *d, struct json_value *parent, const char *key, const char *text) {
        _cleanup_free_ char *clean = NULL;

        if (d->has_failed)
                return;
        if (!text) {
                (void)add(d, parent, key, NULL, true);
                return;
        }
        clean = clean_utf8(text);
        if (!clean) {
                d->has_failed = true;
                return;
        }
        (void)add(d, parent, key, json_c()->json_object_new_string_(clean), false);
}

void json_add_number(struct json_document *d, struct json_value *parent, const char *key, uint64_t number) {
        if (d->has_failed)
                return;
        (void)add(d, parent, key,
                  json_c()->json_object_new_int64_(number > INT64_MAX ? INT64_MAX : (int64_t)number), false);
}

void json_add_bool(struct json_document *d, struct json_value *parent, const char *key, bool value) {
        if (d->has_failed)
                return;
        (void)add(d, parent, key, json_c()->json_object_new_boolean_(value), false);
}

void json_add_strings(struct json_document *d, struct json_value *parent, const char *key,
                      char *const *texts) {
        struct json_value *array = json_add_array(d, parent, key);

        for (; array && texts && *texts; texts++)
                json_add_string(d, array, NULL, *texts);
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
        copy = text ? strdup(text) : NULL;
        if (!copy)
                return error_oom(err);
        *ret = copy;
        return 0;
}

void json_close(struct json_document *d) {
        if (d->root)
                (void)json_c()->json_object_put_(to_object(d->root));
        *d = (struct json_document){0};
}
