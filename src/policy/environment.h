/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's environment, and looking one up in a vector.  Touches neither
 * the caller's environ nor the host. */
#pragma once

#include "resolved.h"

/* What the policy inherits from: its own vector, else environ. */
char *const *environment_inherited(const struct nsrun_policy *p);

/* Whether the first `length` bytes of `name` can name a variable. */
bool environment_name_is_valid(const char *name, size_t length);

/* Fills `env` and `left_out`; home, identity and instance are known. */
int environment_resolve(struct resolved *s, struct nsrun_error *err);

/* How many patterns there are, and the i-th with its reason: for the man page's test. */
size_t environment_n_patterns(void);
const char *environment_pattern(size_t i, const char **ret_reason);
