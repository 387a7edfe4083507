/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A proxy read and written.  What is wrong with one is said without its text, which has a password. */
#include "proxy.h"

#include "base/str.h"
#include "rules.h"

_Static_assert(NET_PROXY_HOST_MOST == NET_NAME_MOST, "a host is named by a name");

#define PORT_HTTP  80
#define PORT_SOCKS 1080

static const struct {
        const char *prefix;
        enum net_proxy_kind kind;
        uint16_t port;
} schemes[] = {{"http://", NET_PROXY_HTTP, PORT_HTTP},
               {"socks5://", NET_PROXY_SOCKS5, PORT_SOCKS},
               {"socks5h://", NET_PROXY_SOCKS5H, PORT_SOCKS}};

/* Reads up to `end` with its %XX.  False: too long, not whole, or with a control character. */
static bool decode(const char *from, const char *end, char to[NET_PROXY_CREDENTIAL_MOST + 1]) {
        size_t n = 0;

        while (from < end) {
                int c = (unsigned char)*from++;

                if (c == '%') {
                        int high = end - from >= 2 ? str_hex_digit(from[0]) : -1,
                            low = high >= 0 ? str_hex_digit(from[1]) : -1;

                        if (low < 0)
                                return false;
                        c = high << 4 | low;
                        from += 2;
                }
                if (c < 0x20 || c == 0x7f || n == NET_PROXY_CREDENTIAL_MOST)
                        return false;
                to[n++] = (char)c;
        }
        to[n] = '\0';
        return true;
}

static const char *parse_user(const char *from, const char *end, struct net_proxy *p) {
        const char *colon = memchr(from, ':', (size_t)(end - from));

        p->has_user = true;
        if (!decode(from, colon ? colon : end, p->user) ||
            !decode(colon ? colon + 1 : end, end, p->password))
                return "its user or its password can't be read: others than letters and digits are "
                       "written %XX";
        if (p->kind == NET_PROXY_HTTP ? strchr(p->user, ':') != NULL : !p->user[0] || !p->password[0])
                return p->kind == NET_PROXY_HTTP ? "a user's name can't have a colon"
                                                 : "a user needs a name and a password";
        return NULL;
}

/* HOST[:PORT], where an IPv6 address is in brackets. */
static const char *parse_host(const char *from, const char *end, struct net_proxy *p) {
        bool has_brackets = *from == '[';
        const char *close = has_brackets ? memchr(from, ']', (size_t)(end - from)) : NULL,
                   *host_end = has_brackets ? close : memchr(from, ':', (size_t)(end - from)), *port;
        char host[NET_NAME_MOST + 1];
        struct net_address a;

        if (has_brackets && !close)
                return "'[' without ']'";
        if (!host_end)
                host_end = end;
        from += has_brackets;
        if (host_end - from > NET_NAME_MOST)
                return "not a host's name";
        (void)snprintf(host, sizeof(host), "%.*s", (int)(host_end - from), from);
        if (net_address_parse(host, &a) && a.is_v6 == has_brackets)
                (void)snprintf(p->host, sizeof(p->host), "%s", host);
        else if (has_brackets || net_name_normalise(host, p->host))
                return "neither a host's name nor an address";
        port = host_end + has_brackets;
        if (port == end)
                return NULL;
        if (*port++ != ':' || net_port_parse(&port, &p->port) || port != end)
                return "not a port";
        return NULL;
}

const char *net_proxy_parse(const char *text, struct net_proxy *ret) {
        struct net_proxy p = {.kind = NET_PROXY_HTTP, .port = PORT_HTTP};
        const char *end, *at, *why = NULL;
        bool has_scheme = strstr(text, "://");

        if (streq(text, "none")) {
                *ret = (struct net_proxy){.kind = NET_PROXY_NONE};
                return NULL;
        }
        for (size_t i = 0; i < ARRAY_SIZE(schemes) && has_scheme; i++) {
                const char *rest = startswith(text, schemes[i].prefix);

                if (!rest)
                        continue;
                p.kind = schemes[i].kind;
                p.port = schemes[i].port;
                text = rest;
                has_scheme = false;
        }
        if (has_scheme)
                return "neither an HTTP nor a SOCKS5 proxy";
        at = strrchr(text, '@');
        end = at ? at + 1 : text;
        end += strcspn(end, "/");
        if (end[0] == '/' && end[1])
                return "a proxy's URL has no path";
        if (at)
                why = parse_user(text, at, &p);
        if (!why)
                why = parse_host(at ? at + 1 : text, end, &p);
        if (!why)
                *ret = p;
        explicit_bzero(&p, sizeof(p));
        return why;
}

static void encode(struct strbuf *b, const char *text) {
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;

                if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    strchr("-._~", c))
                        strbuf_addf(b, "%c", c);
                else
                        strbuf_addf(b, "%%%02X", c);
        }
}

char *net_proxy_format(const struct net_proxy *p, bool with_secrets) {
        _cleanup_strbuf_ struct strbuf b = {0};
        struct net_address a;

        if (p->kind == NET_PROXY_NONE)
                return strdup("none");
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
                if (schemes[i].kind == p->kind)
                        strbuf_add(&b, schemes[i].prefix);
        if (p->has_user && (with_secrets || p->password[0]))
                encode(&b, p->user);
        if (p->has_user && (p->password[0] || with_secrets))
                strbuf_add(&b, ":");
        if (p->has_user && with_secrets)
                encode(&b, p->password);
        if (p->has_user)
                strbuf_add(&b, with_secrets ? "@" : "***@");
        strbuf_addf(&b, net_proxy_address(p, &a) && a.is_v6 ? "[%s]:%u" : "%s:%u", p->host, p->port);
        return strbuf_finish(&b);
}

void net_proxy_hide(char *text) {
        char *start = strstr(text, "://"), *at = strrchr(text, '@');

        start = start && start < at ? start + 3 : text;
        if (at)
                memset(start, '*', (size_t)(at - start));
}

bool net_proxy_address(const struct net_proxy *p, struct net_address *ret) {
        return p->kind != NET_PROXY_NONE && net_address_parse(p->host, ret);
}

bool net_direct_parse(const char *text, struct net_direct *ret) {
        char name[NET_NAME_MOST + 1];
        const char *colon;

        text += startswith(text, "*.") ? 2 : text[0] == '.';
        colon = strchr(text, ':');
        if ((size_t)(colon ? colon - text : (ptrdiff_t)strlen(text)) >= sizeof(name))
                return false;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ":"), text);
        if (net_name_normalise(name, ret->name))
                return false;
        ret->port = 0;
        if (!colon)
                return true;
        colon++;
        return !net_port_parse(&colon, &ret->port) && !*colon;
}

char *net_direct_format(const struct net_direct *d) {
        return str_format(d->port ? "%s:%u" : "%s", d->name, d->port);
}

bool net_direct_has(const struct net_direct *d, const char *name, uint16_t port) {
        size_t n = strlen(name), m = strlen(d->name);

        return (d->port == 0 || d->port == port) && n >= m && streq(name + n - m, d->name) &&
               (n == m || name[n - m - 1] == '.');
}
