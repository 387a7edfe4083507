/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses and ranges of IPv4 and IPv6, and which of them lead home: into the machine or into the
 * networks around it. */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "macro.h"

/* An IPv4 address is the first four bytes.  One that was mapped into IPv6 is IPv4 here. */
struct net_address {
        uint8_t bytes[16];
        bool is_v6;
};

struct net_range {
        struct net_address address; /* its bits below `bits` are 0 */
        unsigned bits;
};

/* "[ADDRESS]" ends a text for a port to follow. */
#define NET_ADDRESS_TEXT 48

union net_sockaddr {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
};

/* Reads an address as inet_pton(3) does.  False: it is none. */
bool net_address_parse(const char *text, struct net_address *ret);
/* Reads ADDRESS or ADDRESS/BITS.  False: it is none, or has bits below its own. */
bool net_range_parse(const char *text, struct net_range *ret);
void net_address_format(const struct net_address *a, char to[NET_ADDRESS_TEXT]);
static inline unsigned net_address_bits(const struct net_address *a) {
        return a->is_v6 ? 128 : 32;
}
bool net_address_is_same(const struct net_address *a, const struct net_address *b);
bool net_range_holds(const struct net_range *range, const struct net_address *a);
/* Whether all of `inner` lies in `outer`. */
bool net_range_is_within(const struct net_range *inner, const struct net_range *outer);

/* From the kernel's form.  False: of another family. */
bool net_address_from(const union net_sockaddr *from, struct net_address *ret, uint16_t *ret_port);
socklen_t net_address_to(const struct net_address *a, uint16_t port, union net_sockaddr *ret);

/* A range that no name may lead into by itself. */
struct net_home {
        struct net_range range;
        const char *what; /* "a loopback address" */
};
/* Whether an IPv6 address stands for an IPv4 one, and for which. */
bool net_address_carried(const struct net_address *a, struct net_address *ret);
/* NULL: the address leads nowhere near. */
const struct net_home *net_address_home(const struct net_address *a);
