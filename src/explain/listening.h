/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether somebody listens at a TCP port of the loopback addresses, at one of them or at every address, in
 * the network namespace whose /proc/PID/net is `folder`.  False where that can't be read.  At most *left
 * lines are read, which is then what is left of them; at 0 nobody can tell.  NULL: all there are. */
bool listening_at_loopback(const char *folder, unsigned port, size_t *left);
