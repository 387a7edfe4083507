/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a person who says yes to a folder would show what he wouldn't. */
#pragma once

#include "base/macro.h"

/* Whether all that is in the folder `path`, open as `fd`, may be shown: it is none of those that programs
 * share, and holds nothing of a key's name, no socket, FIFO or device and no mount, as far as a bounded look
 * tells. `home` may be NULL. */
bool widen_may_be_whole(int fd, const char *path, const char *home);
