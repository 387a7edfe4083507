/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command without a sandbox has started: all that descends from its reaper, which is a subreaper.
 * There kill(-1) would reach every process of the user's. */
#pragma once

#include <sys/types.h>

/* To the process group of `command` (0: it has ended) and to this process's children: the command, and those
 * whose parents have ended. */
void descendants_signal(pid_t command, int signal);
/* Kills and reaps until no child is left: whose parent is killed becomes a child.  What has become root's,
 * as with sudo(8), can't be killed and is left.  *status is the wait(2) status of `command`, where that was
 * reaped here. */
void descendants_end(pid_t command, int *status);
