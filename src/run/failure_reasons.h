/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --explain: why a command failed, as far as the sandbox is the cause, on standard error. */
#pragma once

#include "run.h"

/* Tells it of a run that has ended: a line for each reason, at most EXPLAIN_MOST, or none.  Of a command
 * that succeeded it tells what was protected from it. */
void reasons_tell(struct run *run, const struct nsrun_plan *plan);
