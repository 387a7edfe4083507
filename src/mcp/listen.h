/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp --listen` and `--http`: an address, and servers for the clients that come to it. */
#pragma once

#include "server.h"

enum {
        LISTEN_CLIENTS_MOST = 32 /* at once: each has a process, and a session unless one is shared */
};

struct mcp_listening {
        const char *address; /* a socket's path; with HTTP also 127.0.0.1:PORT */
        bool is_http;
};

/* Makes the address, says so on standard output, and serves clients until a signal comes; then ends them,
 * and removes a socket.  The caller has blocked SIGINT, SIGTERM and SIGHUP, and has no threads.  -EPERM: the
 * sandbox's commands, or those of earlier runs, could reach the socket or replace it; -EADDRINUSE: somebody
 * listens there. */
int mcp_listen(const struct mcp_settings *settings, const struct mcp_listening *at, struct nsrun_error *err);
