/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals to all that a command without a sandbox has started: the descendants of its reaper, a
 * subreaper.  (kill(-1), which reaches a sandbox's processes, would reach every process of the
 * user's.) */
#pragma once

#include <sys/types.h>

/* Sends a signal to the process group of `command` (0: it has ended) and to this process's
 * children: the command, and processes whose parents have ended. */
void descendants_signal(pid_t command, int signal);
/* Kills and reaps children until there is none: a process whose parent is killed becomes a child.
 * One that has become root's, as with sudo(8), can't be killed and is left.  *status is the wait(2)
 * status of `command` if that was reaped here. */
void descendants_end(pid_t command, int *status);
