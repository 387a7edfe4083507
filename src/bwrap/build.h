/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a command line to a raw plan (build.c), and from a failed launch to bubblewrap's words
 * (message.c). */
#pragma once

#include "config.h"
#include "launch/launch.h"

/* Reads what the descriptors hold and where the paths lead, and changes nothing on disk but that it makes a
 * missing source where that was asked for; marks
 * the descriptors that are not for the command close-on-exec.  On failure *err's `what` is the whole
 * message. */
int bwrap_build(const struct bwrap_config *config, struct nsrun_plan **ret, struct nsrun_error *err);

/* source.c: makes the folder `path` and those above it that are missing, mode 0700.  -ELOOP: a symlink
 * stands where one would be made; -ENOTDIR; mkdir(2)'s. */
int bwrap_make_source(const char *path);

/* The message for a failure of the launch, in the plan's `operation` or -1, without "bwrap: "; the caller
 * frees it.  NULL for want of memory. */
char *bwrap_message(const struct nsrun_plan *plan, const struct nsrun_error *failure, int operation);
