/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See toolsettings.h.  Here: which values are harmless, the list of entries, and reading the files; the
 * grammars are in the files beside. */
#include "toolsettings.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"

enum {
        FILE_MOST = 256 << 10,
        ENTRIES_MOST = 1000,
        ADDRESS_MOST = 256,
        TOKEN_LEAST = 12,
        WORD_MOST = 24, /* letters of one kind */
};

#define SMALL    "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define LETTERS  SMALL CAPITALS DIGITS

const struct toolsettings_file toolsettings_files[] = {
        {{{"npm_config_userconfig", ""}, {"NPM_CONFIG_USERCONFIG", ""}}, ".npmrc", toolsettings_npm},
        {{{"XDG_CONFIG_HOME", "pip/pip.conf"}}, ".config/pip/pip.conf", toolsettings_pip},
        {{{0}}, ".pip/pip.conf", toolsettings_pip},
};
const size_t n_toolsettings_files = ARRAY_SIZE(toolsettings_files);

/* ------------------------------------------------------------------- values */

/* 1: a small letter, 2: a capital, 3: a digit. */
static int kind_of(char c) {
        return strchr(DIGITS, c) ? 3 : strchr(CAPITALS, c) ? 2 : 1;
}

/* Whether `n` letters and digits look like a random text rather than a word: long, and of more than one
 * kind. */
static bool is_random(const char *text, size_t n) {
        bool is_mixed = false;

        for (size_t i = 1; i < n; i++)
                is_mixed |= kind_of(text[i]) != kind_of(text[0]);
        return n > WORD_MOST || (n >= TOKEN_LEAST && is_mixed);
}

/* Whether a word would go over from one kind to another as often: "python3" and "NuGetFeed" do so less, and
 * a part of a UUID doesn't. */
static bool is_jumbled(const char *text, size_t n) {
        size_t changes = 0;

        for (size_t i = 1; i < n; i++)
                changes += kind_of(text[i]) != kind_of(text[i - 1]) &&
                           !(kind_of(text[i - 1]) == 2 && kind_of(text[i]) == 1);
        return changes > 0 && changes * 4 >= n;
}

/* Whether the part of a path of `n` bytes has a random text in it, also one in which '-', '_' or '.' stands
 * here and there, as in a UUID and in base64 for addresses. */
static bool has_random(const char *part, size_t n) {
        size_t jumbled = 0, length;

        for (size_t at = 0; at < n; at += length + (length == 0)) {
                length = strspn(part + at, LETTERS);
                if (is_random(part + at, length))
                        return true;
                jumbled += is_jumbled(part + at, length) ? length : 0;
        }
        return jumbled >= TOKEN_LEAST;
}

/* Some servers take a token as a part of the path: https://host/TOKEN/simple. */
static bool setting_is_address(const char *value) {
        const char *host = startswith(value, "https://"), *path;

        host = host ? host : startswith(value, "http://");
        if (!host || !strchr(LETTERS, *host) || !*host || strlen(value) > ADDRESS_MOST ||
            host[strspn(host, LETTERS ".-_~:/+")])
                return false;
        path = host + strspn(host, LETTERS ".-_~");
        /* What follows a colon is a port, or the password of an address that was cut. */
        if (*path == ':')
                path += 1 + strspn(path + 1, DIGITS);
        if (*path && *path != '/')
                return false;
        for (size_t n; *path; path += n + strspn(path + n, "/")) {
                n = strcspn(path, "/");
                if (has_random(path, n))
                        return false;
        }
        return true;
}

static bool are_addresses(const char *value) {
        for (const char *at = value; *at;) {
                size_t n = strcspn(at, " ");
                _cleanup_free_ char *one = strndup(at, n);

                if (!one || !setting_is_address(one))
                        return false;
                at += n + strspn(at + n, " ");
        }
        return *value;
}

static bool is_flag(const char *value) {
        static const char *const flags[] = {"true", "false", "yes", "no", "on", "off", "1", "0"};

        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                if (streq(flags[i], value))
                        return true;
        return false;
}

static bool has_bytes_alone(const char *value, const char *bytes, size_t most) {
        size_t n = strlen(value);

        return n > 0 && n <= most && strspn(value, bytes) == n;
}

bool setting_is_fit(enum setting_kind kind, const char *value) {
        switch (kind) {
        case SETTING_FLAG:
                return is_flag(value);
        case SETTING_NUMBER:
                return has_bytes_alone(value, DIGITS, 9);
        case SETTING_WORD:
                return !*value || has_bytes_alone(value, SMALL "-^~:", 24);
        case SETTING_ADDRESS:
                return setting_is_address(value);
        case SETTING_ADDRESSES:
                return are_addresses(value);
        }
        return false;
}

/* --------------------------------------------------------------- the entries */

int settings_add(struct settings *s, const char *section, const char *key, enum setting_kind kind,
                 const char *value) {
        struct setting one = {.section = strdup(section), .key = strdup(key), .kind = kind};
        int r = 0;

        if (value && !setting_is_fit(kind, value))
                value = NULL;
        one.value = value ? strdup(value) : NULL;
        if (s->n == ENTRIES_MOST)
                r = -EBADMSG;
        else if (!one.section || !one.key || (value && !one.value) || ARRAY_GROW(s->items, s->n) < 0)
                r = -ENOMEM;
        else
                s->items[s->n++] = one;
        if (r == 0)
                return 0;
        free(one.section);
        free(one.key);
        free(one.value);
        return r;
}

struct setting *settings_find(const struct settings *s, const char *section, const char *key) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->items[i].section, section) && streq(s->items[i].key, key))
                        return &s->items[i];
        return NULL;
}

void settings_clear(struct settings *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->items[i].section);
                free(s->items[i].key);
                free(s->items[i].value);
        }
        free(s->items);
        *s = (struct settings){0};
}

/* Whether an entry before that one is of its section, and is written. */
static bool is_section_written(const struct settings *s, const struct setting *one) {
        for (const struct setting *at = s->items; at < one; at++)
                if (at->value && streq(at->section, one->section))
                        return true;
        return false;
}

void settings_write(const struct settings *s, struct strbuf *to) {
        for (size_t i = 0; i < s->n; i++) {
                const struct setting *first = &s->items[i];

                if (!first->value || is_section_written(s, first))
                        continue;
                if (*first->section)
                        strbuf_addf(to, "[%s]\n", first->section);
                for (size_t k = i; k < s->n; k++)
                        if (s->items[k].value && streq(s->items[k].section, first->section))
                                strbuf_addf(to, "%s = %s\n", s->items[k].key, s->items[k].value);
        }
}

/* ----------------------------------------------------------------- the files */

static int read_users_own(const char *home, const char *path, char **ret) {
        const char *below = path_below(path, home);
        _cleanup_close_ int top = -EBADF, fd = -EBADF;
        struct stat st;

        /* Every run asks for each, and most aren't there. */
        if (access(path, F_OK) < 0 && errno == ENOENT)
                return -ENOENT;
        top = open(below ? home : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (top < 0)
                return -errno;
        fd = beneath_open(top, below ? below : path + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        return st.st_uid == geteuid() ? read_small_fd(fd, FILE_MOST, ret) : -EPERM;
}

int toolsettings_read(const struct toolsettings_file *file, const char *home, const char *path, char **ret) {
        _cleanup_strbuf_ struct strbuf to = {0};
        _cleanup_free_ char *text = NULL;
        int r = read_users_own(home, path, &text);

        *ret = NULL;
        if (r >= 0)
                r = file->reader(text, &to);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (to.length == 0 && !to.has_failed)
                return 0;
        *ret = strbuf_finish(&to);
        return *ret ? 0 : -ENOMEM;
}
