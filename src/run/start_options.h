/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a library's caller hands to a command, struct nsrun_start_options: read and judged before
 * anything is made. */
#pragma once

#include "base/error.h"

/* Copies the caller's struct, which may be of another release, into one of this release
 * (sized_take()); NULL stands for the defaults. */
int start_read_options(const struct nsrun_start_options *options, struct nsrun_start_options *ret,
                       struct nsrun_error *err);
