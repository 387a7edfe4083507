/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the user's own settings of npm and pip come from, and where they are inside. */
#pragma once

#include "rules/resolved.h"

/* Fills s->settings: at its own place, for each file of host/toolsettings.c, what stands for it inside.  All
 * rules are known. */
int settings_resolve(struct resolved *s, struct nsrun_error *err);
