/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How pid 1 sheds the memory of the host program that started it: by exec'ing nsrun-init, a small
 * program that reads its struct init as bytes. */
#pragma once

#include "child.h"

/* Before the clone: makes room for all that nsrun-init reads. */
int init_exec_prepare(struct child *c, struct nsrun_error *err);
void init_exec_free(struct child *c);
/* In the child: replaces this process by nsrun-init, which goes on as c->reaper.  Returns only on failure,
 * with c->reaper.error. */
int init_exec(struct child *c);
/* nsrun-init's whole life. */
int init_exec_main(int argc, char **argv, char **env);
