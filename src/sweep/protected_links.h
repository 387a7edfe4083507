/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a protected symlink said before any command that runs could replace it: no mount keeps one from that,
 * and what such a command has put there is not the user's, to be put back after it. */
#pragma once

#include "protected_aside.h"

/* Gives each link the text that it had when the first of the runs that are alive began, also where it is
 * gone at this moment, and makes those unsure that such a run may have made.  `u`: this run's directory,
 * where its own links are written down for others, and which is made where only others know of one; or
 * `session`: the path of the run directory of the session that the command joins, which has written them.
 * -ENOMEM. */
int links_settle(struct protected_names *names, struct rundir *u, const char *session);
/* At the end of a run: makes those again that are gone from the folder, and tells.  -ENOMEM, or what that
 * says. */
int links_put_back(const struct look *l);
