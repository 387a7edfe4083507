/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --explain: why a command failed, as far as the sandbox is the cause, on standard error and as status
 * lines. */
#pragma once

#include "run.h"

/* Tells it of a run that has ended: a line for each reason, at most EXPLAIN_MOST, or none; to status_fd,
 * too, unless that is -1.  Of a command that succeeded it tells what was protected from it.  0, or what kept
 * a status line from being written. */
int reasons_tell(struct run *run, const struct nsrun_plan *plan, int status_fd);
