/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports from the child of a launch to the supervisor, over a pipe; launch.h has the other end. */
#pragma once

#include "base/degraded.h"
#include "launch.h"

/* Sends one report, in one write(2). */
int report_send(int fd, const struct launch_report *report);
/* Reports a choice that the plan left to the launch. */
void report_note(int fd, const char *what, const char *path);
/* Reports that something is had in a lesser way, or refuses it, for --strict: 0, or -EOPNOTSUPP with *err
 * filled.  `hint`: NULL, or what mends it here. */
int report_degraded(int fd, bool is_refused, enum degraded_id id, const char *path, const char *hint,
                    struct nsrun_error *err);
/* Reports the failure of a plan's operation (-1: of no operation) and ends the process. */
_Noreturn void report_failure(int fd, int operation, const struct nsrun_error *error);
