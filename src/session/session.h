/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's functions about sessions share. */
#pragma once

#include "plan/record.h"

/* Reads the record of a running session.  -ENOENT: no session has that id. */
int session_read(const char *id, struct record_folder *folder, struct plan_record *record,
                 struct nsrun_error *err);
/* Moves a descriptor above those numbers at which nsrun-monitor gets its own.  The old one is closed;
 * -errno.
 */
int session_lift(int fd);
/* Starts nsrun-monitor with a plan, a pipe for its answers, whose reading end is *ret_answers, and a
 * descriptor at MONITOR_FD_OWNER, or -1.  argv[0] is what it is to be. */
int session_start_program(char *const *argv, const struct nsrun_plan *plan, int owner_fd, int *ret_answers,
                          struct nsrun_error *err);
