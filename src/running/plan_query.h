/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A question to an nsrun that runs: which plan is in force.  A run pays nothing for it: the question is a
 * signal whose default is to do nothing (SIGURG), sent by sigqueue(3) with a value that no other sender
 * uses, and the answer goes into a file in memory of the one who asks, who is this user and outside of any
 * sandbox: from inside no signal reaches a process of the host. */
#pragma once

#include <sys/signalfd.h>

#include "plan/plan.h"

enum query {
        QUERY_FACTS, /* lines of "NAME VALUE": project, net, seccomp, degraded */
        QUERY_TEXT,  /* the same, an empty line, and the plan as text */
        QUERY_JSON,  /* the same with the plan as JSON */
};

/* Whether a signal is a question; then it is not the command's. */
bool query_is(const struct signalfd_siginfo *info);
/* Answers it.  `degraded`: what is, by base/degraded.h, the launch's included. */
void query_answer(const struct signalfd_siginfo *info, const struct nsrun_plan *plan, char *const *degraded);
/* Asks the process behind `pidfd`, whose number is `pid`, and waits for `ms` milliseconds at most.
 * -ETIMEDOUT: it doesn't answer; -ESRCH: it has ended. */
int query_ask(int pidfd, pid_t pid, enum query what, int ms, char **ret);
/* The value of a line of the facts, from *at on (NULL: the first), which moves behind it; NULL: there is
 * none. The caller frees it. */
char *query_fact(const char *facts, const char *name, const char **at);
