/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user's own proxy, by which names are reached where it is the only way out; as text and as a struct. */
#pragma once

#include "base/address.h"

enum net_proxy_kind {
        NET_PROXY_NONE,    /* what was to say which has said that there is none */
        NET_PROXY_HTTP,    /* CONNECT (RFC 9110, 9.3.6); the proxy looks names up */
        NET_PROXY_SOCKS5,  /* RFC 1928, with addresses: names are looked up here */
        NET_PROXY_SOCKS5H, /* with names: the proxy looks them up */
};

#define NET_PROXY_CREDENTIAL_MOST 255 /* bytes of a user's name, or of a password: RFC 1929 */
#define NET_PROXY_HOST_MOST       253

struct net_proxy {
        enum net_proxy_kind kind;
        char host[NET_PROXY_HOST_MOST + 1]; /* a name in small letters, or an address */
        uint16_t port;
        bool has_user;
        char user[NET_PROXY_CREDENTIAL_MOST + 1], password[NET_PROXY_CREDENTIAL_MOST + 1];
};

/* A name that is reached without the proxy, and all names below it. */
struct net_direct {
        char name[NET_PROXY_HOST_MOST + 1];
        uint16_t port; /* 0: any */
};

/* Reads SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/], with %XX in user and password; SCHEME is http where there
 * is none.  "none" is NET_PROXY_NONE.  NULL, or why it is no proxy: without a word of the text. */
const char *net_proxy_parse(const char *text, struct net_proxy *ret);
/* The URL; the caller frees it, NULL for want of memory.  Without `with_secrets` it has *** for the
 * password, and for a user's name that stands alone, since that may be a token. */
char *net_proxy_format(const struct net_proxy *proxy, bool with_secrets);
/* Writes stars over what stands before the host in a text that may be such a URL. */
void net_proxy_hide(char *text);
/* The address of a proxy that isn't named by name. */
bool net_proxy_address(const struct net_proxy *proxy, struct net_address *ret);

/* Reads NAME[:PORT], .NAME and *.NAME, as no_proxy has them.  False: it is none. */
bool net_direct_parse(const char *text, struct net_direct *ret);
char *net_direct_format(const struct net_direct *direct);
bool net_direct_has(const struct net_direct *direct, const char *name, uint16_t port);
