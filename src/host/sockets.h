/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which paths lead to an engine that would do anything for whoever connects. */
#pragma once

#include "base/macro.h"

/* The control sockets of container engines and virtual machines, in every form (as
 * listed or configured, and where symlinks lead), whether they exist or not; those
 * below `home` (may be NULL) only where they do, so that it can be shown. */
int sockets_list(char *const *environment, const char *home, char ***ret);
