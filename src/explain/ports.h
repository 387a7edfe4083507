/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reasons for ports that a command didn't get, or didn't reach. */
#pragma once

#include "output.h"

/* How many lines of the tables of who listens are read for a command's output. */
#define EXPLAIN_PORT_LINES_MOST 16384U

/* Of a line of the output; *left of those are to be read yet.  -ENOMEM. */
int explain_port_line(const struct explained *e, const char *line, size_t *left, char ***ret);
/* Of a port to which a socket was to be bound; 0: none.  -ENOMEM. */
int explain_low_port(const struct nsrun_plan *plan, unsigned port, char ***ret);
