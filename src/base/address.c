/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses, ranges, and the table of what leads home. */
#include "address.h"

#include <arpa/inet.h>

#define V4(a, b, c, d)                  \
        {                               \
                .bytes = { a, b, c, d } \
        }
#define V6(...) \
        { .bytes = {__VA_ARGS__}, .is_v6 = true }

static const struct net_home homes[] = {
        {{V4(127, 0, 0, 0), 8}, "a loopback address"},
        {{V4(0, 0, 0, 0), 8}, "an address of this machine"},
        {{V4(169, 254, 0, 0), 16}, "a link-local address, where a cloud has its metadata"},
        {{V4(10, 0, 0, 0), 8}, "a private address"},
        {{V4(172, 16, 0, 0), 12}, "a private address"},
        {{V4(192, 168, 0, 0), 16}, "a private address"},
        {{V4(100, 64, 0, 0), 10}, "a provider's private address"},
        {{V4(192, 0, 0, 0), 24}, "a special address"},
        {{V4(168, 63, 129, 16), 32}, "an address of a cloud's metadata"},
        {{V4(198, 18, 0, 0), 15}, "an address that stands for names"},
        {{V4(224, 0, 0, 0), 4}, "a multicast address"},
        {{V4(240, 0, 0, 0), 4}, "a reserved address"},
        /* ::1, :: and the old way to write IPv4 addresses. */
        {{V6(0), 96}, "a loopback address"},
        {{V6(0, 0x64, 0xff, 0x9b, 0, 1), 48}, "a private address"},
        {{V6(0x20, 1, 0, 0), 32}, "an address with another in it"},
        {{V6(0xfc), 7}, "a private address"},
        {{V6(0xfe, 0x80), 10}, "a link-local address"},
        {{V6(0xfe, 0xc0), 10}, "a private address"},
        {{V6(0xff), 8}, "a multicast address"},
};

/* IPv6 addresses that say which IPv4 address they stand for: NAT64, SIIT, 6to4. */
static const struct {
        struct net_range range;
        unsigned at; /* where the IPv4 address begins */
} carriers[] = {
        {{V6(0, 0x64, 0xff, 0x9b), 96}, 12},
        {{V6(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 96}, 12},
        {{V6(0x20, 2), 16}, 2},
};

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits) {
        unsigned rest = bits % 8;

        if (memcmp(a, b, bits / 8) != 0)
                return false;
        return rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

static bool is_mapped(const uint8_t *bytes) {
        static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

        return memcmp(bytes, prefix, sizeof(prefix)) == 0;
}

/* Makes of a mapped address the IPv4 address that it stands for. */
static struct net_address from_v6(const uint8_t bytes[16]) {
        struct net_address a = {.is_v6 = !is_mapped(bytes)};

        if (a.is_v6)
                memcpy(a.bytes, bytes, 16);
        else
                memcpy(a.bytes, bytes + 12, 4);
        return a;
}

bool net_address_parse(const char *text, struct net_address *ret) {
        struct net_address a = {.is_v6 = false};
        uint8_t v6[16];

        if (inet_pton(AF_INET, text, a.bytes) == 1) {
                *ret = a;
                return true;
        }
        if (inet_pton(AF_INET6, text, v6) != 1)
                return false;
        *ret = from_v6(v6);
        return true;
}

bool net_range_parse(const char *text, struct net_range *ret) {
        const char *slash = strchr(text, '/');
        size_t n = slash ? (size_t)(slash - text) : strlen(text);
        struct net_range range;
        char address[NET_ADDRESS_TEXT];
        unsigned long bits;
        char *end;

        if (n >= sizeof(address))
                return false;
        memcpy(address, text, n);
        address[n] = '\0';
        if (!net_address_parse(address, &range.address))
                return false;
        range.bits = net_address_bits(&range.address);
        if (slash) {
                if (slash[1] < '0' || slash[1] > '9')
                        return false;
                bits = strtoul(slash + 1, &end, 10);
                if (*end || bits > range.bits)
                        return false;
                range.bits = (unsigned)bits;
        }
        for (unsigned bit = range.bits; bit < net_address_bits(&range.address); bit++)
                if (range.address.bytes[bit / 8] & (0x80U >> bit % 8))
                        return false;
        *ret = range;
        return true;
}

void net_address_format(const struct net_address *a, char to[NET_ADDRESS_TEXT]) {
        if (!inet_ntop(a->is_v6 ? AF_INET6 : AF_INET, a->bytes, to, NET_ADDRESS_TEXT))
                to[0] = '\0';
}

bool net_address_is_same(const struct net_address *a, const struct net_address *b) {
        return a->is_v6 == b->is_v6 && same_bits(a->bytes, b->bytes, net_address_bits(a));
}

bool net_range_holds(const struct net_range *range, const struct net_address *a) {
        return range->address.is_v6 == a->is_v6 && same_bits(range->address.bytes, a->bytes, range->bits);
}

bool net_range_is_within(const struct net_range *inner, const struct net_range *outer) {
        return inner->bits >= outer->bits && net_range_holds(outer, &inner->address);
}

bool net_address_from(const union net_sockaddr *from, struct net_address *ret, uint16_t *ret_port) {
        struct net_address a = {.is_v6 = false};

        if (from->any.sa_family == AF_INET) {
                memcpy(a.bytes, &from->v4.sin_addr, 4);
                *ret_port = ntohs(from->v4.sin_port);
        } else if (from->any.sa_family == AF_INET6) {
                a = from_v6(from->v6.sin6_addr.s6_addr);
                *ret_port = ntohs(from->v6.sin6_port);
        } else
                return false;
        *ret = a;
        return true;
}

socklen_t net_address_to(const struct net_address *a, uint16_t port, union net_sockaddr *ret) {
        memset(ret, 0, sizeof(*ret));
        if (a->is_v6) {
                ret->v6.sin6_family = AF_INET6;
                ret->v6.sin6_port = htons(port);
                memcpy(&ret->v6.sin6_addr, a->bytes, 16);
                return sizeof(ret->v6);
        }
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = htons(port);
        memcpy(&ret->v4.sin_addr, a->bytes, 4);
        return sizeof(ret->v4);
}

bool net_address_carried(const struct net_address *a, struct net_address *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(carriers); i++)
                if (net_range_holds(&carriers[i].range, a)) {
                        *ret = (struct net_address){.is_v6 = false};
                        memcpy(ret->bytes, a->bytes + carriers[i].at, 4);
                        return true;
                }
        return false;
}

const struct net_home *net_address_home(const struct net_address *a) {
        struct net_address carried;

        if (net_address_carried(a, &carried))
                return net_address_home(&carried);
        for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
                if (net_range_holds(&homes[i].range, a))
                        return &homes[i];
        return NULL;
}
