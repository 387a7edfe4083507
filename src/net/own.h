/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which addresses are this machine's own. */
#pragma once

#include "base/address.h"

/* Whether an interface of this machine, or the one of that name, has the address.  -errno: it can't be
 * known. */
int own_interface_has(const struct net_address *a, const char *name);
/* Whether what is sent there stays in this machine. */
bool own_address(const struct net_address *a);
