/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration edited: nothing that is wrong takes the file's place. */
#pragma once

#include "policy/policy.h"

/* The file itself where `file` (NULL: the user's configuration) is a link to it, so that the link stays what
 * it is.  -ENOENT: nobody knows the home. */
int config_edit_find(const struct nsrun_policy *policy, const char *file, char **ret,
                     struct nsrun_error *err);

/* Has the user's editor change a copy of `file` (NULL: the user's configuration), there or not; the copy
 * takes the file's place when nsrun can read it.  -ECANCELED: the editor failed, or the user gave up;
 * -EAGAIN: the file was changed meanwhile; config_check()'s. */
int config_edit(const struct nsrun_policy *policy, const char *file, struct nsrun_error *err);
