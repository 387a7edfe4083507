/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --protect=strict: protected names that don't exist can't be made, and no file of theirs appears on the
 * host.  The folder is shown as the upper layer of an overlay whose lower one has stubs under these names
 * (boundary/mount_stubs.c); here is decided which names of which folders are stubs. */
#pragma once

#include "rules/resolved.h"

/* A glob that is one name, as that name, for the caller to free.  -EINVAL: it has wildcards; -ENOMEM. */
int strict_unescape(const char *glob, char **ret);
/* Keeps `name` below the host's folder `folder`, wherever a writable rule shows it, from being made: it gets
 * a stub, or the first folder on its way that doesn't exist.  -errno of a look at the host, -ENOMEM. */
int strict_keep_free(struct resolved *s, const char *folder, const char *name);
/* Pins the symlink `source`, a protected name below a writable folder.  -EPERM with *err filled: a command
 * could make what it leads to; -ENOMEM. */
int strict_pin_link(struct resolved *s, const char *source, struct nsrun_error *err);
/* When all stubs are known: adds rules for the folders beside them, and refuses where no overlay can be had.
 */
int strict_finish(struct resolved *s, struct nsrun_error *err);
/* Refuses, before anything else, a policy in which strict can't hold. */
int strict_check(const struct resolved *s, struct nsrun_error *err);
