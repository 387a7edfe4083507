/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun plan --format=oci`: an OCI bundle, printed or written to a folder. */
#pragma once

#include "plan/plan.h"

/* Prints config.json, or with a folder makes that folder, which must not be there, and the bundle in it.
 * What the spec can't say goes to standard error, a line each; with --strict it is refused. */
int bundle_write(const struct nsrun_plan *plan, const char *folder, struct nsrun_error *err);
