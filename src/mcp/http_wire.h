/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `nsrun mcp --http` and nsrun-http say to one another.  nsrun-http has the clients' connections, and
 * knows of the protocol what HTTP's headers have of it; it asks for a server for each session, and for each
 * request that stands for itself, by handing over a socket on which that server is to speak lines. */
#pragma once

#include "base/programs.h"

/* nsrun-http's descriptors. */
enum {
        HTTP_FD_LISTEN = SPAWN_FIRST_FD, /* a socket that listens */
        HTTP_FD_CONTROL,                 /* a SOCK_SEQPACKET socket; its end is nsrun-http's */
};

enum {
        HTTP_TOKEN_SIZE = 65,   /* 256 bits in hexadecimal */
        HTTP_SERVERS_MOST = 64, /* at once */
};

/* The first message to nsrun-http. */
struct http_start {
        uint16_t port;               /* of 127.0.0.1; 0: a Unix socket, whose clients need no token */
        char token[HTTP_TOKEN_SIZE]; /* "": none */
};

/* nsrun-http's messages: one byte, with a descriptor. */
enum http_wanted {
        HTTP_WANTS_SESSION = 's', /* a server with a session of its own */
        HTTP_WANTS_REQUEST = 'r', /* one for one request, in the session that all of these share */
};
