/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan in force of a sandbox.  Its bytes lie in a file in memory, made while the sandbox is being built,
 * which the waiter has open and reads never: `nsrun inspect` finds it in /proc/PID/fd, as this user and no
 * other.  So it tells also of one that is stopped, and of a program with the library, whose threads and
 * signals are its own; and nobody can be kept waiting.  Nothing inside has the descriptor, or a /proc with
 * the waiter. */
#pragma once

#include "plan/plan.h"

/* The file's descriptor, which the caller closes when the sandbox is gone.  `degraded`: what is, so far.
 * -errno: there is no file, and inspect says so. */
int shown_begin(const struct nsrun_plan *plan, pid_t init, char *const *degraded);
/* Adds what is found to be degraded later.  `fd`: shown_begin()'s; or -errno. */
void shown_add(int fd, const char *degraded);
/* Reads the plan of the sandbox with that pid 1 for whose end `waiter` waits.  *ret is for plan_free(),
 * *ret_degraded for strv_free().  Stage SUPERVISE. */
int shown_read(pid_t waiter, pid_t init, struct nsrun_plan **ret, char ***ret_degraded,
               struct nsrun_error *err);
