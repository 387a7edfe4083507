/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Expose paths: host paths that an isolated command is given, as a configuration's "expose_paths"
 * or a library's caller lists them.  Only strings are handled here; where they lead is judged when
 * the policy is resolved. */
#pragma once

#include "base/error.h"

struct expose_rule {
        char *source; /* normalised if it is absolute; never NULL */
        char *target; /* normalised if it is absolute; the source if none was given */
        char *mode;
        const char *label; /* the option or place in a file that asked, for messages; not owned */
};

struct expose_list {
        struct expose_rule *items;
        size_t n;
};

/* Appends a rule with normalised copies of the strings.  A NULL string is taken as "".  -ENOMEM. */
int expose_add(struct expose_list *list, const char *source, const char *target, const char *mode,
               const char *label);
int expose_add_all(struct expose_list *list, const struct nsrun_expose_path *items, size_t n,
                   const char *label);
/* Appends the paths that every isolated command is given, and the instance's `root` (NULL: none). */
int expose_add_defaults(struct expose_list *list, const char *root);
/* Leaves one rule for each target: the last one of the list, in the place of the first.  -ENOMEM. */
int expose_merge(struct expose_list *list);
/* -EINVAL with *err filled: the rule has no source, a path that isn't absolute, or a mode that is
 * neither "ro" nor "rw". */
int expose_check(const struct expose_rule *rule, struct nsrun_error *err);
/* expose_check() for every rule of the list; two rules for one target are refused as well. */
int expose_check_all(const struct expose_list *list, struct nsrun_error *err);
/* The list as one block of memory, strings and all, that the caller frees; an empty list gives one,
 * too. */
int expose_pack(const struct expose_list *list, struct nsrun_expose_path **ret, size_t *ret_n);
void expose_clear(struct expose_list *list);
#define _cleanup_expose_ _cleanup_(expose_clear)
