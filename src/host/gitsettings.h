/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the user's settings of git a sandbox gets: by name those that say how git works and prints.  None
 * names a program, a file, an address or a secret. */
#pragma once

#include "gitconfig.h"

bool gitsettings_is_harmless(const struct gitconfig_entry *entry);
