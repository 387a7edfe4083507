/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the child of a launch says to the supervisor over the pipe; launch.h has the other end. */
#pragma once

#include "launch.h"

/* One report, in one write. */
int report_send(int fd, const struct launch_report *report);
/* Tells of a choice that the plan left to the launch. */
void report_note(int fd, const char *what, const char *path);
/* Reports the failure of a plan's operation (-1: of no operation) and ends the process. */
_Noreturn void report_failure(int fd, int operation, const struct nsrun_error *error);
