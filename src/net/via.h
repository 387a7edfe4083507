/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way out through the user's own proxy: what is said to it before a connection's bytes are.  reach.c
 * connects to it, via.c asks it for the host that was meant. */
#pragma once

#include "relay.h"

/* Connects the flow to the proxy.  For one that wants addresses f->addresses[0] is the host's own. */
void via_begin(struct helper *h, struct flow *f);
/* What the host's resolver says of the proxy's name. */
void via_resolved(struct helper *h, struct flow *f, const struct net_address *addresses, size_t n);
/* Nobody answers at the proxy's addresses. */
void via_unreached(struct helper *h, struct flow *f);
/* `fd` is connected to the proxy. */
void via_connected(struct helper *h, struct flow *f, int fd);
/* The flow ends. */
void via_stop(struct helper *h, struct flow *f);
/* Nothing looks at the flow any more. */
void via_free(struct flow *f);
/* Ends those that the proxy has kept waiting for too long.  For how long to wait then, in milliseconds; -1:
 * for ever. */
int via_turn(struct helper *h);
