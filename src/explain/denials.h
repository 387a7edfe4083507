/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `--report` says: which calls the filter denied, how often, and whose.  With --report the
 * kernel asks nsrun about each (SECCOMP_RET_USER_NOTIF).  nsrun answers what the plan's own filter
 * would have answered, which it finds out by simulating that filter. */
#pragma once

#include "launch/launch.h"

struct denials;

/* `plan` must have a filter, and must outlive *ret. */
int denials_new(const struct nsrun_plan *plan, struct denials **ret);
/* From now on watched calls come, too: `plan` says which are of interest.  `is_learning`: a path that was
 * there once stays so.  -ENOMEM. */
int denials_watch(struct denials *denials, const struct nsrun_plan *plan, bool is_learning);
/* What was watched; NULL: nothing is. */
struct watch;
struct watch *denials_watched(const struct denials *denials);
/* Frees it and returns NULL.  `denials` may be NULL. */
struct denials *denials_free(struct denials *denials);
/* What to poll for a launch's questions: its listener, or until that was received the socket that brings it;
 * or -1. */
static inline int denials_fd(const struct launch *l, int listener) {
        int fd = listener >= 0 ? listener : l->listener_socket;

        return fd >= 0 ? fd : -1;
}
/* To be called on poll(2)'s `events` of that: receives the listener if there is none yet, else takes one
 * question from it.  Without a listener the calls are denied all the same. */
void denials_take(struct denials *denials, struct launch *l, int *listener, int events);
/* Writes one line, a JSON object, for each kind of denied call, in the order in which they came
 * first: {"syscall":"socket","arch":"x86_64","args":{"family":"AF_VSOCK"},"errno":"EAFNOSUPPORT",
 * "pid":N,"comm":"curl","count":N}; pid and comm are those of the first such call. */
int denials_write(const struct denials *denials, int fd, struct nsrun_error *err);
/* The same as one JSON array, which the caller frees. */
int denials_format(const struct denials *denials, char **ret, struct nsrun_error *err);
/* Adds a reason for each kind of denied call that programs don't do without.  -ENOMEM. */
int denials_explain(const struct denials *denials, char ***ret);
/* Whether a call was denied that the policy "nested" allows. */
bool denials_want_nested(const struct denials *denials);
