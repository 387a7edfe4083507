/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Growing buffers, string vectors, and making untrusted bytes fit for a terminal
 * or a shell.  No locale and no wide characters: UTF-8 is decoded by hand. */
#include "str.h"

#include <stdarg.h>

bool strbuf_reserve(struct strbuf *b, size_t n) {
        size_t capacity;
        char *text;

        if (b->has_failed)
                return false;
        if (n < b->capacity - b->length)
                return true;
        if (n > SIZE_MAX / 2 - b->length - 64) {
                b->has_failed = true;
                return false;
        }
        capacity = (b->length + n + 64) * 2;
        text = realloc(b->text, capacity);
        if (!text) {
                b->has_failed = true;
                return false;
        }
        b->text = text;
        b->capacity = capacity;
        return true;
}

void strbuf_add_bytes(struct strbuf *b, const char *bytes, size_t n) {
        if (!strbuf_reserve(b, n))
                return;
        if (n > 0)
                memcpy(b->text + b->length, bytes, n);
        b->length += n;
        b->text[b->length] = '\0';
}

void strbuf_add(struct strbuf *b, const char *text) {
        strbuf_add_bytes(b, text, strlen(text));
}

void strbuf_addf(struct strbuf *b, const char *format, ...) {
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(NULL, 0, format, ap);
        va_end(ap);
        if (n < 0) {
                b->has_failed = true;
                return;
        }
        if (!strbuf_reserve(b, (size_t)n))
                return;
        va_start(ap, format);
        (void)vsnprintf(b->text + b->length, (size_t)n + 1, format, ap);
        va_end(ap);
        b->length += (size_t)n;
}

char *strbuf_finish(struct strbuf *b) {
        char *text = NULL;

        strbuf_add_bytes(b, "", 0); /* an empty text is still a text */
        if (!b->has_failed)
                text = TAKE_PTR(b->text);
        strbuf_clear(b);
        return text;
}

void strbuf_clear(struct strbuf *b) {
        free(b->text);
        *b = (struct strbuf){0};
}

void secret_forget(char **text) {
        if (*text)
                explicit_bzero(*text, strlen(*text));
        free(TAKE_PTR(*text));
}

bool str_is_any(const char *s, const char *const *all, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(s, all[i]))
                        return true;
        return false;
}

char *str_format(const char *format, ...) {
        char *text;
        va_list ap;
        int n;

        va_start(ap, format);
        n = vasprintf(&text, format, ap);
        va_end(ap);
        return n < 0 ? NULL : text;
}

char *str_concat(const char *a, const char *b, const char *c) {
        size_t n = strlen(a), m = strlen(b), o = strlen(c);
        char *text = malloc(n + m + o + 1);

        if (!text)
                return NULL;
        memcpy(text, a, n);
        memcpy(text + n, b, m);
        memcpy(text + n + m, c, o + 1);
        return text;
}

void strv_tell(char *const *v, const char *kind) {
        STRV_FOREACH (s, v)
                (void)fprintf(stderr, "nsrun: %s: %s\n", kind, *s);
}

size_t strv_length(char *const *v) {
        size_t n = 0;

        while (v && v[n])
                n++;
        return n;
}

bool strv_contains(char *const *v, const char *s) {
        STRV_FOREACH (item, v)
                if (streq(*item, s))
                        return true;
        return false;
}

int strv_consume(char ***v, char *s) {
        size_t n = strv_length(*v);
        char **grown;

        if (!s)
                return -ENOMEM;
        grown = reallocarray(*v, n + 2, sizeof(*grown));
        if (!grown) {
                free(s);
                return -ENOMEM;
        }
        grown[n] = s;
        grown[n + 1] = NULL;
        *v = grown;
        return 0;
}

int strv_add(char ***v, const char *s) {
        return strv_consume(v, strdup(s));
}

int strv_copy(char *const *v, char ***ret) {
        _cleanup_strv_ char **copy = NULL;
        size_t n = strv_length(v);

        if (n > 0) {
                copy = calloc(n + 1, sizeof(*copy));
                if (!copy)
                        return -ENOMEM;
                for (size_t i = 0; i < n; i++) {
                        copy[i] = strdup(v[i]);
                        if (!copy[i])
                                return -ENOMEM;
                }
        }
        *ret = TAKE_PTR(copy);
        return 0;
}

const char *environment_get(char *const *environment, const char *name) {
        size_t n = strlen(name);

        STRV_FOREACH (entry, environment)
                if (**entry == *name && strncmp(*entry, name, n) == 0 && (*entry)[n] == '=')
                        return *entry + n + 1;
        return NULL;
}

int str_compare(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *str_first_from(const char *const *sorted, size_t n, const char *key,
                           int (*compare)(const char *a, const char *b)) {
        size_t low = 0, high = n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (compare(sorted[middle], key) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < n ? sorted[low] : NULL;
}

void strv_sort(char **v, size_t n) {
        if (n > 0)
                qsort(v, n, sizeof(*v), str_compare);
}

void strv_free(char **v) {
        STRV_FOREACH (item, v)
                free(*item);
        free(v);
}

void strv_freep(char ***v) {
        strv_free(*v);
        *v = NULL;
}

struct range {
        uint32_t first, last;
};

/* What draws nothing, moves what is drawn, or passes for a plain space: C1
 * controls, Unicode's Default_Ignorable_Code_Point, bidirectional controls, the
 * separators, the noncharacters of the BMP.  Sorted. */
static const struct range invisible[] = {
        {0x00, 0x1f},         {0x7f, 0xa0},     {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
        {0x115f, 0x1160},     {0x1680, 0x1680}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},
        {0x2028, 0x202f},     {0x205f, 0x206f}, {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
        {0xd800, 0xdfff},     {0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
        {0xfff0, 0xfffb},     {0xfffe, 0xffff}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
        {0x10fffe, 0x10ffff},
};

static bool is_visible(uint32_t c) {
        for (size_t i = 0; i < ARRAY_SIZE(invisible) && invisible[i].first <= c; i++)
                if (c <= invisible[i].last)
                        return false;
        return c <= 0x10ffff;
}

/* The length of the UTF-8 character at s, or 0 where it is none, is spelled
 * longer than need be, or can't be seen. */
static size_t visible_length(const unsigned char *s) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
        uint32_t c;

        if (n == 0 || s[0] >= 0xf8)
                return 0;
        c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
        for (size_t i = 1; i < n; i++) {
                if ((s[i] & 0xc0) != 0x80) /* the NUL at the end stops it too */
                        return 0;
                c = c << 6 | (s[i] & 0x3fu);
        }
        return c >= least[n] && is_visible(c) ? n : 0;
}

/* A NUL stands behind the bytes. */
static char *make_visible(const char *s, size_t size, const char *as_they_are) {
        _cleanup_strbuf_ struct strbuf b = {0};

        for (const char *end = s + size; s < end;) {
                size_t n = *s && strchr(as_they_are, *s) ? 1 : visible_length((const unsigned char *)s);

                if (n == 0) {
                        strbuf_addf(&b, "\\x%02x", (unsigned)(unsigned char)*s);
                        s++;
                } else {
                        strbuf_add_bytes(&b, s, n);
                        s += n;
                }
        }
        return strbuf_finish(&b);
}

char *str_visible(const char *s) {
        return make_visible(s, strlen(s), "");
}

char *str_visible_text(const char *s) {
        return str_visible_bytes(s, strlen(s));
}

char *str_visible_bytes(const char *bytes, size_t n) {
        return make_visible(bytes, n, "\n\t");
}

bool str_is_pattern(const char *s) {
        return strpbrk(s, "*?[\\");
}

char *str_shell_quote(const char *s) {
        static const char bare[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+:,./-";
        _cleanup_strbuf_ struct strbuf b = {0};
        size_t n = strspn(s, bare);

        /* "--x=y" needs none; "x=y" as a first word would be an assignment. */
        if (s[0] == '-' && s[n] == '=')
                n += 1 + strspn(s + n + 1, bare);
        if (*s && !s[n])
                return strdup(s);

        strbuf_add(&b, "'");
        for (;;) {
                n = strcspn(s, "'");
                strbuf_add_bytes(&b, s, n);
                s += n;
                if (!*s++)
                        break;
                strbuf_add(&b, "'\\''");
        }
        strbuf_add(&b, "'");
        return strbuf_finish(&b);
}

int str_hex_digit(char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

void str_hex(const unsigned char *bytes, size_t n, char *to) {
        for (*to = '\0'; n > 0; n--, to += 2)
                (void)snprintf(to, 3, "%02x", *bytes++);
}

int str_parse_number(const char *s, bool has_suffix, uint64_t *ret) {
        static const char suffixes[] = "KMGT";
        const char *start = s, *suffix = NULL;
        uint64_t n = 0;
        bool is_too_big = false;
        unsigned shift;

        for (; *s >= '0' && *s <= '9'; s++)
                is_too_big |= __builtin_mul_overflow(n, 10, &n) ||
                              __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n);
        if (has_suffix && s > start && *s)
                suffix = strchr(suffixes, *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
        if (s == start || (*s && (!suffix || s[1])))
                return -EINVAL;
        shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
        if (is_too_big || n > (uint64_t)INT64_MAX >> shift)
                return -ERANGE;
        *ret = n << shift;
        return 0;
}
