/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hidden names: files and folders in what is exposed that the command can't read. */
#pragma once

#include "rules/resolved.h"

/* Fills s->hidden with what --hide names and is there.  All rules are known.  -E2BIG with *err filled: there
 * is more than can be looked through; other errors of openat(2): a folder can't be; -ENOMEM. */
int hide_names(struct resolved *s, struct nsrun_error *err);

/* What is hidden and is `path` or holds it; NULL: nothing. */
const struct resolved_hidden *hide_find(const struct resolved *s, const char *path);
