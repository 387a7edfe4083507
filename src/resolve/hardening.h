/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The seccomp policy and Landlock. */
#pragma once

#include "rules/resolved.h"

/* Fills s->seccomp and refuses a seccomp policy file that a command may write.
 * Refuses --landlock=require where the kernel has no Landlock scopes. */
int refuse_hardening(struct resolved *s, struct nsrun_error *err);
/* That refusal alone. */
int refuse_landlock(struct nsrun_error *err);
/* What mends that, by what sys_landlock_abi() says. */
const char *landlock_fix(int abi);
