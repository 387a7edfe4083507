/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration file's JSON becomes part of a policy.  nsrun(1), CONFIGURATION, has the
 * schema; every mistake is told with file, line and column. */
#pragma once

#include "policy.h"

#define CONFIG_SYSTEM_FILE "/etc/nsrun/config.json"

/* Reads `file`, once, and applies it: options that are set later go before.  -EINVAL: what it says,
 * or a second configuration; -EPERM: others may write to it; -EFBIG; open(2)'s. */
int config_load(struct nsrun_policy *p, const char *file, struct nsrun_error *err);
/* Applies a text.  `file` is its name in messages. */
int config_apply(struct nsrun_policy *p, const char *file, const char *text, struct nsrun_error *err);
/* Where the user's file is looked for; NULL: nowhere, for want of a home.  -ENOMEM. */
int config_find_user_file(const struct nsrun_policy *p, char **ret);
