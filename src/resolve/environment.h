/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's environment.  Changes neither the caller's environ nor the host. */
#pragma once

#include "rules/resolved.h"

/* Sets the variables of s->usual, unless --env or --unsetenv names them. */
int environment_add_usual(const struct resolved *s, struct variables *env);

/* Fills s->env, s->left_out and s->secrets.  s->home, s->identity and s->instance_env must be known. */
int environment_resolve(struct resolved *s, struct nsrun_error *err);
