/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the network may be reached, as lines of text and as a struct.  The same lines are in a plan, are
 * read by nsrun-net, and are what both sides go by. */
#pragma once

#include "proxy.h"

#define NET_NAME_MOST      253 /* bytes of a name, without the last dot */
#define NET_PORTS_MOST     16  /* of one rule */
#define NET_RULES_MOST     512
#define NET_PUBLISHES_MOST 64
#define NET_DIRECTS_MOST   256
/* What the host is called inside, where a rule lets its own ports be reached. */
#define NET_HOST_NAME "host.nsrun.internal"

enum net_rule_kind {
        NET_RULE_NAME,     /* name */
        NET_RULE_WILDCARD, /* every name that ends in "." and `name` */
        NET_RULE_RANGE,    /* range */
        NET_RULE_HOST,     /* ports of the host's loopback */
};

struct net_rule {
        enum net_rule_kind kind;
        bool is_deny; /* of TCP and UDP alike */
        bool is_udp;
        char name[NET_NAME_MOST + 1]; /* in small letters */
        struct net_range range;
        uint16_t ports[NET_PORTS_MOST]; /* of a rule that allows; sorted */
        unsigned n_ports;
};

/* A port of the host that leads to a port of the sandbox's loopback. */
struct net_publish {
        struct net_address address;
        uint16_t port, inside;
};

/* A port of the sandbox's loopback that is nsrun-keys' (keys/), and the host that it is for. */
struct net_key {
        uint16_t port, host_port;
        char host[NET_NAME_MOST + 1];
};

struct net_rules {
        struct net_rule *rules;
        size_t n;
        struct net_publish *publishes;
        size_t n_publishes;
        struct net_proxy *via; /* NULL: none */
        bool publishes_later;  /* of a session: further ports may be published while it lives */
        bool asks;             /* of names that no rule covers a person is asked */
        struct net_direct *directs;
        size_t n_directs;
        struct net_key *keys;
        size_t n_keys;
};

/* Beside a port, where one is asked about: it is UDP's. */
#define NET_UDP 0x10000U

/* Reads [udp:]HOST[:PORT[,PORT...]] of --allow, or HOST of --deny.  NULL, or why it is no rule. */
const char *net_rule_parse(const char *text, bool is_deny, struct net_rule *ret);
/* Reads [ADDRESS:]PORT[:INSIDE] of --publish. */
const char *net_publish_parse(const char *text, struct net_publish *ret);

/* The line of a rule, "allow HOST:PORTS" or "deny HOST", and of what is published; the caller frees it, NULL
 * for want of memory.  "via URL" and "direct NAME" are proxy.h's, "key PORT NAME HOST:PORT" is net_key's,
 * and NET_RULES_ASK and NET_RULES_LATER are lines by themselves. */
#define NET_RULES_ASK   "ask *:80,443"
#define NET_RULES_LATER "publish later"
char *net_rule_format(const struct net_rule *rule);
char *net_publish_format(const struct net_publish *publish);
/* Reads such lines.  -EBADMSG: one of them is none; -ENOMEM. */
int net_rules_read(char *const *lines, struct net_rules *ret);
void net_rules_clear(struct net_rules *rules);
#define _cleanup_net_rules_ _cleanup_(net_rules_clear)

/* A name fit for a rule, from the text of one: small letters, no dot at the end.  NULL, or why it is none.
 */
const char *net_name_normalise(const char *text, char to[NET_NAME_MOST + 1]);
/* Reads a port from 1 on, and moves *at behind it.  NULL, or why it is none. */
const char *net_port_parse(const char **at, uint16_t *ret);
/* Whether names and ranges of `a` are all among those of `b`. */
bool net_rule_is_within(const struct net_rule *a, const struct net_rule *b);

/* Whether the sandbox's name server knows a name (in small letters). */
bool net_rules_have_name(const struct net_rules *rules, const char *name);
/* Whether a connection to that name is for the sandbox to make. */
bool net_rules_allow_name(const struct net_rules *rules, const char *name, uint32_t port);
bool net_rules_allow_host(const struct net_rules *rules, uint32_t port);
/* Whether a rule names the address.  One that leads home, or is one of the machine's own (is_own), is named
 * by itself or by a range of addresses that all lead home so, and not by a wider one. */
bool net_rules_allow_address(const struct net_rules *rules, const struct net_address *a, uint32_t port,
                             bool is_own);
/* Whether the name is reached by the proxy. */
bool net_rules_go_via(const struct net_rules *rules, const char *name, uint16_t port);
/* Whether a connection would lead to the proxy itself, which would then reach anything. */
bool net_rules_lead_to_proxy(const struct net_rules *rules, const char *name, uint16_t port);
/* The same of an address that a name leads to, of a proxy that is named by its address. */
bool net_rules_are_led_to_proxy(const struct net_rules *rules, const struct net_address *a, uint32_t port);
/* Whether --deny names it. */
bool net_rules_deny_name(const struct net_rules *rules, const char *name);
/* Whether --deny names the address. */
bool net_rules_deny_address(const struct net_rules *rules, const struct net_address *a);

/* lists.c: the shipped lists of hosts. */
struct net_list {
        const char *name;         /* without the '@' */
        const char *what;         /* whom it is for */
        const char *const *hosts; /* as --allow takes them, NULL at the end */
};
extern const struct net_list net_lists[];
extern const size_t n_net_lists;
const struct net_list *net_list_find(const char *name);
