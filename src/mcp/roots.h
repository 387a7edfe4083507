/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders that a client says it works in.  They change nothing of what the sandbox has, which is the
 * host's to say: the client's log is told of those that the sandbox hasn't got. */
#pragma once

#include "server.h"

/* Asks the client for its roots. */
void roots_ask(struct mcp_server *s);
/* Takes the answer.  False: the response is another's. */
bool roots_take(struct mcp_server *s, const struct message *m);
