/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of --net=allow share: a host with a network of its own, in which one server has all
 * addresses and writes down what comes; and a client, which is the test program itself. */
#pragma once

#include <sys/socket.h>

#include "stage.h"

/* The host's addresses: 203.0.113.1 is its own; all others of the ranges that net.c has are the server's,
 * at ports 8080 and 80, which answers "to ADDRESS: N bytes" when it has read all.  What comes by UDP is
 * written down too. */
struct world {
        const struct site *site;
        char *hosts, *resolv,
                *log;        /* files of the site: the host's /etc/hosts and resolv.conf, and what came */
        const char *command; /* nsrun's subcommand; NULL: run */
        const char *proxy;   /* the way of a proxy at 127.0.0.1:PROXY_PORT; NULL: there is none */
        unsigned long
                n_packets; /* what went over the host's only interface in the last run: the kernel's count */
};
#define WORLD_PORT     8080
#define WORLD_ABSTRACT "\0nsrun-test-world" /* one waits at that name, too */

void world_make(const struct site *s, struct world *ret, const char *hosts);
void world_clear(struct world *w);
#define _cleanup_world_ _cleanup_(world_clear)

/* `nsrun run OPTION… -- CLIENT WORD…` on that host. */
void world_run(struct world *w, struct outcome *ret, const char *const *options, const char *const *words);
#define WORLD_RUN(w, o, options, ...) world_run(w, o, options, OPTIONS(__VA_ARGS__))
/* The same without a sandbox: the positive control. */
#define WORLD_CONTROL(w, o, ...) world_run(w, o, NULL, OPTIONS(__VA_ARGS__))
void world_stage(void *data);
/* Adds a route to the network that the caller is in: 0, or the kernel's errno. */
int world_change_route(void);
/* Leads that network's way to a range home: `ip route add local TO/BITS dev lo src 203.0.113.1`. */
int world_add_local_route(const char *to, unsigned char bits);
/* Makes an address one of that network's own: 0, or the kernel's errno. */
int world_add_address(const char *address);

/* Does what argv asks for, if that is for the client, and doesn't return:
 *   reach HOST:PORT…     connects, sends two bytes, and prints the answer or the error
 *   send HOST:PORT…      the same by UDP, of which one byte comes back
 *   pretend HOST:PORT…   the same with a request that names private.test
 *   attempt              each way out that is none: "WAY: open" or "WAY: refused"
 *   ask SERVER…          asks the name server of that address many things: "TYPE NAME: CODE, N answers"
 *   hammer               connects to good.test:8080 and elsewhere until there is no network: "begun" after
 * the first connection, then "no network", or "a way out" count WORD…          runs that, and prints
 * "packets N" in the end serve PORT           answers one connection on 127.0.0.1 with "from inside" With
 * "wait" a line of standard input is read before what follows. */
void client_main(int argc, char **argv);

/* net-proxy.c: the world's proxy.  "http" and "socks" do as they are asked; "407" and "socks-user" want
 * u:p@:ss; "403", "close", "half", "short", "garbage", "flood", "early" (with a server's first bytes),
 * "slow", "die" (once it is connected), "socks-refuse", "socks-odd" and "socks-garbage" answer so.  What it
 * is asked for is written to the log. */
#define PROXY_PORT 3128
void proxy_start(const char *way, int log);

/* net-ways.c */
/* The nsrun-net that is a child of `parent`; 0: none. */
pid_t net_helper_of(pid_t parent);
void ways_attempt(void);
void ways_hammer(void);
void ways_ask(const char *server);
