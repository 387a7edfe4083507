/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected folders that the host hasn't, and of which something is kept aside. */
#pragma once

#include "rules/resolved.h"

/* Of each the command has its own version, as of one that exists: adds the rules, and the paths to
 * protection.private and protection.kept.  -ENOMEM. */
int protect_add_kept(struct resolved *s);
