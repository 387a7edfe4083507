/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index of a repository that an overlay's folder is.  On the host every `git status`, an editor's or a
 * prompt's, writes it anew, and changes nothing of what it says. */
#pragma once

#include "base/macro.h"

#define INDEX_PATH ".git/index"

/* Remembers in `record_fd` what that of `base_fd` says, to be asked for later; nothing where there is none.
 * Both are struct changes_layer's. */
void index_remember(int base_fd, int record_fd);
/* Whether it says that still. */
bool index_is_remembered(int base_fd, int record_fd);
