/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The view of `nsrun learn`: besides what the policy shows, the folders of the home and those beside the
 * project, but for those of secrets.  What is written there is thrown away. */
#pragma once

#include "rules/resolved.h"

/* Makes the policy show them. */
void policy_widen(struct nsrun_policy *p);

/* For resolve.c: adds a rule for each such folder.  One that may not be exposed is left out. */
int wide_add_rules(struct resolved *s, struct nsrun_error *err);
/* For hide.c: whether a rule is one of these, and the names that are hidden in their folders. */
bool wide_is_rule(const struct resolved_rule *rule);
extern const char *const wide_hidden[]; /* NULL at the end */

/* Whether a path (absolute, normalised) is one that no learning shows: in a folder of secrets, or of such a
 * name. */
bool wide_is_secret(const char *path, const char *home);
/* Whether a file's name alone says that; and whether a folder may be shown as one: not where programs share
 * it, or the home has some of those in it. */
bool wide_is_secret_name(const char *name);
bool wide_may_be_whole(const char *folder, const char *home);
/* Whether an absolute path is, or lies in, what would be a folder of secrets in some home, or one of the
 * homes by name, which may have logins; and whether that may be of a folder with such a name. */
bool wide_is_like_secret(const char *path);
bool wide_is_like_secret_name(const char *name);
