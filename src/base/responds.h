/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether what is mounted at a path answers: a program that serves a mount (FUSE, automount), or another
 * machine, may be gone, and who asks then waits for ever. */
#pragma once

#include "error.h"

/* Whether all that `path` leads through, below the folder `dir` where it is relative, answers in time.  What
 * lies on the folder's own mount, or an absolute path on the root's, is not asked at all; what isn't there
 * answers.  `shown`: the folder's name, or NULL.  0; -ETIMEDOUT with *err filled; -ENOMEM likewise. */
int responds_in_time(int dir, const char *path, const char *shown, struct nsrun_error *err);

/* The same of what is known to lie on another mount (EXDEV of an open with RESOLVE_NO_XDEV): 0; -ETIMEDOUT.
 * Before Linux 6.18 that open may itself wait, for what is mounted by it. */
int responds_elsewhere(int dir, const char *path);

/* Opens `path`, with `resolve`: 0, RESOLVE_NO_SYMLINKS (an absolute path), or that and RESOLVE_BENEATH (a
 * relative one); what lies on another mount if that answers: -ETIMEDOUT.  Without openat2(2) as beneath.h
 * has it. */
int responds_open(int dir, const char *path, int flags, uint64_t resolve);

/* The whole of a small plain file, as read_small_file() has it; -ETIMEDOUT. */
int responds_read(const char *path, size_t limit, char **ret);

/* Whether every folder on the way from `top`, which answers, to `path` answers, that of `path` itself not
 * included.  A folder costs one call that asks nobody, and what lies elsewhere as much as
 * responds_in_time(). 0; -ETIMEDOUT; -ENOMEM. */
int responds_below(const char *top, const char *path);

/* Fills *err with why path_canonical_to_be() failed, and returns that.  NULL: the path that was asked last,
 * and didn't answer. */
int responds_fail(int r, const char *path, struct nsrun_error *err);
