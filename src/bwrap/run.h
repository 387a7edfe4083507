/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens once a command line is understood: the sandbox is built and the command runs. */
#pragma once

#include "config.h"

/* Where the kernel keeps the program's argv: wiped in a reaper, whose command line everybody
 * inside can read. */
extern char *bwrap_arguments;
extern size_t bwrap_arguments_size;

/* Runs config->argv in the sandbox that config describes.  `program` is argv[0].  Returns the exit
 * status: the command's, 128 + signal, or 1 where bwrap itself failed and has said so. */
int bwrap_run(const struct bwrap_config *config, const char *program);
