/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox is granted while it runs (running/granted.h), for whoever waits for it: what a command
 * makes there, and what the host replaces, is treated as in what it had from the start. */
#pragma once

#include "run.h"

/* Takes note of what was granted and taken back since the last call, and says so to who asks; and does what
 * run_take_appeared() does, for what was granted. */
void run_grants_take(struct run *run);
/* The first part alone; in the end that is all, since nobody is granted more. */
void run_grants_read(struct run *run);
/* Readable when there is something to take; or -EBADF. */
int run_grants_fd(const struct run *run);
/* protected_end() of all. */
int run_grants_end(struct run *run, int (*found)(void *data, const struct nsrun_error *note), void *data);
void run_grants_clear(struct run *run);

/* run.c: ends a sandbox of which something can't be kept; and makes what names are moved to. */
void run_judge_replaced(struct run *run, struct nsrun_error *why, int r);
void run_make_killed(void *data);
