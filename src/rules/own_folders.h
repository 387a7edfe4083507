/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun keeps of other runs and sessions, and remembers of earlier ones. */
#pragma once

#include "resolved.h"

/* Refuses rules that would let a command write the folder of run directories, and a
 * symlink on the way to it that a command could replace. */
int refuse_rundirs(const struct resolved *s, struct nsrun_error *err);

/* Refuses rules that would show the folder of sessions' records, which say what a
 * session's commands may do: neither that folder, one in it, nor one that holds it. */
int refuse_records(const struct resolved *s, struct nsrun_error *err);
