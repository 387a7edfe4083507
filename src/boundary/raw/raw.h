/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child of a raw plan, while it builds the sandbox. */
#pragma once

#include "boundary/builder.h"
#include "boundary/mount.h"

struct raw {
        struct builder *builder;
        const struct boundary_raw *asked;
        struct mounting mount;
        int base_root;    /* the first tmpfs, in a folder of which the new root is built */
        bool covers_root; /* the current operation may have mounted something on the new root itself */
        int console;      /* the command's terminal; or -EBADF */
        int label_self;   /* the host's /proc/self, for the command's label; or -EBADF */
        int operation;    /* index of the current operation, for a failure's report; or -1 */
};

/* raw_mount.c: the new root, and the plan's operations. */
int raw_mount_root(struct raw *w);
int raw_mount_operations(struct raw *w);
int raw_mount_seal(struct raw *w);
/* Fails with what went wrong on which path.  bwrap/message.c, which knows the option, makes
 * bubblewrap's sentence of it. */
int raw_mount_fail(struct raw *w, int r, const char *path, const char *what);

/* Enters the working directory, beneath w->mount.new_root. */
int raw_mount_enter_directory(struct raw *w);

/* raw_container.c: what a container's configuration asks for. */
int raw_propagate(struct raw *w, const struct plan_op *op);
int raw_mask(struct raw *w, const struct plan_op *op);
int raw_sysctl(struct raw *w, const struct plan_op *op);
/* Makes the command's terminal, if one is asked for, and sends its master away; then, in a session of its
 * own, makes it standard input, output and error. */
int raw_open_console(struct raw *w);
int raw_take_console(struct raw *w);
int raw_become_root(struct raw *w);
int raw_enter_namespaces(struct raw *w);

/* raw_cover.c: what comes over the finished tree. */
int raw_protect(struct raw *w, const struct plan_op *op);
int raw_hide(struct raw *w, const struct plan_op *op);
