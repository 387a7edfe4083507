/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A Wayland compositor asked for a security context (wp_security_context_v1): it then knows of each client
 * that comes by a certain socket that it is a sandbox's.  The wire protocol by hand: five requests. */
#pragma once

#include "base/macro.h"

/* Whether the compositor behind a fresh connection offers security contexts: 1, with the manager's name in
 * the registry; 0: it doesn't; -errno: nothing of Wayland's answers there. */
int wayland_find_contexts(int fd, uint32_t *ret_name);
/* On the same connection: has the compositor accept clients at `listener`, as a sandbox's, until the other
 * end of `close_fd` is closed.  Takes none of the descriptors.  0, or -errno. */
int wayland_make_context(int fd, uint32_t name, int listener, int close_fd);
