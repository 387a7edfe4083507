/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a session as its commands see them, for file tools of the host's. */
#pragma once

#include "base/error.h"

/* A workspace over all that the session's commands see, at the paths that it has there: its root folder and
 * all mounts in it, opened once.  What a command can't write, nobody can by this: the mounts say so.  The
 * project is where relative paths begin.  Each path is judged by letters and then walked from the root
 * folder's descriptor, as every workspace's is (workspace/resolve.h), so that no link leads out of the
 * sandbox.  What the kernel lets be written in /proc is there, too: its caller asks which file system a file
 * is of.  As root the caller gives up its capabilities first, which no command has.
 *
 * The descriptors hold the session's mounts: free it before the session is ended.  -ENOENT: no such
 * session. */
int session_view(const char *id, struct nsrun_workspace **ret, struct nsrun_error *err);
