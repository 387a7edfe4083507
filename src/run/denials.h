/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `--report` says: which calls the filter denied, how often, and whose.  With --report the
 * kernel asks nsrun about each (SECCOMP_RET_USER_NOTIF).  nsrun answers what the plan's own filter
 * would have answered, which it finds out by simulating that filter. */
#pragma once

#include "plan/plan.h"

struct denials;

/* `plan` must have a filter, and must outlive *ret. */
int denials_new(const struct nsrun_plan *plan, struct denials **ret);
/* Frees it and returns NULL.  `denials` may be NULL. */
struct denials *denials_free(struct denials *denials);
/* Takes one question from the listener, counts it and answers it.  -errno: the listener can't be
 * used any more. */
int denials_answer(struct denials *denials, int listener);
/* Writes one line, a JSON object, for each kind of denied call, in the order in which they came
 * first: {"syscall":"socket","arch":"x86_64","args":{"family":"AF_VSOCK"},"errno":"EAFNOSUPPORT",
 * "pid":N,"comm":"curl","count":N}; pid and comm are those of the first such call. */
int denials_write(const struct denials *denials, int fd, struct nsrun_error *err);
/* The same as one JSON array, which the caller frees. */
int denials_format(const struct denials *denials, char **ret, struct nsrun_error *err);
