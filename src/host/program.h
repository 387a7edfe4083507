/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs of the host that nsrun starts by name: none that a command of an earlier run can have put
 * into a folder of PATH. */
#pragma once

#include "base/macro.h"

/* The first executable `name` in a folder of PATH that root alone may write to, as may nobody else to any
 * folder above it; as root itself, in one of the system's.  *ret: its canonical path.  -ENOENT; -ENOMEM. */
int program_find(const char *name, char **ret);
