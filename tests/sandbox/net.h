/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of --net=allow share: a host with a network of its own, in which one server has all
 * addresses and writes down what comes; and a client, which is the test program itself. */
#pragma once

#include <sys/socket.h>

#include "stage.h"

/* The host's addresses: 203.0.113.1 is its own; all others of the ranges that net.c has are the server's,
 * at port 8080, which answers "to ADDRESS: N bytes" when it has read all.  What comes by UDP is written down
 * too. */
struct world {
        const struct site *site;
        char *hosts, *resolv,
                *log; /* files of the site: the host's /etc/hosts and resolv.conf, and what came */
};

void world_make(const struct site *s, struct world *ret, const char *hosts);
void world_clear(struct world *w);
#define _cleanup_world_ _cleanup_(world_clear)

/* `nsrun run OPTION… -- CLIENT WORD…` on that host. */
void world_run(struct world *w, struct outcome *ret, const char *const *options, const char *const *words);
#define WORLD_RUN(w, o, options, ...) world_run(w, o, options, (const char *const[]){__VA_ARGS__, NULL})
#define OPTIONS(...)                  ((const char *const[]){__VA_ARGS__, NULL})
/* The same without a sandbox: the positive control. */
#define WORLD_CONTROL(w, o, ...) world_run(w, o, NULL, (const char *const[]){__VA_ARGS__, NULL})
void world_stage(void *data);

/* Does what argv asks for, if that is for the client, and doesn't return:
 *   reach HOST:PORT…     connects, sends two bytes, and prints the answer or the error
 *   attempt WHAT         one way out that is none
 *   serve PORT           answers one connection on 127.0.0.1 with "from inside"
 * With "wait" a line of standard input is read before what follows. */
void client_main(int argc, char **argv);
