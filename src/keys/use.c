/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "use.h"

#include <strings.h>

#include "base/str.h"

/* Keys whose programs are known; nsrun-network(7), KEYS, shows them. */
static const char *const known[] = {
        "ANTHROPIC_API_KEY=https://api.anthropic.com,header=x-api-key: *,variable=ANTHROPIC_BASE_URL",
        "ANTHROPIC_AUTH_TOKEN=https://api.anthropic.com,variable=ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN=https://api.anthropic.com,variable=ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY=https://api.openai.com/v1,variable=OPENAI_BASE_URL",
        "GEMINI_API_KEY=https://generativelanguage.googleapis.com,header=x-goog-api-key: *,variable=GOOGLE_GEMINI_BASE_URL",
        "NPM_TOKEN=https://registry.npmjs.org,variable=npm_config_registry",
        "GH_TOKEN=https://github.com,basic=x-access-token,git",
        "GITHUB_TOKEN=https://github.com,basic=x-access-token,git",
        "GITHUB_TOKEN=https://api.github.com,variable=GITHUB_API_URL",
        "GITLAB_TOKEN=https://gitlab.com,basic=oauth2,git",
};

/* By these beginnings programs tell what a key is for before they send it. */
static const char *const beginnings[][2] = {
        {"ANTHROPIC_API_KEY", "sk-ant-api03-"},
        {"ANTHROPIC_AUTH_TOKEN", "sk-ant-"},
        {"CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-"},
        {"OPENAI_API_KEY", "sk-"},
        {"GEMINI_API_KEY", "AIza"},
        {"NPM_TOKEN", "npm_"},
        {"GH_TOKEN", "ghp_"},
        {"GITHUB_TOKEN", "ghp_"},
        {"GITLAB_TOKEN", "glpat-"},
};

#define SMALL    "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define WORD     SMALL CAPITALS DIGITS "_"
#define TOKEN    WORD "-"

/* One byte of a path's segment, decoded; *at moves behind it.  -1: what some read another way: half an
 * escape, a control, a slash, backslash or percent sign that is encoded. */
static int path_byte(const char **at) {
        int high, low, byte;

        if (**at != '%')
                return **at == '\\' ? -1 : (unsigned char)*(*at)++;
        high = str_hex_digit((*at)[1]);
        low = high < 0 ? -1 : str_hex_digit((*at)[2]);
        if (low < 0)
                return -1;
        *at += 3;
        byte = high << 4 | low;
        return byte < ' ' || strchr("/\\%", byte) || byte == 0x7f ? -1 : byte;
}

/* Takes a byte of UTF-8's in its shortest form: *left is how many are to follow, *least the least of the
 * next one.  False: it is none. */
static bool take_utf8(int byte, unsigned *left, int *least) {
        if (*left > 0) {
                bool is_fit = byte >= *least && byte <= 0xbf;

                *least = 0x80;
                (*left)--;
                return is_fit;
        }
        *left = byte < 0x80 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        *least = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
        return byte < 0x80 || (byte >= 0xc2 && byte < 0xf5);
}

/* Whether every server reads it as the same path: no segment is of dots and blanks alone, up to a semicolon.
 */
static bool path_is_plain(const char *path) {
        while (*path == '/') {
                bool has_dots = false, has_other = false, is_over = false;
                unsigned left = 0;
                int least = 0;

                for (path++; *path && !strchr("/?#", *path);) {
                        int byte = path_byte(&path);

                        if (byte < 0 || !take_utf8(byte, &left, &least))
                                return false;
                        is_over |= byte == ';';
                        has_dots |= byte == '.' && !is_over;
                        has_other |= byte != '.' && byte != ' ' && !is_over;
                }
                if (has_dots && !has_other)
                        return false;
        }
        return true;
}

const char *key_use_known(const char *name, size_t i) {
        for (size_t k = 0; k < ARRAY_SIZE(known); k++) {
                const char *rest = startswith(known[k], name);

                if (rest && *rest == '=' && i-- == 0)
                        return known[k];
        }
        return NULL;
}

/* Copies n bytes that are all among `allowed`, or all that ASCII prints where that is NULL. */
static bool take(const char *from, size_t n, const char *allowed, char to[KEY_NAME_MOST + 1]) {
        if (n > KEY_NAME_MOST)
                return false;
        for (size_t i = 0; i < n; i++)
                if (allowed ? !strchr(allowed, from[i]) : from[i] < ' ' || from[i] > '~')
                        return false;
        memcpy(to, from, n);
        to[n] = '\0';
        return true;
}

static bool take_word(const char *from, size_t n, char to[KEY_NAME_MOST + 1]) {
        return n > 0 && !strchr(DIGITS, from[0]) && take(from, n, WORD, to);
}

/* With exactly one star. */
static bool take_pattern(const char *from, size_t n, char to[KEY_NAME_MOST + 1]) {
        const char *star;

        if (!take(from, n, NULL, to))
                return false;
        star = strchr(to, '*');
        return star && !strchr(star + 1, '*');
}

/* Headers that say how a request is read, or whose it is. */
static bool is_framing(const char *header) {
        static const char *const names[] = {"host",       "content-length", "transfer-encoding",
                                            "connection", "upgrade",        "expect",
                                            "te",         "trailer"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcasecmp(header, names[i]) == 0)
                        return true;
        return false;
}

static const char *read_url(const char *text, size_t n, struct key_use *use) {
        char host[NET_NAME_MOST + 1];
        const char *at = text, *end = text + n, *why;
        size_t length = strcspn(at, ":/,");

        if (at + length > end)
                length = (size_t)(end - at);
        if (length >= sizeof(host))
                return "not a host's name";
        memcpy(host, at, length);
        host[length] = '\0';
        why = net_name_normalise(host, use->host);
        at += length;
        use->port = 443;
        if (!why && at < end && *at == ':') {
                at++;
                why = net_port_parse(&at, &use->port);
        }
        if (why)
                return why;
        while (end > at && end[-1] == '/')
                end--;
        if (at < end && *at != '/')
                return "not a path behind the host";
        if (!take(at, (size_t)(end - at), TOKEN ".~/", use->prefix) || !path_is_plain(use->prefix))
                return "not a path of letters, digits and -._~/";
        return NULL;
}

static bool take_methods(const char *from, size_t n, char to[KEY_NAME_MOST + 1]) {
        return n > 0 && strchr(CAPITALS, from[0]) && strchr(CAPITALS, from[n - 1]) &&
               take(from, n, CAPITALS "+", to);
}

static const char *read_header(const char *text, size_t n, struct key_use *use) {
        const char *colon = memchr(text, ':', n), *at = colon ? colon + 1 : text;

        if (!colon || colon == text || !take(text, (size_t)(colon - text), TOKEN, use->field))
                return "a header is NAME: TEXT";
        if (is_framing(use->field))
                return "that header isn't a key's";
        at += at < text + n && *at == ' ';
        return take_pattern(at, n - (size_t)(at - text), use->text)
                       ? NULL
                       : "a header's text has one star, for the key";
}

static const char *read_variable(const char *text, size_t n, struct key_use *use) {
        const char *equals = memchr(text, '=', n);
        size_t length = equals ? (size_t)(equals - text) : n;

        if (!take_word(text, length, use->variable))
                return "not a variable's name";
        if (!equals)
                (void)snprintf(use->pattern, sizeof(use->pattern), "*");
        else if (!take_pattern(equals + 1, n - length - 1, use->pattern))
                return "a variable's value has one star, for the address";
        return NULL;
}

static const char *read_field(const char *text, size_t n, struct key_use *use, bool *ret_has_form) {
        const char *equals = memchr(text, '=', n), *value = equals ? equals + 1 : NULL;
        size_t length = value ? n - (size_t)(value - text) : 0, word = equals ? (size_t)(equals - text) : n;
        char name[KEY_NAME_MOST + 1];
        bool is_form;

        if (!take(text, word, SMALL, name))
                return "not one of its fields";
        is_form = streq(name, "header") || streq(name, "query") || streq(name, "basic");
        if (is_form && *ret_has_form)
                return "a key goes in by one way";
        *ret_has_form |= is_form;
        if (streq(name, "git") && !value) {
                use->is_git = true;
                return NULL;
        }
        if (value && streq(name, "header"))
                return read_header(value, length, use);
        if (value && streq(name, "variable"))
                return read_variable(value, length, use);
        if (value && streq(name, "query")) {
                use->form = KEY_IN_QUERY;
                return length > 0 && take(value, length, TOKEN, use->field) ? NULL
                                                                            : "not a field of a query";
        }
        if (value && streq(name, "basic")) {
                use->form = KEY_IN_BASIC;
                (void)snprintf(use->field, sizeof(use->field), "Authorization");
                return take(value, length, TOKEN ".@+", use->text) ? NULL : "not a user's name";
        }
        if (value && streq(name, "methods"))
                return take_methods(value, length, use->methods) ? NULL : "methods are as in GET+HEAD";
        return "not one of its fields";
}

const char *key_use_read(const char *text, struct key_use *ret) {
        static const char scheme[] = "https://";
        const char *equals = strchr(text, '='), *at, *why;
        bool has_form = false;
        struct key_use use = {.port = 443};
        size_t n;

        if (!equals || !take_word(text, (size_t)(equals - text), use.name))
                return "not a key's name and =";
        at = startswith(equals + 1, scheme);
        if (!at)
                return "not an https:// URL";
        n = strcspn(at, ",");
        why = read_url(at, n, &use);
        for (at += n; !why && *at; at += n) {
                at++;
                n = strcspn(at, ",");
                why = read_field(at, n, &use, &has_form);
        }
        if (why)
                return why;
        if (!has_form) {
                (void)snprintf(use.field, sizeof(use.field), "Authorization");
                (void)snprintf(use.text, sizeof(use.text), "Bearer *");
        }
        *ret = use;
        return NULL;
}

bool key_use_covers(const struct key_use *use, const char *method, const char *path) {
        size_t n = strlen(use->prefix);

        if (use->methods[0]) {
                size_t length = strlen(method);
                const char *at = use->methods;

                for (;;) {
                        size_t word = strcspn(at, "+");

                        if (word == length && strncmp(at, method, word) == 0)
                                break;
                        if (!at[word])
                                return false;
                        at += word + 1;
                }
        }
        if (n == 0)
                return true;
        return strncmp(path, use->prefix, n) == 0 && (path[n] == '/' || path[n] == '?' || path[n] == '\0') &&
               path_is_plain(path);
}

char *key_use_address(const struct key_use *use, uint16_t port) {
        return str_format("http://127.0.0.1:%u%s", (unsigned)port, use->prefix);
}

const char *key_source_read(const char *text, char name[KEY_NAME_MOST + 1], enum key_source_kind *ret,
                            const char **ret_what) {
        static const struct {
                const char *prefix;
                enum key_source_kind kind;
        } kinds[] = {{"env:", KEY_OF_VARIABLE}, {"file:", KEY_OF_FILE}, {"command:", KEY_OF_COMMAND}};
        size_t n = strcspn(text, "=");

        if (!take_word(text, n, name))
                return "not a key's name";
        *ret = KEY_OF_VARIABLE;
        *ret_what = text;
        if (!text[n])
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                const char *what = startswith(text + n + 1, kinds[i].prefix);

                if (!what)
                        continue;
                *ret = kinds[i].kind;
                *ret_what = what;
                if (!*what)
                        return "nothing behind its source's word";
                return kinds[i].kind == KEY_OF_FILE && what[0] != '/' && !startswith(what, "~/")
                               ? "a file's path is absolute, or below ~/"
                               : NULL;
        }
        /* Not repeated: it may be the key itself. */
        return "its source is none of env:NAME, file:PATH and command:TEXT";
}

const char *key_value_judge(const char *value) {
        size_t n = strlen(value);

        if (n == 0)
                return "is empty";
        for (size_t i = 0; i < n; i++)
                if (value[i] < '!' || value[i] > '~')
                        return "has a byte in it that no header can have";
        return n < KEY_VALUE_LEAST  ? "is too short to be told from other text"
               : n > KEY_VALUE_MOST ? "is too long"
                                    : NULL;
}

size_t key_value_public(const char *value) {
        size_t most = 0;

        for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
                if (startswith(value, beginnings[i][1]) && strlen(beginnings[i][1]) > most)
                        most = strlen(beginnings[i][1]);
        return most;
}

bool key_value_is_in(const char *lines, const char *text) {
        size_t n = text ? strlen(text) : 0;

        for (const char *at = lines; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
                const char *value = at + strcspn(at, " ") + 1;

                if (memmem(text, n, value, strcspn(value, "\n")))
                        return true;
        }
        return false;
}

char *key_placeholder(const char *name) {
        static const char rest[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
        const char *beginning = "";

        for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
                if (streq(name, beginnings[i][0]))
                        beginning = beginnings[i][1];
        return str_concat(beginning, rest, "");
}
