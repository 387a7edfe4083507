/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders of a home in which programs keep keys, tokens and passwords. */
#pragma once

#include "resolved.h"

/* Relative to the home; NULL at the end. */
extern const char *const home_secrets[];

/* Refuses to make writable, an overlay or the project: a folder of the `home` (may be
 * NULL) that holds keys or passwords, something in it, or a hidden folder around it; or the home as a whole.
 * Of `rule` the source, the spelling and the access are looked at. */
int refuse_secrets(const struct resolved_rule *rule, const char *home, struct nsrun_error *err);
/* Whether a path, relative to a home and normalised, is one of those folders of keys or lies in one. */
bool secrets_hold(const char *below);
