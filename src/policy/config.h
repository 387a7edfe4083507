/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration file's JSON becomes part of a policy.  nsrun(1), CONFIGURATION, has the schema;
 * every mistake in a file is reported with its line and column. */
#pragma once

#include "policy.h"

#define CONFIG_SYSTEM_FILE "/etc/nsrun/config.json"

/* Reads `file`, once, and applies it.  Options that are set later win over it.  -EINVAL: a mistake
 * in the text, or a second configuration; -EPERM: others may write to the file; -EFBIG; and
 * open(2)'s errors. */
int config_load(struct nsrun_policy *p, const char *file, struct nsrun_error *err);
/* Applies a configuration's text.  `file` is its name in messages. */
int config_apply(struct nsrun_policy *p, const char *file, const char *text, struct nsrun_error *err);
/* Finds the path of the user's configuration file, there or not; *ret is NULL where nsrun knows no
 * home folder.  -ENOMEM. */
int config_find_user_file(const struct nsrun_policy *p, char **ret);
