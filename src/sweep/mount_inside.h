/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A mount in a sandbox that runs, made from outside. */
#pragma once

#include <sys/types.h>

#include "launch/held.h"

/* Descriptors of a sandbox: its user and mount namespace, and its root folder. */
struct inside {
        int user, mount_namespace, root;
};

#define INSIDE_INIT                                                        \
        (struct inside) {                                                  \
                .user = -EBADF, .mount_namespace = -EBADF, .root = -EBADF, \
        }

/* Opens them, for inside_close(): by what the waiter holds, whose descriptors' numbers those are; or, and
 * with NULL alone, by the sandbox's pid 1, or a process that this one has started and that is in them still.
 * -EACCES: by none of them, or the sandbox is being built still. */
int inside_open(pid_t waiter, const struct launch_held *numbers, pid_t init, struct inside *ret);
void inside_close(struct inside *inside);
/* For inside_do() alone: its network namespace, in the other's place. */
int inside_open_network(pid_t waiter, const struct launch_held *numbers, struct inside *ret);
/* Opens the root (O_PATH) of the mount with that id (sys_mount_of()), wherever it is now.  -ENOENT: it is
 * nowhere; -EAGAIN: not everything that is mounted could be looked at, since it is being moved, or something
 * else lies over it; another -errno. */
int inside_find(const struct inside *inside, pid_t init, uint64_t mount);

/* Calls a function in the sandbox's namespaces, in a process of its own that nothing in there can look at,
 * that dies with this one and of its descriptors has those in keep[n] alone.  What it returns, 50 at most;
 * or -errno. */
#define INSIDE_KEPT_MOST 4
int inside_do(const struct inside *inside, const int *keep, size_t n, int (*what)(void *data), void *data);

/* Mounts what `source` is, with the mounts below it, over `target`: descriptors, which may be O_PATH, of
 * what was opened beneath `root`; with the given attributes (MOUNT_ATTR_*) besides those that it has.  A
 * negative `source`: an empty folder that can't be written to.  -errno. */
int mount_inside(const struct inside *inside, int source, int target, uint64_t attributes);
