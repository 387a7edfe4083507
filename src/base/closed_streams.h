/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard streams that the caller has closed, kept out of the way of what nsrun opens. */
#pragma once

#include "error.h"

/* Until the release no descriptor that is opened gets the number of a standard stream that is closed: the
 * command, or that of another thread, would have it as its stream, or it would be closed in a stream's
 * place. The files that hold the numbers are closed by a child's exec(2).  For several threads at once, and
 * for one several times; each has a release.  0, or sys_memfd()'s error: then nothing is held, nor to be
 * released. `err` may be NULL: who ends a run goes on without. */
int closed_streams_hold(struct nsrun_error *err);

/* The last one's closes the streams again, unless the caller has opened them meanwhile. */
void closed_streams_release(void);

/* For the result of a hold that lasts as long as the function. */
static inline void closed_streams_leave(const int *held) {
        if (*held >= 0)
                closed_streams_release();
}
#define _cleanup_streams_ _cleanup_(closed_streams_leave) nsrun_unused

/* Whether a descriptor is one that holds a number, and the caller's stream closed. */
bool closed_streams_has(int fd);
