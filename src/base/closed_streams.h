/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard streams that the caller has closed, kept out of the way of what nsrun opens. */
#pragma once

#include <stdbool.h>

/* Until the release no descriptor that is opened gets the number of a standard stream that is closed: the
 * command would have it as its stream, or it would be closed in a stream's place.  What holds the numbers
 * ends at the exec.  May be called by several threads, and again before the release; where there is no
 * memory for that, nothing is held. */
void closed_streams_hold(void);

/* The streams are closed again, unless somebody has opened them meanwhile. */
void closed_streams_release(void);

/* Whether the number is held, and the stream closed. */
bool closed_streams_has(int fd);
