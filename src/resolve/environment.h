/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's environment.  Changes neither the caller's environ nor the host. */
#pragma once

#include "rules/resolved.h"

/* Sets the variables of s->usual, unless --env or --unsetenv names them. */
int environment_add_usual(const struct resolved *s, struct variables *env);

/* s->home, git, the instance and the grants must be known. */
int environment_resolve(const struct resolved *s, struct resolved_environment *e, struct nsrun_error *err);
