/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What git's index (gitformat-index) knows of repositories in sub-folders: its entries of mode 160000.
 * Pure. */
#pragma once

#include "base/macro.h"

/* Calls `found` with the path of each such entry of the `n` bytes at `text`, until it returns another value
 * than 0, which is then returned.  Versions 2 to 4, with hashes of 20 or 32 bytes; of a split index just
 * what is in this file.  -EBADMSG: it is no index. */
int gitindex_parse(const unsigned char *text, size_t n, int (*found)(void *data, const char *path),
                   void *data);
