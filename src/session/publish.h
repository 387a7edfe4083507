/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ports of a session's sandbox on the host, as its nsrun-net has them. */
#pragma once

#include "net/control.h"
#include "plan/record.h"

/* Asks the session's nsrun-net.  -errno where it can't be asked: then it has ended. */
int publish_ask(int folder_fd, const struct net_control *question, struct net_control_answer *ret);
