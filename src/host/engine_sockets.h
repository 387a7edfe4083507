/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths of sockets by which a program could make a container engine do anything on the host. */
#pragma once

#include "base/name_list.h"

/* Lists the control sockets of container engines and virtual machines: the paths as they are known
 * or configured and those where symlinks lead.  They are listed whether they exist or not; those in
 * `home` (may be NULL) only if they exist, so that rules can show the home's other folders.
 * `names` are those in the home, or NULL. */
int sockets_list(char *const *environment, const char *home, const struct name_list *names, char ***ret);
