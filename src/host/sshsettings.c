/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox with the user's SSH agent gets of OpenSSH's own files: where a host is, who the user is
 * there, and its public keys.  Nothing that names a program (ProxyCommand, Match exec, LocalCommand), a file
 * (Include, IdentityFile), a socket (IdentityAgent: inside it is SSH_AUTH_SOCK's) or another way there. */
#include "toolsettings.h"

enum {
        LINE_MOST = 4096,        /* a longer one is none */
        OUTPUT_MOST = 128 << 10, /* the rest is left out */
};

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define BLANK        " \t\r"

static bool begins_well(const char *value, const char *others) {
        return *value && strchr(others, *value);
}

static bool takes_host(const char *value) {
        return begins_well(value, ALPHANUMERIC "%[") &&
               strspn(value, ALPHANUMERIC ".:_%[]-") == strlen(value);
}

static bool takes_user(const char *value) {
        return begins_well(value, ALPHANUMERIC "_") && strspn(value, ALPHANUMERIC "._@+-") == strlen(value);
}

static bool takes_port(const char *value) {
        size_t n = strspn(value, "0123456789");

        return n > 0 && n <= 5 && !value[n];
}

static const struct {
        const char *key;
        bool (*takes)(const char *value);
} ssh_keys[] = {
        {"HostName", takes_host}, {"HostKeyAlias", takes_host}, {"Port", takes_port}, {"User", takes_user}};

/* The next line of *at, without what is blank around it, in `line`; false: there is none.  One that is too
 * long is "\"", which no reader takes. */
static bool next_line(const char **at, char line[LINE_MOST]) {
        const char *begin = *at + strspn(*at, BLANK), *end = strchrnul(begin, '\n');
        size_t n = (size_t)(end - begin);

        if (!**at)
                return false;
        *at = end + (*end == '\n');
        while (n > 0 && strchr(BLANK, begin[n - 1]))
                n--;
        if (n >= LINE_MOST) {
                begin = "\"";
                n = 1;
        }
        memcpy(line, begin, n);
        line[n] = '\0';
        return true;
}

/* The next argument of *at as OpenSSH's argv_split() has it, in place; NULL: there is none, or a comment.
 * One with a quote that isn't closed is "\"". */
static char *next_argument(char **at) {
        char *begin = *at + strspn(*at, BLANK), *from = begin, *to = begin, quote = '\0';

        if (!*from || *from == '#')
                return NULL;
        for (; *from && (quote || !strchr(BLANK, *from)); from++)
                if (*from == '\\' && from[1] && strchr(quote ? "'\"\\" : "'\"\\ ", from[1]))
                        *to++ = *++from;
                else if (quote ? *from == quote : *from == '"' || *from == '\'')
                        quote = quote ? '\0' : *from;
                else
                        *to++ = *from;
        *at = from + (*from != '\0');
        if (quote) {
                to = begin;
                *to++ = '"';
        }
        *to = '\0';
        return begin;
}

/* Whether it is known for which hosts the lines after "Host" are: *host, as " PATTERN PATTERN". */
static bool read_host_patterns(char *at, char host[LINE_MOST]) {
        size_t n = 0;

        for (char *word; (word = next_argument(&at));) {
                if (!*word || strspn(word, ALPHANUMERIC "._:*?![]-") != strlen(word))
                        return false;
                n += (size_t)snprintf(host + n, LINE_MOST - n, " %s", word);
        }
        return n > 0;
}

int toolsettings_ssh(const char *text, struct strbuf *to) {
        char line[LINE_MOST], host[LINE_MOST] = "";
        /* The first value counts: where it isn't told, a later one of the key would take its place. */
        bool is_in = true, is_said = true, is_lost[ARRAY_SIZE(ssh_keys)] = {false};

        while (to->length < OUTPUT_MOST && next_line(&text, line)) {
                size_t n = strspn(line, ALPHANUMERIC);
                char *at = line + n + strspn(line + n, BLANK), *value;

                at += *at == '=';
                if (*line && *line != '#' && (n == 0 || !strchr(BLANK "=", line[n]))) {
                        is_in = false;
                        memset(is_lost, true, sizeof(is_lost));
                        continue;
                }
                line[n] = '\0';
                if (strcasecmp(line, "Host") == 0 || strcasecmp(line, "Match") == 0) {
                        is_in = strcasecmp(line, "Host") == 0 && read_host_patterns(at, host);
                        is_said = false;
                        continue;
                }
                value = next_argument(&at);
                for (size_t i = 0; i < ARRAY_SIZE(ssh_keys); i++) {
                        if (strcasecmp(line, ssh_keys[i].key) != 0)
                                continue;
                        is_lost[i] |= !is_in || !value || next_argument(&at) || !ssh_keys[i].takes(value);
                        if (is_lost[i])
                                continue;
                        if (!is_said)
                                strbuf_addf(to, "Host%s\n", host);
                        is_said = true;
                        strbuf_addf(to, "%s %s\n", ssh_keys[i].key, value);
                }
        }
        return to->has_failed ? -ENOMEM : 0;
}

int toolsettings_known_hosts(const char *text, struct strbuf *to) {
        static const char *const types[] = {"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"};
        char line[LINE_MOST];

        while (to->length < OUTPUT_MOST && next_line(&text, line)) {
                char *fields[4], *left = line;
                bool is_marked = *line == '@', is_one = false;
                size_t n = 0;

                while (n < (is_marked ? 4U : 3U) &&
                       (fields[n] = strtok_r(n == 0 ? line : NULL, BLANK, &left)))
                        n++;
                if (n < (is_marked ? 4U : 3U) || *line == '#' ||
                    (is_marked && !streq(*fields, "@revoked") && !streq(*fields, "@cert-authority")))
                        continue;
                for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                        is_one |= startswith(fields[n - 2], types[i]) != NULL;
                if (!is_one ||
                    strspn(fields[n - 3], ALPHANUMERIC "._:*?!,[]|+/=-") != strlen(fields[n - 3]) ||
                    strspn(fields[n - 2], ALPHANUMERIC "@.-") != strlen(fields[n - 2]) ||
                    strspn(fields[n - 1], ALPHANUMERIC "+/=") != strlen(fields[n - 1]))
                        continue;
                strbuf_addf(to, "%s%s%s %s %s\n", is_marked ? *fields : "", is_marked ? " " : "",
                            fields[n - 3], fields[n - 2], fields[n - 1]);
        }
        return to->has_failed ? -ENOMEM : 0;
}
