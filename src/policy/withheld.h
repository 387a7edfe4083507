/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the caller's variables the command gets, and why it doesn't get others. */
#pragma once

#include "policy.h"

/* The variables that the policy inherits from: those that the library's caller set, else environ. */
char *const *environment_inherited(const struct nsrun_policy *p);

/* Whether the first `length` bytes of `name` can name a variable. */
bool environment_name_is_valid(const char *name, size_t length);

/* Why a variable of that name is withheld, "secret" or "unreachable"; NULL if it isn't. */
const char *policy_env_withheld(const char *name);
/* The same of an inherited variable that neither --env nor --unsetenv names, by its value, too. */
const char *environment_withholds(const struct nsrun_policy *p, bool has_sandbox, const char *name,
                                  const char *value);

/* The value that the command gets of an inherited variable, or one of --env; NULL: it gets none. */
const char *environment_passed(const struct nsrun_policy *p, const char *name);

/* What is kept from the command unless it is named; the end is the one without a pattern. */
extern const struct environment_pattern { const char *pattern, *reason; } environment_withheld[];
