/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why a command wasn't found, or not let in, that was named without a slash or by its whole path. */
#pragma once

#include "plan/plan.h"

/* If *err (may be NULL) says so, its hint becomes what helps here: the host has one elsewhere, or it is
 * hidden, or, of bash, there is none at all. */
void explain_missing_program(struct nsrun_plan *plan, struct nsrun_error *err);
