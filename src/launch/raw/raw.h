/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child under a raw plan, while it builds the sandbox. */
#pragma once

#include "launch/child.h"
#include "launch/mount.h"

struct raw {
        struct child *child;
        const struct plan_raw *plan;
        struct mounting mount;
        char uid_map[48], gid_map[48];
        char inner_uid_map[48], inner_gid_map[48]; /* of the second user namespace: onto themselves */
        int base_root;                             /* the first tmpfs, in which the new root is a folder */
        bool covers_root; /* what the operation at hand has mounted may lie on the new root */
        int operation;    /* the one at hand, for a failure's report; or -1 */
};

/* raw_mount.c */
int raw_mount_root(struct raw *w);
int raw_mount_operations(struct raw *w);
int raw_mount_seal(struct raw *w);
