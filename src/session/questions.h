/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that no rule of a session covers, put to a person who answers for all of its commands. */
#pragma once

#include "base/error.h"

/* *ret_fd is where terminal/asking.h's questions come, *ret_init the session's pid 1.  Refuses a session
 * that asks nobody. */
int session_join_questions(const char *id, int *ret_fd, pid_t *ret_init, struct nsrun_error *err);
