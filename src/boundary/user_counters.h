/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel counts for each user or user namespace, bounded for a sandbox: it may not use up what is
 * its user's on the whole host.  In the child, while the host's /proc is there. */
#pragma once

#include "builder.h"

/* Commands may have half of the user's inotify instances and watches.  They may make no cgroup namespace:
 * with one, a nested user namespace may mount cgroup2, and there freeze or kill every process in the
 * caller's cgroup.  The bounds belong to the sandbox's user namespace and hold for all below it (4.9). */
int counters_bound(struct builder *b);

/* With --protect=strict commands may make no mount namespace: in one that has no mount at a protected name
 * the kernel lets that be renamed and removed.  The file is opened while the host's /proc is there, and
 * written when the mount tree is made, for which open_tree(2) makes such namespaces.  Without
 * --protect=strict *ret is -EBADF, and nothing is forbidden. */
int counters_open_mount_namespaces(struct builder *b, int *ret);
int counters_forbid_mount_namespaces(struct builder *b, int fd);
