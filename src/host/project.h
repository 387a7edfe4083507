/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a project begins, and which folders can't be one. */
#pragma once

#include "base/error.h"

/* The git top level at or above `start` (canonical): the nearest folder that holds a `.git` (folder or
 * file), else `start` itself.  Runs no git.  *ret is the caller's. */
int project_find(const char *start, char **ret);

/* Why `path` (canonical) can't be a project: static text ("a system root",
 * "a home folder"), or NULL where it can.  `home` may be NULL. */
const char *project_denied(const char *path, const char *home);
/* The same for a writable root: "/" and the system roots. */
const char *writable_denied(const char *path);
