/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* root, and a project that is somebody else's: the usual CI job in a container, `sudo nsrun`, a service. */
#pragma once

#include "base/error.h"

/* In a sandbox root has no capabilities, and so no power over another user's files: for a project that its
 * owner alone may write this process becomes that owner, for good, and says so.  HOME and the folders of the
 * XDG variables that aren't the owner's are unset; an owner without a home gets /var/lib/nsrun/UID.  Where
 * it can't become the owner, it says that the command can't write; so it does of a session, which stays
 * root's, since no later process of root's could join it.
 *
 * It does so in a user namespace that root makes and that has the owner's ids alone: who isn't in that and
 * isn't its owner, root, needs CAP_SYS_PTRACE there to trace a process of it, or to read its environment,
 * memory and descriptors (cap_ptrace_access_check()), so that the owner's processes on the host have nothing
 * of one that was root's, and no core of it is written.  They may signal it.
 *
 * `named`: the project, where it is named; or NULL.  0, or -errno with *err filled. */
int owner_become(const char *named, bool is_session, struct nsrun_error *err);
