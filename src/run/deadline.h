/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command's deadline: when it has come, and which signal is to be sent then.  Sends none itself. */
#pragma once

#include "base/error.h"

/* The exit status for a command that its deadline has ended, as timeout(1) has it. */
#define EXIT_TIMED_OUT 124

/* Seconds between SIGTERM and SIGKILL. */
#define DEADLINE_GRACE_SECONDS 5

/* What is said of a command that was ended; its argument is the deadline in seconds. */
#define DEADLINE_TOLD        "command timed out after %us (sent SIGTERM, then SIGKILL)"
#define DEADLINE_TOLD_GENTLY "command timed out after %us (sent SIGTERM)"

struct deadline {
        int fd;          /* readable when the deadline, or the time after SIGTERM, is over; or -EBADF */
        bool was_told;   /* SIGTERM is sent, or to be sent */
        bool was_forced; /* and SIGKILL, too */
};
#define DEADLINE_INIT        \
        (struct deadline) {  \
                .fd = -EBADF \
        }

/* Starts the clock. */
int deadline_begin(struct deadline *d, unsigned seconds, struct nsrun_error *err);
/* Reads the clock: whether time is up, which is told once. */
bool deadline_is_over(struct deadline *d);
/* The signal with which the command is to be ended now: SIGTERM at first, SIGKILL the next time; or -errno,
 * with *err filled. */
int deadline_press(struct deadline *d, struct nsrun_error *err);
void deadline_end(struct deadline *d);
