/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command in a sandbox of its own, as a struct command_source: the one place that says how a
 * captured command is started. */
#pragma once

#include "command.h"
#include "denials.h"
#include "disk.h"
#include "oom.h"

/* What the library and the program do differently. */
struct contained_params {
        const char *init_path; /* as launch_params */
        bool dies_with_thread;
        bool may_move; /* as cgroup_prepare() */
        bool wants_denials;
        const sigset_t *mask;
        char *command_line;
        size_t command_line_size;
};

struct contained {
        struct command_source source;
        const struct nsrun_plan *plan;
        struct launch launch;
        struct umbrella umbrella;
        struct cgroup cgroup;
        struct oom_watch memory;
        struct denials *denials;
        int listener;
        char **notes; /* what was left to be decided, one line each; NULL: none */
};

/* Whether the kernel killed somebody of it for want of memory, asked once, before it is ended.  A count
 * that others share says so only of a command that SIGKILL has ended: `was_killed`. */
bool contained_ran_out_of_memory(struct contained *c, bool was_killed);

/* Starts it.  A failure of what the child does comes from `take`.  After a failure here nothing is to
 * be ended. */
int contained_start(const struct nsrun_plan *plan, const struct contained_params *params,
                    struct contained *ret, struct nsrun_error *err);
