/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words that the plan's printers share. */
#pragma once

#include "base/json.h"
#include "plan.h"

const char *plan_op_name(const struct plan_op *op);
const char *plan_proc_name(enum policy_proc proc);
/* The names of the namespaces that a plan makes, "user", "mnt" and so on, in a fixed order; NULL if
 * memory runs out. */
char **plan_namespaces(const struct nsrun_plan *plan);
/* Adds "degraded": an array of an object for each of base/degraded.h's entries, with name, path (or null),
 * message and fix. */
void print_json_add_degraded(struct json_document *d, struct json_value *parent, char *const *entries);
