/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs of nsrun's on the host's side that read what strangers write, without what they don't need.  Each
 * call is for the rest of the process's life.  -errno where the kernel refuses. */
#pragma once

#include <stdbool.h>

/* nsrun-net: no capability, no file but those that the C library looks names up with and these for reading,
 * no program, no process but its threads, no other kind of socket. */
int confine(void);
/* nsrun-http: no file at all; but a kernel with Landlock lets nobody in its domain look at the namespaces of
 * who is outside, and who judges clients by them may read. */
int confine_http(bool looks_at_peers);
/* desktop/ssh_agent.c and desktop/browser.c: bytes between descriptors that they have. */
int confine_agent(void);
/* What desktop/dbus_proxy.c becomes: `program`, which may make a socket in `folder`. */
int confine_proxy(const char *program, int folder);
