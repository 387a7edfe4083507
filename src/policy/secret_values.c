/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See secret_values.h.  Pure; nsrun-protect(7), VARIABLES, says the same in words. */
#include "secret_values.h"

#include "base/str.h"

/* What a URL's query names a credential, in upper case. */
static const char *const in_query[] = {
        "ACCESS_KEY",
        "ACCESS_TOKEN",
        "ACCOUNTKEY",
        "API-KEY",
        "API_KEY",
        "APIKEY",
        "AUTH",
        "AUTH_TOKEN",
        "AUTHKEY",
        "AUTHTOKEN",
        "CLIENT_SECRET",
        "JWT",
        "KEY",
        "PASS",
        "PASSWD",
        "PASSWORD",
        "PRIVATE_TOKEN",
        "PWD",
        "SECRET",
        "SECRET_KEY",
        "SHAREDACCESSKEY",
        "SHAREDACCESSSIGNATURE",
        "SIG",
        "SIGNATURE",
        "SSLPASSWORD",
        "TOKEN",
        "X-AMZ-SECURITY-TOKEN",
        "X-AMZ-SIGNATURE",
        "X-GOOG-SIGNATURE",
        NULL,
};

/* And what a connection string does that is no URL: "Server=h;Password=x", "host=h password=x"; and npm's
 * "//host/:_authToken=x". */
static const char *const in_pairs[] = {
        "_AUTH",     "_AUTHTOKEN", "_PASSWORD",     "ACCOUNTKEY",      "API-KEY",
        "PASSWD",    "PASSWORD",   "PRIVATE-TOKEN", "SHAREDACCESSKEY", "SHAREDACCESSSIGNATURE",
        "X-API-KEY", NULL,
};

/* What it does only beside other pairs: elsewhere these words mean other things. */
static const char *const in_lists[] = {"ACCESSKEY", "PASS", "PWD", "SECRET", NULL};

/* How tokens begin, and how many of a token's bytes follow at least. */
static const struct token {
        char prefix[16];
        size_t n;
        bool is_mixed; /* there are digits, small letters and capitals, else it is a word like others */
} tokens[] = {
        {"ghp_", 20, false},      {"gho_", 20, false},        {"ghu_", 20, false},     {"ghs_", 20, false},
        {"ghr_", 20, false},      {"github_pat_", 20, false}, {"glpat-", 16, false},   {"xoxb-", 10, false},
        {"xoxp-", 10, false},     {"xoxa-", 10, false},       {"xoxs-", 10, false},    {"xapp-", 10, false},
        {"sk-", 20, true},        {"sk_live_", 16, false},    {"rk_live_", 16, false}, {"AIza", 35, true},
        {"pypi-AgEI", 30, false}, {"hf_", 30, true},          {"npm_", 36, true},
};

/* Addresses that are a secret by themselves, with what follows. */
static const char *const secret_places[] = {
        "://hooks.slack.com/services/", "://hooks.slack.com/workflows/",   "://hooks.slack.com/triggers/",
        "://discord.com/api/webhooks/", "://discordapp.com/api/webhooks/", "://api.telegram.org/bot",
};

char ascii_upper(char c) {
        return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

bool begins_with(const char *text, const char *word, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (ascii_upper(text[i]) != word[i])
                        return false;
        return true;
}

static bool begins_with_word(const char *text, const char *word) {
        return begins_with(text, word, strlen(word));
}

static int hex_digit(char c) {
        static const char digits[] = "0123456789ABCDEF";
        const char *at = c ? strchr(digits, ascii_upper(c)) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* What follows `word` in a URL's query, where any byte may stand as %XX; NULL: it begins with another. */
static const char *skip_encoded(const char *text, const char *word) {
        for (; *word; word++) {
                int high = *text == '%' ? hex_digit(text[1]) : -1, low = high < 0 ? -1 : hex_digit(text[2]);
                char c = low < 0 ? *text : (char)(high * 16 + low);

                if (ascii_upper(c) != *word)
                        return NULL;
                text += low < 0 ? 1 : 3;
        }
        return text;
}

/* Whether a pair of one of the names begins at `text`, in a URL's query, and has a value. */
static bool is_query(const char *text) {
        for (const char *const *name = in_query; *name; name++) {
                const char *rest = skip_encoded(text, *name);

                if (rest && *rest == '=' && rest[1] && !strchr("&; ", rest[1]))
                        return true;
        }
        return false;
}

/* The same of a connection string.  After the "=" there may be blanks where there are some before it, or
 * where semicolons stand between the pairs: "password= user=x" has none. */
static bool is_pair(const char *text, const char *const *names, bool is_list) {
        for (; *names; names++) {
                const char *at = text;
                size_t blanks;

                if (!begins_with_word(text, *names))
                        continue;
                at += strlen(*names);
                blanks = strspn(at, " \t");
                at += blanks;
                if (*at++ != '=')
                        continue;
                if (blanks > 0 || is_list)
                        at += strspn(at, " \t");
                if (*at && !strchr("&;, ", *at))
                        return true;
        }
        return false;
}

/* Whether what stands before the @ in the path of a URL is a host and a port rather than a user and a
 * password with a slash in it. */
static bool is_port(const char *authority, size_t user, const char *port, size_t digits, const char *at,
                    bool is_web) {
        char next = at[1 + strcspn(at + 1, "/: \t\r\n\"'`<>")];
        unsigned number = 0;

        if (digits > 5)
                return false;
        for (size_t i = 0; i < digits; i++)
                number = number * 10 + (unsigned)(port[i] - '0');
        if (number > 65535)
                return false;
        return is_web || memchr(authority, '.', user) ||
               (user == strlen("localhost") && begins_with_word(authority, "LOCALHOST")) || !next ||
               !strchr("/:", next);
}

/* Whether credentials stand before the host of a URL, whose first `n` bytes after "//" these are.  One word
 * alone is a user's name ("ssh://git@host"), but a token to a web server. */
static bool has_userinfo(const char *authority, size_t n, bool is_web) {
        const char *at = memchr(authority, '@', n), *password;
        size_t user = strcspn(authority, ":/?#@"), digits;

        /* An address of IPv6 is no user's name. */
        if (!at || *authority == '[')
                return false;
        if (authority[user] == '@')
                return is_web && user > 0;
        if (authority[user] != ':')
                return false;
        password = authority + user + 1;
        digits = strspn(password, "0123456789");
        if (password[digits] && strchr("/?#", password[digits]) &&
            is_port(authority, user, password, digits, at, is_web))
                return false;
        return at > password || is_web;
}

static bool is_web_before(const char *value, const char *separator) {
        static const char *const schemes[] = {"HTTPS:", "HTTP:"};

        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
                size_t n = strlen(schemes[i]);

                if ((size_t)(separator - value) >= n && begins_with_word(separator - n, schemes[i]))
                        return true;
        }
        return false;
}

static bool in_url(const char *url, bool is_web, bool has_scheme) {
        size_t n = strcspn(url, " \t\r\n\"'`<>");

        if (has_userinfo(url, n, is_web))
                return true;
        for (size_t i = 0; i < n && has_scheme; i++)
                if (strchr("?&;#", url[i]) && is_query(url + i + 1))
                        return true;
        return false;
}

/* URLs, also those without a scheme ("//user:password@host"), which begin a word. */
static bool in_urls(const char *value) {
        const char *first = strstr(value, "//");

        /* The secret places have it, too. */
        if (!first)
                return false;
        for (const char *at = first; at; at = strstr(at + 2, "//")) {
                bool has_scheme = at > value && at[-1] == ':';

                if ((has_scheme || at == value || strchr(" \t\r\n\"'`<>=,;(", at[-1])) &&
                    in_url(at + 2, has_scheme && is_web_before(value, at), has_scheme))
                        return true;
        }
        for (size_t i = 0; i < ARRAY_SIZE(secret_places); i++) {
                const char *at = strstr(value, secret_places[i]);
                char next = at ? at[strlen(secret_places[i])] : '\0';

                if (next && !strchr(" \t\r\n\"'", next))
                        return true;
        }
        return false;
}

static bool is_mixed(const char *text, size_t n) {
        bool digits = false, small = false, capitals = false;

        for (size_t i = 0; i < n; i++) {
                digits |= text[i] >= '0' && text[i] <= '9';
                small |= text[i] >= 'a' && text[i] <= 'z';
                capitals |= text[i] >= 'A' && text[i] <= 'Z';
        }
        return digits && small && capitals;
}

#define DIGITS   "0123456789"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD     DIGITS CAPITALS "abcdefghijklmnopqrstuvwxyz_-"

/* Whether a token begins at `text`, where a word does. */
static bool is_token(const char *text) {
        for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
                size_t skipped, n;

                if (*text != tokens[i].prefix[0])
                        continue;
                skipped = strlen(tokens[i].prefix);
                if (strncmp(text, tokens[i].prefix, skipped) != 0)
                        continue;
                n = strspn(text + skipped, WORD);
                if (n >= tokens[i].n && (!tokens[i].is_mixed || is_mixed(text + skipped, n)))
                        return true;
        }
        /* A key's name of AWS has 20 bytes, no more. */
        if (strncmp(text, "AKIA", 4) == 0 || strncmp(text, "ASIA", 4) == 0)
                return strspn(text, DIGITS CAPITALS) == 20 && strspn(text, WORD) == 20;
        return false;
}

/* "Bearer x", where x is no word of English: it has a digit in it, or is long. */
static bool is_bearer(const char *text) {
        static const char word[] = "BEARER ";
        size_t n;

        if (!begins_with_word(text, word))
                return false;
        text += strlen(word);
        n = strspn(text, WORD ".~+/=");
        return n >= 24 || (n >= 8 && strcspn(text, DIGITS) < n);
}

/* One of WORD. */
static bool is_of_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-';
}

/* Every byte of every variable comes here. */
static bool in_words(const char *value) {
        bool is_list = strchr(value, ';'), is_beside = is_list;

        for (const char *at = value; *at; at++) {
                char before = at == value ? ' ' : at[-1];

                if (!is_of_word(before)) {
                        if (is_token(at) || is_bearer(at))
                                return true;
                        if (strchr(" \t\n;,:=\"'", before) && begins_with_word(at, "AUTHORIZATION:"))
                                return true;
                        if (strchr(" \t\n;,:\"'", before) && is_pair(at, in_pairs, is_list))
                                return true;
                }
                if (is_beside && is_pair(at, in_lists, is_list))
                        return true;
                /* Blanks may follow what stands between two pairs. */
                is_beside = *at == ';' || *at == ',' || (is_beside && *at == ' ');
        }
        return false;
}

bool credentials_in(const char *value) {
        return in_urls(value) || in_words(value) ||
               (strstr(value, "-----BEGIN ") && strstr(value, "PRIVATE KEY-----"));
}
