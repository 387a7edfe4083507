/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals that keep configurations from what commands may write. */
#pragma once

#include "rules/refuse.h"

/* Refuses a configuration that a command may write, or that is reached through a symlink
 * which a command may have planted; and a rule that would let a command write a configuration for
 * later runs. */
int refuse_config(const struct resolved *s, struct nsrun_error *err);

/* Refuses what refuse_config() refuses of the configuration's file, for a policy with
 * isolation off, which isn't resolved.  The folders that count are those that a command could write
 * to in a sandbox. */
int refuse_plain_config(const struct nsrun_policy *p, struct nsrun_error *err);
