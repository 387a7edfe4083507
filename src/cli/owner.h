/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* root, and a project that is somebody else's: the usual CI job in a container, `sudo nsrun`, a service. */
#pragma once

#include "base/error.h"

/* In a sandbox root has no capabilities, and so no power over another user's files: of a project that its
 * owner alone may write it says so.  It becomes nobody else: whoever may trace that user's processes would
 * have the environment and descriptors of one that was root's.  `named`: the project, where it is named; or
 * NULL.  0, or -errno with *err filled. */
int owner_tell(const char *named, struct nsrun_error *err);
