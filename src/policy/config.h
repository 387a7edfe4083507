/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration file's JSON becomes part of a policy.  nsrun.conf(5) has the schema;
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
/* Applies a text that has the keys of a project's section alone, and is no configuration. */
int config_apply_proposal(struct nsrun_policy *p, const char *file, const char *text,
                          struct nsrun_error *err);
/* Refuses a profile that --profile named where no configuration was read. */
int config_refuse_profile(const struct nsrun_policy *p, struct nsrun_error *err);
/* Finds the path of the user's configuration file, there or not; *ret is NULL where nsrun knows no
 * home folder.  -ENOMEM. */
int config_find_user_file(const struct nsrun_policy *p, char **ret);

/* The JSON schema of configurations, for the caller to free.  -ENOMEM. */
int config_schema(char **ret, struct nsrun_error *err);

/* Lists what is in force and who said so, in the order in which it was said, then what holds by default: of
 * a policy that keeps what was said.  The array is the caller's to free, its strings live as long as the
 * policy. -ENOMEM. */
int config_list_shown(const struct nsrun_policy *p, struct policy_said **ret, size_t *ret_n);

/* config_carried.c: adds the key that says what was said once more; nothing where no key can. */
struct json_document;
void config_carry(const struct policy_said *said, struct json_document *d);

/* Whether of several values of an option the last alone holds. */
bool config_has_one_value(const char *key);

/* Reads a file for nothing but its mistakes, those in profiles and sections of other projects too.  As
 * config_load(). */
int config_check(const char *file, struct nsrun_error *err);
