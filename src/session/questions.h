/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that no rule of a session covers, and files that its commands don't find, put to a person who
 * answers for all of its commands. */
#pragma once

#include "terminal/file_asker.h"

struct session_questions {
        int names;  /* where terminal/asking.h's questions come; or -EBADF: there are none */
        int end;    /* the session's pid 1's pidfd */
        pid_t init; /* and its pid */
        struct file_asker files;
};
#define SESSION_QUESTIONS_INIT                                           \
        (struct session_questions) {                                     \
                .names = -EBADF, .end = -EBADF, .files = FILE_ASKER_INIT \
        }

/* Refuses a session that asks nobody. */
int session_join_questions(const char *id, bool with_files, struct session_questions *ret,
                           struct nsrun_error *err);
void session_leave_questions(struct session_questions *q);
