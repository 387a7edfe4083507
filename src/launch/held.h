/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What who started a sandbox has of it for those who show it more. */
#pragma once

#include "base/macro.h"

/* A sandbox's mount and network namespaces, held by who waits for its pid 1, which nobody can look at once
 * it is built; nor at any of the command's processes, if the command sees to that.  Negative: not held. */
struct launch_held {
        int mount_namespace, network;
};
#define LAUNCH_HELD_INIT                                     \
        (struct launch_held) {                               \
                .mount_namespace = -EBADF, .network = -EBADF \
        }
void launch_let_go(struct launch_held *held);
