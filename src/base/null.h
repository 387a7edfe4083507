/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /dev/null, which stands in for streams that nobody gave; a host that lacks it is told so. */
#pragma once

#include "error.h"

/* Opens it with `flags` and O_CLOEXEC, under a number above 2.  -errno with *err filled. */
int null_open(int flags, struct nsrun_error *err);
/* Fills *err: opening it has failed with r. */
int null_fail(int r, struct nsrun_error *err);
