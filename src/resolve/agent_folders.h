/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders of the agent that --agent names. */
#pragma once

#include "rules/resolved.h"

/* Adds rules for the agent's folders, and fills s->agent_folders.  Nothing without --agent. */
int agent_add_rules(struct resolved *s, struct nsrun_error *err);
