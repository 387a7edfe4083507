/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a caller hands to a command: struct nsrun_start_options, read and judged before anything is made. */
#pragma once

#include "base/error.h"

/* What the caller's struct says, in a struct of this release; NULL says nothing.  As sized_take(). */
int start_read_options(const struct nsrun_start_options *options, struct nsrun_start_options *ret,
                       struct nsrun_error *err);
