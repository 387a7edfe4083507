/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See credentials.h.  Pure; nsrun(1), ENVIRONMENT, says the same in words. */
#include "credentials.h"

#include <string.h>

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

/* And what a connection string does that is no URL: "Server=h;Password=x", "host=h password=x". */
static const char *const in_pairs[] = {
        "ACCOUNTKEY", "PASSWD", "PASSWORD", "SHAREDACCESSKEY", "SHAREDACCESSSIGNATURE", NULL,
};

/* Whether `text` begins with `word`, which is in upper case.  strncasecmp(3) would depend on the locale of
 * the library's caller. */
static bool begins_with_word(const char *text, const char *word) {
        for (; *word; text++, word++)
                if ((*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text) != *word)
                        return false;
        return true;
}

/* Whether a pair of one of the names begins at `text`, and has a value. */
static bool is_pair(const char *text, const char *const *names) {
        for (; *names; names++) {
                size_t n = strlen(*names);

                if (begins_with_word(text, *names) && text[n] == '=' && text[n + 1] &&
                    !strchr("&; ", text[n + 1]))
                        return true;
        }
        return false;
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
        /* A port, and the @ is in the path. */
        if (password[digits] && strchr("/?#", password[digits]))
                return false;
        return at > password || is_web;
}

static bool is_web_before(const char *value, const char *separator) {
        static const char *const schemes[] = {"HTTPS", "HTTP"};

        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
                size_t n = strlen(schemes[i]);

                if ((size_t)(separator - value) >= n && begins_with_word(separator - n, schemes[i]))
                        return true;
        }
        return false;
}

static bool in_url(const char *url, bool is_web) {
        size_t n = strcspn(url, " \t\r\n\"'`<>");

        if (has_userinfo(url, n, is_web))
                return true;
        for (size_t i = 0; i < n; i++)
                if (strchr("?&;#", url[i]) && is_pair(url + i + 1, in_query))
                        return true;
        return false;
}

bool credentials_in(const char *value) {
        for (const char *at = strstr(value, "://"); at; at = strstr(at + 3, "://"))
                if (in_url(at + 3, is_web_before(value, at)))
                        return true;
        for (const char *at = value; *at; at++)
                if ((at == value || strchr("; \t\n", at[-1])) &&
                    (is_pair(at, in_pairs) || begins_with_word(at, "AUTHORIZATION:")))
                        return true;
        return strstr(value, "-----BEGIN ") && strstr(value, "PRIVATE KEY-----");
}
