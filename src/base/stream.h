/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream over a descriptor that is somebody else's: what a person reads at a terminal can't draw
 * on it.  And /dev/null, which stands in for streams that nobody gave; a host that lacks it is told so. */
#pragma once

#include "error.h"

/* A stream that writes to a copy of `fd` and is the caller's to close.  Where `fd` is a terminal all
 * text goes through str_visible_text(): names and contents may be a hostile command's, and escape
 * sequences are the terminal's to obey.  -errno. */
int stream_open(int fd, FILE **ret);

/* Opens /dev/null with `flags` and O_CLOEXEC, under a number above 2.  -errno with *err filled. */
int null_open(int flags, struct nsrun_error *err);
/* Fills *err: opening it has failed with r. */
int null_fail(int r, struct nsrun_error *err);
