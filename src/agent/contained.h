/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A captured command in a sandbox, as a struct command_source. */
#pragma once

#include "command.h"
#include "run/run.h"

struct contained {
        struct command_source source;
        const struct nsrun_plan *plan;
        struct run run;
};

/* Starts a plan's command with /dev/null to read and its output in a pipe.  Processes that the
 * command leaves behind live on until `end`.  A failure in the child is reported by `take`.  After
 * a failure here there is nothing to end. */
int contained_start(const struct nsrun_plan *plan, const struct run_params *params, struct contained *ret,
                    struct nsrun_error *err);

/* Waits until the sandbox of a command that has ended is gone, in a session until its reaper is, which
 * leaves the command's background processes alive; kills a command that hasn't ended.  All notes have been
 * made then. */
void contained_finish(struct contained *c);
