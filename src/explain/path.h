/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why a path was refused in a sandbox, by its plan.
 *
 * Who reads the reason may do what a command's output tells him, so that a reason must not answer a
 * command's questions about the host.  Whether a path exists is told of system folders, of what lies
 * directly in the home, and of the folder around the project.  Of what is in a folder of secrets, and in the
 * host's /tmp, the same words are said whether it exists or not, and of all else nothing. */
#pragma once

#include "plan/plan.h"

enum refused {
        REFUSED_ABSENT,  /* ENOENT */
        REFUSED_MAKE,    /* the same, of what was to be written */
        REFUSED_ACCESS,  /* EACCES, EPERM */
        REFUSED_WRITE,   /* EROFS */
        REFUSED_REPLACE, /* EBUSY: rename(2) of a mount point, as git does to its own */
        REFUSED_SPACE,   /* ENOSPC */
};

/* *ret is the reason, which the caller frees; or NULL: the sandbox didn't cause it, as far as may be told.
 * `path` is absolute.  A joining plan's operations must have been loaded.  -ENOMEM. */
int explain_path(const struct nsrun_plan *plan, const char *path, enum refused how, char **ret);
/* Whether it is read-only in a folder that is writable, and no version of the command's own. */
bool explain_is_protected(const struct nsrun_plan *plan, const char *path);
/* The operation that decides what is at a path: of those above it the lowest, and of two there the later; or
 * NULL. */
const struct plan_op *explain_covering(const struct nsrun_plan *plan, const char *path);
/* Whether that operation is the sandbox's own /tmp, in memory, where a command makes and reads files without
 * number; NULL isn't. */
bool explain_is_own_tmp(const struct plan_op *op);
