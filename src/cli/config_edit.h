/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration edited: nothing that is wrong takes the file's place. */
#pragma once

#include "policy/policy.h"

/* Has the user's editor change a copy of `file` (NULL: the user's configuration), there or not; the copy
 * takes the file's place when nsrun can read it.  -ECANCELED: the editor failed, or the user gave up;
 * -EAGAIN: the file was changed meanwhile; config_check()'s. */
int config_edit(const struct nsrun_policy *policy, const char *file, struct nsrun_error *err);
