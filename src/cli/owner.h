/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* root, and a project that is somebody else's: the usual CI job in a container, `sudo nsrun`, a service. */
#pragma once

#include "base/error.h"

/* In a sandbox root has no capabilities, and so no power over another user's files: for a project that its
 * owner alone may write this process becomes that owner, for good, and says so.  HOME and the folders of the
 * XDG variables that aren't the owner's are unset.  Where it can't become the owner, it says that the
 * command can't write.  `named`: the project, where it is named; or NULL.  0, or -errno with *err filled. */
int owner_become(const char *named, struct nsrun_error *err);
