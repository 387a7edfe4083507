/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* subscriptions/listen, since 2026-07-28: a request that stays open for notifications.  This server has none
 * to send, as its tools never change, which it says in its acknowledgement. */
#pragma once

#include "server.h"

/* Opens one.  0; or the code of a refusal. */
int subscription_begin(struct mcp_server *s, const struct message *m, struct reply *refusal);
bool subscriptions_have(const struct mcp_server *s, const char *id);
/* Closes one that the client cancels, which has no answer. */
void subscriptions_cancel(struct mcp_server *s, const char *id);
/* Answers all. */
void subscriptions_end(struct mcp_server *s);
