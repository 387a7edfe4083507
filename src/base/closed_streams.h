/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard streams that the caller has closed, kept out of the way of what nsrun opens. */
#pragma once

#include <stdbool.h>

/* Until the release no descriptor that is opened gets the number of a standard stream that is closed: the
 * command would have it as its stream, or it would be closed in a stream's place.  The files that hold the
 * numbers are closed by a child's exec(2).  For several threads at once, and for one several times; each has
 * a release.  0, or sys_memfd()'s error: then nothing is held, nor to be released. */
int closed_streams_hold(void);

/* The last one's closes the streams again, unless the caller has opened them meanwhile. */
void closed_streams_release(void);

/* Whether the number, 0 to 2, is held, and the caller's stream closed. */
bool closed_streams_has(int fd);
