/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file of the host's gets another content where it is. */
#pragma once

#include "base/macro.h"

/* Where the file at `path` (canonical) has these n bytes, it gets those m bytes, under git's lock,
 * NAME.lock. -EAGAIN: it has others; -EBUSY: the lock is another's; -EMLINK: it has several names; -errno.
 */
int in_place_replace(const char *path, const char *from, size_t n, const char *to, size_t m);
