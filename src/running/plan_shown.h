/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan in force of a sandbox.  Its bytes lie in a file in memory, made while the sandbox is being built,
 * which the waiter has open: `nsrun inspect` finds it in /proc/PID/fd, as this user and no
 * other.  So it tells also of one that is stopped, and of a program with the library, whose threads and
 * signals are its own; and nobody can be kept waiting.  Nothing inside has the descriptor, or a /proc with
 * the waiter. */
#pragma once

#include "base/str.h"
#include "plan/plan.h"

#define SHOWN_EVENT '\1'
struct shown_event {
        uint64_t kind, of, n; /* granted.h says what */
};
void shown_form_event(struct strbuf *b, const struct shown_event *event, const void *bytes);
/* The file's descriptor, which the caller closes when the sandbox is gone.  `degraded`: what is, so far;
 * `event`: the first, `with` its bytes.  -errno: there is no file, and inspect says so. */
int shown_begin(const struct nsrun_plan *plan, pid_t init, char *const *degraded,
                const struct shown_event *event, const void *with);
/* Adds to it, whoever else does, if that leaves `spare` bytes.  `fd`: shown_begin()'s or shown_open()'s. */
int shown_append(int fd, const void *bytes, size_t n, size_t spare);
/* Adds what is found to be degraded later.  `fd`: shown_begin()'s; or -errno. */
void shown_add(int fd, const char *degraded);
/* Its bytes, for free(3), with a NUL behind them; where in them that begins which was added, and where what
 * comes after the part at `at` of that.  An event is SHOWN_EVENT, its struct, and event.n bytes. */
int shown_bytes(int fd, char **ret, size_t *ret_n);
size_t shown_added(const char *bytes, size_t n);
size_t shown_next(const char *bytes, size_t n, size_t at);
/* Opens the file of the sandbox with that pid 1 for whose end `waiter` waits.  Stage SUPERVISE. */
int shown_open(pid_t waiter, pid_t init, struct nsrun_error *err);
/* Reads the plan.  *ret is for plan_free(), *ret_degraded for strv_free().  Stage SUPERVISE. */
int shown_read_open(int fd, struct nsrun_plan **ret, char ***ret_degraded, struct nsrun_error *err);
int shown_read(pid_t waiter, pid_t init, struct nsrun_plan **ret, char ***ret_degraded,
               struct nsrun_error *err);
