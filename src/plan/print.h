/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words that the three printers of a plan share. */
#pragma once

#include "plan.h"

const char *plan_op_name(const struct plan_op *op);
const char *plan_proc_name(enum policy_proc proc);
/* "user", "mnt" and so on, in a fixed order; NULL for want of memory. */
char **plan_namespaces(const struct nsrun_plan *plan);
