/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who listens on a TCP port of localhost, in the network that a session has. */
#pragma once

#include "plan/plan.h"

enum port_state {
        PORT_FREE,   /* nobody */
        PORT_OURS,   /* a process of the session */
        PORT_OTHERS, /* another process of the host, whose network the session has */
};

/* 0 with *ret, or -errno. */
int port_look(const struct plan_join *join, unsigned port, enum port_state *ret);
