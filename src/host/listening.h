/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Whether somebody listens at a TCP port of the loopback addresses, at one of them or at every address, in
 * the network namespace whose /proc/PID/net is `folder`.  False where that can't be read. */
bool listening_at_loopback(const char *folder, unsigned port);
