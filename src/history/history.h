/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log of runs (--log): $XDG_STATE_HOME/nsrun/log/current, one JSON object a line, and the file before
 * it, "previous".  No command may write there (rules/own_folders.c).
 *
 *     {"time":"2026-11-30T08:30:00.123Z","run":"1f2e…","chain":"SHA-256 of the line before",
 *      "event":"begin","command":["make"],"cwd":"/p","project":"/p","plan":"SHA-256 of what nsrun plan
 * --format=json prints"}
 *
 * and lines of --status-fd ("note", "network", "exited"), with --report denied calls ("denied"), questions
 * that were answered ("asked"), and what a person did outside of any run ("accepted", "granted",
 * "revoked", "committed", "discarded").  A
 * line that was taken out, or changed, breaks the chain; of the last one the file "last" has the digest. */
#pragma once

#include "base/json.h"
#include "plan/plan.h"

#define HISTORY_CURRENT  "current"
#define HISTORY_PREVIOUS "previous"
#define HISTORY_SIZE     (16U << 20) /* of a file: then it becomes the previous one */
#define HISTORY_LINE     (64U << 10) /* a longer line is cut, and said to be */

struct history {
        int folder; /* of the log; -EBADF: nothing is logged */
        int draft;  /* takes lines until history_take() */
        char run[17];
};

#define HISTORY_INIT                              \
        (struct history) {                        \
                .folder = -EBADF, .draft = -EBADF \
        }

/* Writes the beginning of a run down, if its plan says so; `session`: the id of the session whose sandbox it
 * is, or NULL: no command starts that can't be.  -errno with *err filled. */
int history_begin(const struct nsrun_plan *plan, const char *session, struct history *ret,
                  struct nsrun_error *err);
/* Moves all lines of the draft to the log; `event` (may be NULL): what those are that don't say it.  0 where
 * nothing is logged; -errno: something isn't written down. */
int history_take(struct history *h, const char *event);
void history_close(struct history *h);

/* Writes an event of no run's down, if there is a log.  0, or -errno. */
int history_add(struct json_document *event);

/* Reads the log, the oldest line first: `line` is called with each, and whether the chain holds there, until
 * it returns below 0.  *ret_is_whole: the last one is that which was written last.  -ENOENT: there is no
 * log; -errno. */
int history_read(int (*line)(void *data, const char *text, size_t n, bool is_chained), void *data,
                 bool *ret_is_whole);
