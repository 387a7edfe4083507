/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream over a descriptor that is somebody else's: what a person reads at a terminal can't draw
 * on it. */
#pragma once

#include <stdio.h>

#include "macro.h"

/* A stream that writes to a copy of `fd` and is the caller's to close.  Where `fd` is a terminal all
 * text goes through str_visible_text(): names and contents may be a hostile command's, and escape
 * sequences are the terminal's to obey.  -errno. */
int stream_open(int fd, FILE **ret);
