/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See link.h.  RFC 3986, without what it allows and nobody needs. */
#include "link.h"

#include <arpa/inet.h>
#include <ctype.h>
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

/* Browsers take 2130706433, 0x7f.1 and 127.1 for addresses, too: an address is written as every person reads
 * it. */
static bool is_plain_number(const char *host, size_t n) {
        char copy[LINK_HOST_MOST + 1];
        struct in_addr address;
        const char *last;

        (void)snprintf(copy, sizeof(copy), "%.*s", (int)n, host);
        while (n > 0 && copy[n - 1] == '.')
                copy[--n] = '\0';
        last = strrchr(copy, '.');
        last = last ? last + 1 : copy;
        return *last < '0' || *last > '9' || inet_pton(AF_INET, copy, &address) == 1;
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
        if (n == 0 || n > LINK_HOST_MOST || (*begin != '[' && !is_plain_number(begin, n)))
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
        for (size_t i = 0; i < n; i++)
                host[i] = (char)tolower((unsigned char)begin[i]);
        host[n] = '\0';
        return true;
}

/* A link's host without its port, brackets and the dots at its end. */
static void without_port(const char *host, char ret[LINK_HOST_MOST + 1]) {
        bool is_six = *host == '[';
        size_t n = is_six ? strcspn(++host, "]") : strcspn(host, ":");

        while (!is_six && n > 0 && host[n - 1] == '.')
                n--;
        (void)snprintf(ret, LINK_HOST_MOST + 1, "%.*s", (int)n, host);
}

/* IPv4's addresses are written in IPv6 as well. */
static bool is_loopback_written(const char *host) {
        struct in6_addr six;
        struct in_addr four;

        if (inet_pton(AF_INET, host, &four) == 1)
                return ntohl(four.s_addr) >> 24 == 127 || ntohl(four.s_addr) >> 24 == 0;
        return inet_pton(AF_INET6, host, &six) == 1 &&
               (IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_UNSPECIFIED(&six) ||
                (IN6_IS_ADDR_V4MAPPED(&six) && (six.s6_addr[12] == 127 || six.s6_addr[12] == 0)));
}

/* The whole name, its first part, and the name by which multicast DNS has it (RFC 6762). */
static bool is_machines_name(const char *host, const char *machine) {
        size_t n = strcspn(machine, ".");

        if (n == 0)
                return false;
        return strcasecmp(host, machine) == 0 || (strncasecmp(host, machine, n) == 0 &&
                                                  (host[n] == '\0' || strcasecmp(host + n, ".local") == 0));
}

bool link_is_of_this_machine(const char *host, const char *machine) {
        static const char name[] = "localhost";
        static const char *const others[] = {"localhost4", "localhost6", "localhost.localdomain",
                                             "ip6-localhost", "ip6-loopback"};
        char copy[LINK_HOST_MOST + 1], own[LINK_HOST_MOST + 1];
        size_t n;

        without_port(host, copy);
        without_port(machine, own);
        /* What no rule of RFC 4291 reads may be read by a browser. */
        if (*host == '[' && inet_pton(AF_INET6, copy, &(struct in6_addr){0}) != 1)
                return true;
        if (is_loopback_written(copy) || is_machines_name(copy, own) || STR_IS_ANY(copy, others))
                return true;
        n = strlen(copy);
        return n >= strlen(name) && streq(copy + n - strlen(name), name) &&
               (n == strlen(name) || copy[n - strlen(name) - 1] == '.');
}

bool link_is_at(const char *host, const struct sockaddr *address) {
        char copy[LINK_HOST_MOST + 1];
        struct in6_addr six;
        struct in_addr four;

        without_port(host, copy);
        if (inet_pton(AF_INET6, copy, &six) == 1) {
                if (address->sa_family == AF_INET6)
                        return memcmp(&six, &((const struct sockaddr_in6 *)address)->sin6_addr,
                                      sizeof(six)) == 0;
                if (!IN6_IS_ADDR_V4MAPPED(&six))
                        return false;
                memcpy(&four, six.s6_addr + 12, sizeof(four));
        } else if (inet_pton(AF_INET, copy, &four) != 1)
                return false;
        return address->sa_family == AF_INET &&
               four.s_addr == ((const struct sockaddr_in *)address)->sin_addr.s_addr;
}
