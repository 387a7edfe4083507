/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A copy of what a command wrote, within kept.h's bounds. */
#pragma once

#include "base/macro.h"

/* Copies the entry `name` of the folder `from` to the new name `as` in the folder `to`: kept_put()'s
 * promises and errors.  After a failure a part may be there. */
int kept_copy(int from, const char *name, int to, const char *as);
