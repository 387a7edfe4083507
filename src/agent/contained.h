/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command in a sandbox of its own, as a struct command_source: the one place that says how a
 * captured command is started. */
#pragma once

#include "command.h"
#include "run/run.h"

struct contained {
        struct command_source source;
        const struct nsrun_plan *plan;
        struct run run;
};

/* Starts it with /dev/null to read and its output in a pipe, and lets what it leaves behind live on until
 * its end.  A failure of what the child does comes from `take`.  After a failure here nothing is to be
 * ended. */
int contained_start(const struct nsrun_plan *plan, const struct run_params *params, struct contained *ret,
                    struct nsrun_error *err);
