/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A list of environment variables, one of each name, in which a name is found without a search
 * through all of them. */
#pragma once

#include "base/macro.h"

/* Zero-initialise it.  An entry is "NAME=VALUE" or "NAME". */
struct variables {
        char **entries; /* n of them, then NULL; NULL: there are none */
        size_t n;
        uint32_t *slots; /* by the hash of the name: an index of entries plus one, or 0 */
        size_t n_slots;  /* a power of two, or 0 */
};

/* The entry whose name is the first `length` bytes of `name`, or NULL. */
const char *variables_find(const struct variables *v, const char *name, size_t length);
/* The value of `name`; NULL: there is none, or it is a name alone. */
const char *variables_value(const struct variables *v, const char *name);
/* Takes `entry`, in place of the one that has its name; it is freed on failure.  An `entry` of NULL means
 * that the caller's strdup(3) or asprintf(3) failed.  0 or -ENOMEM. */
int variables_set(struct variables *v, char *entry);
/* Frees the entry of that name, if there is one; the last entry moves to its place. */
void variables_drop(struct variables *v, const char *name, size_t length);
/* Sets all of a vector, which is freed; of two entries of one name the last counts.  0 or -ENOMEM. */
int variables_set_all(struct variables *v, char **entries);
/* The entries, for the caller to free; NULL: there are none.  Empties v. */
char **variables_finish(struct variables *v);
void variables_clear(struct variables *v);
#define _cleanup_variables_ _cleanup_(variables_clear)
