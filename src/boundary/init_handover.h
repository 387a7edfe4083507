/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How pid 1 sheds the memory of the host program that started it: by executing nsrun-init, a small program
 * that opens the same record. */
#pragma once

#include "builder.h"

/* Replaces this process by nsrun-init, which goes on as b->reaper.  Returns only on failure, with
 * b->reaper.error. */
int init_exec(struct builder *b);
/* nsrun-init's whole life. */
int init_exec_main(int argc, char **argv);
