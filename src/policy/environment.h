/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's environment, and looking up a variable in a vector of them.  Changes neither the
 * caller's environ nor the host. */
#pragma once

#include "resolved.h"

/* The variables that the policy inherits from: those that the library's caller set, else environ. */
char *const *environment_inherited(const struct nsrun_policy *p);

/* Whether the first `length` bytes of `name` can name a variable. */
bool environment_name_is_valid(const char *name, size_t length);

/* Sets the variables of s->usual, unless --env or --unsetenv names them. */
int environment_add_usual(const struct resolved *s, struct variables *env);

/* The value that the command gets of an inherited variable, or one of --env; NULL: it gets none.  Can be
 * asked before environment_resolve(). */
const char *environment_passed(const struct nsrun_policy *p, const char *name);

/* Fills s->env, s->left_out and s->secrets.  s->home, s->identity and s->instance_env must be known. */
int environment_resolve(struct resolved *s, struct nsrun_error *err);

/* What is kept from the command unless it is named; the end is the one without a pattern. */
extern const struct environment_pattern { const char *pattern, *reason; } environment_withheld[];
