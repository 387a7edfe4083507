/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Public structs that may grow: each begins with its size, a size_t that the caller's compiler set.  An
 * older program's struct ends earlier, and the fields that it lacks are zero; a newer program's ends
 * later, and is refused if it has something there. */
#pragma once

#include <stddef.h>

#include "nsrun.h"

/* Whether `from` begins with a size that can be one.  -EINVAL with *err filled, stage USAGE; `name` is
 * the struct's. */
int sized_check(const void *from, const char *name, struct nsrun_error *err);
/* Copies what the caller set to a struct of this release, whose size is `to_size`.  Also -E2BIG. */
int sized_take(void *to, size_t to_size, const void *from, const char *name, struct nsrun_error *err);
/* Hands the members over from one release's struct to another's, as far as both have them, and zeroes
 * them in `from`: what that one still owns then is for its clear function.  Sizes stay. */
void sized_move(void *to, void *from);
