/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp --listen`: a socket, and a server for each client that connects to it. */
#pragma once

#include "server.h"

enum {
        LISTEN_CLIENTS_MOST = 32 /* at once: each has a process, and a session unless one is shared */
};

/* Makes the socket `path`, says so on standard output, and serves clients until a signal comes; then ends
 * them and removes it.  The caller has blocked SIGINT, SIGTERM and SIGHUP, and has no threads.  -EPERM: the
 * sandbox's commands, or those of earlier runs, could reach the socket or replace it; -EADDRINUSE: somebody
 * listens there. */
int mcp_listen(const struct mcp_settings *settings, const char *path, struct nsrun_error *err);
