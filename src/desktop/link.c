/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See link.h.  RFC 3986, without what it allows and nobody needs. */
#include "link.h"

#include <strings.h>

#include "base/str.h"

static const char alphanumeric[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
static const char hexadecimal[] = "0123456789abcdefABCDEF";

static bool is_char_of(char c, const char *set) {
        return c != '\0' && strchr(set, c);
}

/* A name or an address of IPv4; or one of IPv6 in brackets.  Its length; 0: it is none. */
static size_t host_length(const char *at) {
        size_t n;

        if (*at == '[') {
                n = strspn(at + 1, "0123456789abcdefABCDEF:.");
                return n > 1 && at[1 + n] == ']' ? n + 2 : 0;
        }
        for (n = 0; is_char_of(at[n], alphanumeric) || is_char_of(at[n], "-._"); n++)
                ;
        return n > 0 && is_char_of(*at, alphanumeric) ? n : 0;
}

bool link_is_openable(const char *link, char host[LINK_HOST_MOST + 1]) {
        const char *at, *begin;
        size_t n;

        if (strlen(link) > LINK_MOST)
                return false;
        if (strncasecmp(link, "https://", 8) == 0)
                begin = link + 8;
        else if (strncasecmp(link, "http://", 7) == 0)
                begin = link + 7;
        else
                return false;
        n = host_length(begin);
        if (n == 0)
                return false;
        at = begin + n;
        if (*at == ':') {
                n = strspn(at + 1, "0123456789");
                if (n == 0 || n > 5)
                        return false;
                at += 1 + n;
        }
        if ((*at && !is_char_of(*at, "/?#")) || (size_t)(at - begin) > LINK_HOST_MOST)
                return false;
        n = (size_t)(at - begin);
        for (; *at; at++)
                if (*at == '%' ? !is_char_of(at[1], hexadecimal) || !is_char_of(at[2], hexadecimal)
                               : !is_char_of(*at, alphanumeric) && !is_char_of(*at, "-._~:/?#@&+,="))
                        return false;
        memcpy(host, begin, n);
        host[n] = '\0';
        return true;
}
