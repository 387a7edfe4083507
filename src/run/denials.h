/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `--report` tells: which calls the filter denied, how often, and whose.  The kernel
 * asks about each (SECCOMP_RET_USER_NOTIF); the answer is what the filter said before it
 * was made to ask, found by simulating it. */
#pragma once

#include "plan/plan.h"

struct denials;

/* `plan` has a filter, and outlives this. */
int denials_new(const struct nsrun_plan *plan, struct denials **ret);
/* Returns NULL; NULL is fine. */
struct denials *denials_free(struct denials *denials);
/* Takes one question from the listener and answers it.  -errno: the listener is of no
 * use any more. */
int denials_answer(struct denials *denials, int listener);
/* One JSON object a line for each kind of denied call, in the order in which they came:
 * {"syscall":"socket","arch":"x86_64","args":{"family":"AF_VSOCK"},"errno":"EAFNOSUPPORT",
 *  "pid":N,"comm":"curl","count":N}; pid and comm are of the first one. */
int denials_write(const struct denials *denials, int fd, struct nsrun_error *err);
/* The same as one JSON array, for the caller to free. */
int denials_format(const struct denials *denials, char **ret, struct nsrun_error *err);
