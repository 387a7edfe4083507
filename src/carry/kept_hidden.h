/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept aside may have names that a run hides. */
#pragma once

#include "plan/plan.h"

/* Whether --hide names something in an entry's open folder (kept/kept.h), or of `removed`, which would be at
 * and below `path`; true also where that can't be known. */
bool kept_has_hidden(const struct nsrun_plan *plan, const char *path, int kept, char *const *removed);
